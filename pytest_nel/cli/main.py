"""The door of ``nel``: finds the command and hands over the rest of the line."""

import argparse
import os
import sys
from collections.abc import Sequence
from importlib import import_module
from importlib.metadata import version
from pathlib import Path
from typing import Any, NoReturn

from pytest_nel.cli._mistakes import mistake

# Words of the command, its module. A module has ``add_arguments(parser)`` and ``main(options)``.
COMMANDS = {
    ("cache", "info"): "pytest_nel.cli.cache_info",
    ("cache", "prune"): "pytest_nel.cli.cache_prune",
    ("compare",): "pytest_nel.cli.compare",
    ("config", "check"): "pytest_nel.cli.config_check",
    ("config", "schema"): "pytest_nel.cli.config_schema",
    ("config", "show"): "pytest_nel.cli.config_show",
    ("eval", "merge"): "pytest_nel.cli.eval_merge",
    ("eval", "plan"): "pytest_nel.cli.eval_plan",
    ("eval", "report"): "pytest_nel.cli.eval_report",
    ("eval", "run"): "pytest_nel.cli.eval_run",
    ("gate",): "pytest_nel.cli.gate",
    ("list",): "pytest_nel.cli.list",
    ("report",): "pytest_nel.cli.report",
}
_VERDICTS = {("compare",), ("gate",)}  # they end with 2 for a verdict, so a mistake is 4


class _Parser(argparse.ArgumentParser):
    """Ends with a status of its own when the words make no sense."""

    mistake = 2

    def error(self, message: str) -> NoReturn:
        self.print_usage(sys.stderr)
        self.exit(self.mistake, f"{self.prog}: error: {message}\n")


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; return the exit status.

    What stands after ``--`` belongs to the command, untouched, as ``options.rest``.
    """
    words = list(sys.argv[1:] if argv is None else argv)
    cut = words.index("--") if "--" in words else len(words)
    options, unknown = _parser().parse_known_args(words[:cut])
    if unknown:
        options.usage_error(f"unrecognized arguments: {' '.join(unknown)}")
    if "" in words[:cut] and options.module != COMMANDS["eval", "run"]:
        options.usage_error("one of the words is empty: is a variable of the shell unset?")
    options.rest = words[cut + 1 :]
    if sys.stdout is None:  # closed by who calls us: the exit status still says it
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 - to the end
    try:
        status: int = import_module(options.module).main(options)
        sys.stdout.flush()
    except OSError as error:  # a pipe that nobody reads, a full disk
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)  # or Python complains again when it ends
        return mistake(options.module.rpartition(".")[2].replace("_", " "), error)
    return status


def _parser() -> argparse.ArgumentParser:
    parser = _Parser(prog="nel", description="LLM benchmarks as pytest suites.", allow_abbrev=False)
    parser.add_argument("--version", action="version", version=f"nel {version('pytest-nel')}")
    groups: dict[tuple[str, ...], Any] = {}  # Any: argparse does not export the type
    groups[()] = parser.add_subparsers(required=True, metavar="COMMAND")
    for words, name in COMMANDS.items():
        above = words[:-1]
        if above not in groups:
            below = "|".join(other[-1] for other in COMMANDS if other[:-1] == above)
            group = groups[()].add_parser(*above, help=f"{words[0]} {below}", allow_abbrev=False)
            groups[above] = group.add_subparsers(required=True, metavar="COMMAND")
        module = import_module(name)
        summary = (module.__doc__ or "").strip().splitlines()[0]
        command = groups[above].add_parser(
            words[-1], help=summary, description=module.__doc__, allow_abbrev=False
        )
        if words in _VERDICTS:
            command.mistake = 4
        module.add_arguments(command)
        command.set_defaults(module=name, usage_error=command.error)
    return parser


if __name__ == "__main__":
    sys.exit(main())
