"""Compare a candidate run with a baseline, problem by problem: is it worse, and does it matter."""

import argparse
import sys
import time
from pathlib import Path

from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._verdict_files import write_verdict
from pytest_nel.config.interpolate import getenv
from pytest_nel.core.errors import NelError
from pytest_nel.gate.comparison import RunComparison
from pytest_nel.gate.significance import TESTS
from pytest_nel.gate.verdict import Exit, compared_code
from pytest_nel.records.compare import MAY_DIFFER, compare_runs
from pytest_nel.reports.compare_html import compare_html
from pytest_nel.reports.compare_json import compare_json
from pytest_nel.reports.compare_markdown import compare_markdown
from pytest_nel.reports.compare_text import compare_lines
from pytest_nel.reports.summary import Line

FORMATS = ("text", "markdown", "json", "html")
_ANSI = {"bold": 1, "red": 31, "green": 32, "yellow": 33}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    add = parser.add_argument
    add("baseline", metavar="BASELINE", type=Path, help="A run directory or bundle")
    add("candidate", metavar="CANDIDATE", type=Path, help="As above")
    add("-o", "--output", metavar="FILE", type=Path, help="Write the report as JSON")
    add("--report", metavar="FILE", type=Path, help="Write it as Markdown, or *.html as HTML")
    add("--format", choices=FORMATS, default="text", help="What is printed")
    add(
        "-t",
        "--max-drop",
        metavar="DROP",
        type=float,
        default=0.05,
        help="The drop of the score that is accepted; 0.05 is five points (default)",
    )
    add(
        "--correct-above",
        metavar="REWARD",
        type=float,
        help="A problem is solved when its reward is greater (default: as its record says)",
    )
    add("--test", choices=TESTS, default="auto", help="What decides significance")
    add("--alpha", metavar="P", type=float, default=0.05, help="Significant below (default 0.05)")
    add(
        "--allow-different",
        metavar="FIELD",
        action="append",
        choices=MAY_DIFFER,
        default=[],
        help=f"Compare though the runs differ in it: {', '.join(MAY_DIFFER)}",
    )
    add(
        "--strict",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="Say the verdict by the exit status (--no-strict: 0 for any verdict)",
    )
    add("--show-flips", action="store_true", help="Name the problems that changed")
    add("--compact", action="store_true", help="A few lines a benchmark")
    add("-v", "--verbose", action="store_true", help="All reasons and numbers, no list cut")


def main(options: argparse.Namespace) -> int:
    """Print the report; 0 PASS, 1 BLOCK, 2 WARN or INCONCLUSIVE, 4 for a mistake."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    try:
        report = compare_runs(
            options.baseline,
            options.candidate,
            max_drop=options.max_drop,
            correct_above=options.correct_above,
            test=options.test,
            alpha=options.alpha,
            allow_different=options.allow_different,
        )
        _write(report, options)
    except (NelError, OSError) as error:
        return mistake("compare", error)
    sys.stdout.write(_printed(report, options))
    return compared_code(report.verdict) if options.strict else Exit.GO


def _printed(report: RunComparison, options: argparse.Namespace) -> str:
    if options.format == "json":
        return compare_json(report)
    if options.format == "markdown":
        return compare_markdown(report)
    if options.format == "html":
        return compare_html(report, now=time.time())
    lines = compare_lines(
        report,
        compact=options.compact,
        flips=options.show_flips,
        verbose=options.verbose,
        now=time.time(),
    )
    coloured = sys.stdout.isatty() and not getenv("NO_COLOR")
    return "".join(f"{_painted(line) if coloured else line.text}\n" for line in lines)


def _painted(line: Line) -> str:
    codes = ";".join(str(_ANSI[name]) for name, on in line.markup.items() if on)
    return f"\x1b[{codes}m{line.text}\x1b[0m" if codes else line.text


def _write(report: RunComparison, options: argparse.Namespace) -> None:
    """The files that were asked for, and no others."""
    path = options.report
    html = path is not None and path.suffix in (".html", ".htm")
    render = compare_html if html else compare_markdown
    write_verdict(
        options.output,
        lambda: compare_json(report),
        path,
        lambda: render(report, now=time.time()),
    )
