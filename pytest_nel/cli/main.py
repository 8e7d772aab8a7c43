"""The door of ``nel``: finds the command and hands over the rest of the line.

It imports nothing but what Python itself has loaded: Ctrl-C is quiet from the first import on.
"""

import sys
from collections.abc import Sequence

# Words of the command, its module. A module has ``add_arguments(parser)`` and ``main(options)``.
COMMANDS = {
    ("cache", "info"): "pytest_nel.cli.cache_info",
    ("cache", "prune"): "pytest_nel.cli.cache_prune",
    ("cache-sqsh",): "pytest_nel.cli.cache_sqsh",
    ("compare",): "pytest_nel.cli.compare",
    ("completion",): "pytest_nel.cli.completion",
    ("config", "check"): "pytest_nel.cli.config_check",
    ("config", "schema"): "pytest_nel.cli.config_schema",
    ("config", "show"): "pytest_nel.cli.config_show",
    ("data", "info"): "pytest_nel.cli.data_info",
    ("data", "prefetch"): "pytest_nel.cli.data_prefetch",
    ("doctor",): "pytest_nel.cli.doctor",
    ("eval", "clean"): "pytest_nel.cli.eval_clean",
    ("eval", "jobs"): "pytest_nel.cli.eval_jobs",
    ("eval", "logs"): "pytest_nel.cli.eval_logs",
    ("eval", "merge"): "pytest_nel.cli.eval_merge",
    ("eval", "plan"): "pytest_nel.cli.eval_plan",
    ("eval", "report"): "pytest_nel.cli.eval_report",
    ("eval", "resume"): "pytest_nel.cli.eval_resume",
    ("eval", "run"): "pytest_nel.cli.eval_run",
    ("eval", "status"): "pytest_nel.cli.eval_status",
    ("eval", "stop"): "pytest_nel.cli.eval_stop",
    ("export",): "pytest_nel.cli.export",
    ("gate",): "pytest_nel.cli.gate",
    ("list",): "pytest_nel.cli.list",
    ("package",): "pytest_nel.cli.package",
    ("report",): "pytest_nel.cli.report",
    ("sandbox", "prune"): "pytest_nel.cli.sandbox_prune",
    ("serve",): "pytest_nel.cli.serve",
    ("validate",): "pytest_nel.cli.validate",
}
_RUNS = (["eval", "run"], ["eval", "resume"])
_INTERRUPTED_RUN = 2  # pytest's own, see the table of a run's exit statuses
_INTERRUPTED = 130  # as shells say it: 2 is a verdict of some commands


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status, also after Ctrl-C.

    What stands after ``--`` belongs to the command, untouched, as ``options.rest``.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    try:
        from pytest_nel.cli._dispatch import dispatch  # noqa: PLC0415 - Ctrl-C is heard here, too

        return dispatch(words, COMMANDS)
    except KeyboardInterrupt:
        sys.stderr.write("nel: interrupted\n")
        return _INTERRUPTED_RUN if words[:2] in _RUNS else _INTERRUPTED


if __name__ == "__main__":
    sys.exit(main())
