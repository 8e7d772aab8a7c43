"""Say what a run would do, cost and decide; nothing is asked of a model, nothing written.

Nothing is started but the servers of ``gym://`` benchmarks, which alone know their size.
Takes what ``nel eval run`` takes. Tokens, cost and time are estimated from an earlier run, such as
one of a few problems, that ``--estimate-from`` names; else from the baseline.
"""

import argparse
import contextlib
import sys
import tempfile
from pathlib import Path

import pytest

from pytest_nel.cli import eval_run


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    eval_run.add_arguments(parser)
    parser.usage = "nel eval plan [SUITE] [options] [-- pytest arguments]"
    parser.add_argument("--json", action="store_true", help="The plan for machines, and no more")


def main(options: argparse.Namespace) -> int:
    """Let pytest collect; 0, or 4 where the run would be refused."""
    eval_run.check(options)
    if options.background:
        options.usage_error("a plan is said here and now: leave out --background")
    options.dry_run = True
    if not options.json:
        return int(pytest.main(eval_run.pytest_arguments(options, options.rest)))
    with tempfile.TemporaryDirectory(prefix="nel-") as folder:
        path = Path(folder) / "plan.json"
        options.plan_file = options.plan_file or str(path)
        with contextlib.redirect_stdout(sys.stderr):
            status = int(pytest.main(eval_run.pytest_arguments(options, options.rest)))
        if path.is_file():
            sys.stdout.write(path.read_text(encoding="utf-8"))
    return status
