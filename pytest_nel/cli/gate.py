"""Decide by a policy whether a candidate run is good enough, against a baseline or alone."""

import argparse
import sys
import time
from pathlib import Path

from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._processes import in_processes, processes_for
from pytest_nel.cli._verdict_files import refuse_one_file, write_verdict
from pytest_nel.config.interpolate import getenv
from pytest_nel.core.errors import NelError
from pytest_nel.gate.checks import gate_checks
from pytest_nel.gate.comparable import FIELDS
from pytest_nel.gate.evaluate import evaluate
from pytest_nel.gate.policy import load_policy
from pytest_nel.gate.report import GateReport
from pytest_nel.gate.verdict import Exit, command_code
from pytest_nel.records.record import indented
from pytest_nel.records.sides import runs_of
from pytest_nel.reports.gate import gate_lines
from pytest_nel.reports.gate_markdown import gate_markdown
from pytest_nel.reports.github import annotations, append_summary

FORMATS = ("text", "markdown", "json")
_INTERRUPTED = 130  # as shells say it; 2 is a verdict here


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel gate [BASELINE] CANDIDATE -p POLICY [options]"
    add = parser.add_argument
    add("runs", metavar="RUN", nargs="+", type=Path, help="A run directory or bundle")
    add("-p", "--policy", metavar="POLICY", required=True, help="A file, or the name of a policy")
    add("-o", "--output", metavar="FILE", type=Path, help="Write the report as JSON")
    add("--format", choices=FORMATS, default="text", help="What is printed")
    add("--report", metavar="FILE", type=Path, help="Markdown (default: beside --output)")
    add("--no-report", action="store_true", help="Write no Markdown beside --output")
    add(
        "--allow-different",
        metavar="FIELD",
        action="append",
        choices=sorted(FIELDS),
        default=[],
        help=f"Gate though the runs differ in it: {', '.join(FIELDS)}",
    )
    add(
        "--strict",
        action=argparse.BooleanOptionalAction,
        default=True,
        help="Say the verdict by the exit status (--no-strict: 0 for any verdict)",
    )
    add("-v", "--verbose", action="store_true", help="All reasons and warnings")


def main(options: argparse.Namespace) -> int:
    """Print the verdict; 0 GO, 1 NO-GO, 2 INCONCLUSIVE, 4 for a mistake, 130 after Ctrl-C."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    if len(options.runs) > 2:
        options.usage_error(f"takes a baseline and a candidate, got {len(options.runs)} runs")
    try:
        refuse_one_file(options.output, options.report)
        policy = load_policy(options.policy)
        *baseline, candidate = options.runs
        runs = runs_of(candidate, baseline[0] if baseline else None)
        count = processes_for(runs.weight, len(runs.candidate))
        spread = in_processes(count) if count > 1 else map
        report = evaluate(policy, runs, options.allow_different, spread=spread)
        sys.stdout.write(_printed(report, options))
        _write(report, options)
    except KeyboardInterrupt:
        sys.stderr.write("nel gate: interrupted, nothing was decided\n")
        return _INTERRUPTED
    except (NelError, OSError) as error:
        return mistake("gate", error)
    if getenv("GITHUB_ACTIONS") and options.format == "text":
        sys.stdout.writelines(f"{line}\n" for line in annotations(gate_checks(report)))
    return command_code(report.verdict) if options.strict else Exit.GO


def _printed(report: GateReport, options: argparse.Namespace) -> str:
    if options.format == "json":
        return indented(report.as_json())
    if options.format == "markdown":
        return gate_markdown(report)
    lines = gate_lines(report, most=len(report.rows), verbose=options.verbose)
    return "".join(f"{line.text}\n" for line in lines)


def _write(report: GateReport, options: argparse.Namespace) -> None:
    output, markdown = options.output, options.report
    if output is not None and markdown is None and options.format != "json":
        markdown = None if options.no_report else output.with_suffix(".md")
    write_verdict(
        output,
        lambda: indented(report.as_json()),
        markdown,
        lambda: gate_markdown(report, now=time.time()),
    )
    append_summary(gate_markdown(report), getenv)
