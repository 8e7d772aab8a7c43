"""Export bundles, runs or folders of runs to MLflow, Weights & Biases or Inspect."""

import argparse
import sys
from collections.abc import Iterable, Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import Any

from pytest_nel.cli._export_options import options_of, with_secrets
from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._report_files import add_paths
from pytest_nel.config.secrets import secret_values
from pytest_nel.core.errors import NelError
from pytest_nel.core.text import showable
from pytest_nel.exporters.chosen import Exported, exporter_of, run_export
from pytest_nel.exporters.hidden import Hidden
from pytest_nel.gate.verdict import Exit
from pytest_nel.hooks.exports import bundles_of
from pytest_nel.reports.bundles import Found, find

_FAILED = 1


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel export PATH... -d DEST [-o KEY=VALUE]... [-c FILE] [--output-dir D]"
    add_paths(parser)
    parser.add_argument(
        "-d",
        "--dest",
        metavar="DEST",
        required=True,
        help="mlflow, wandb, inspect, or package.module:Class for an exporter of your own",
    )
    parser.add_argument(
        "-o",
        "--option",
        metavar="KEY=VALUE",
        action="append",
        default=[],
        help="An option of the exporter: experiment=release; may be given several times",
    )
    parser.add_argument(
        "-c", "--config", metavar="FILE", type=Path, help="Its options as YAML or JSON"
    )
    parser.add_argument(
        "--output-dir", metavar="DIR", type=Path, help="Where files go, of those that write some"
    )


def main(options: argparse.Namespace) -> int:
    """Export them; 1 where one could not be, 4 for a mistake."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    sys.path.append(str(Path.cwd()))  # where an exporter of one's own is looked for, too
    try:
        found, left_out = find(options.paths)
        given = options_of(options)
        exporter = exporter_of(options.dest, given, f"-d {options.dest}")
    except (NelError, OSError) as error:
        return mistake("export", error)
    for line in left_out:
        sys.stderr.write(f"nel export: {showable(line)}\n")
    return _report(run_export(exporter, bundles_of(found, _hidden(found))))


def _hidden(found: Iterable[Found]) -> Hidden:
    """Secrets of the environment, and of what the runs have used, as the runs themselves do."""
    runs = dict.fromkeys(one.run_dir for one in found)
    used: Iterator[Mapping[str, Any]] = chain.from_iterable(map(with_secrets, runs))
    return Hidden(secret_values(used))


def _report(outcomes: Iterable[Exported]) -> int:
    status: int = Exit.GO
    for done in outcomes:
        if done.failed:
            status = _FAILED
            sys.stderr.write(f"nel export: {done.benchmark} failed: {done.text}\n")
        else:
            sys.stdout.write(f"exported {done.benchmark}: {done.text}\n")
    return status
