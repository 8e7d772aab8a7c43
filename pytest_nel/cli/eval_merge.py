"""Join shards or partial runs into one run, every number counted again from the records."""

import argparse
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path

from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.core.text import showable
from pytest_nel.gate.verdict import Exit, worst
from pytest_nel.records.found import MERGED, is_run, refuse_no_run, runs_below
from pytest_nel.records.merge import Duplicate, Merged, merge
from pytest_nel.reports.summary import Line, run_lines

_NAMED = 5


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = "nel eval merge DIR... [-o OUT] [-v]"
    parser.add_argument(
        "directories",
        metavar="DIR",
        nargs="+",
        type=Path,
        help="A run directory, or a folder that holds some, such as shard_0, shard_1",
    )
    parser.add_argument(
        "-o", "--output-dir", metavar="OUT", type=Path, help="New or empty (default: DIR/merged)"
    )
    parser.add_argument(
        "-v", "--verbose", action="store_true", help="List attempts that several directories have"
    )


def main(options: argparse.Namespace) -> int:
    """Merge and say what came of it; the exit status is that of the run."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    try:
        directories, idle = _parts(options.directories)
        target = _target(options.directories, options.output_dir)
        made = merge(directories, target)
    except NelError as error:
        sys.stderr.write(f"nel eval merge: {showable(str(error))}\n")
        return Exit.USAGE
    except OSError as error:
        sys.stderr.write(f"nel eval merge: nothing was merged: {showable(str(error))}\n")
        return Exit.USAGE
    for line in _lines(made, idle, verbose=options.verbose):
        sys.stdout.write(f"{line.text}\n")
    missing = any(made.joint.missing.values())
    return worst({made.concluded.code, Exit.INCOMPLETE if missing else Exit.GO})


def _parts(given: Sequence[Path]) -> tuple[list[Path], list[Path]]:
    """The run directories, and those that have begun and hold nothing."""
    parts: list[Path] = []
    idle: list[Path] = []
    for directory in given:
        below = [] if is_run(directory) or not directory.is_dir() else runs_below(directory)
        if not any(is_run(path) for path in below):
            refuse_no_run(directory)
            below = [directory]
        parts += [path for path in below if is_run(path)]
        idle += [path for path in below if not is_run(path)]
    return parts, idle


def _target(given: Sequence[Path], named: Path | None) -> Path:
    if named is not None:
        return named
    if len(given) > 1 or is_run(given[0]):
        msg = "say where the merged run goes: -o OUT"
        raise ConfigError(msg)
    return given[0] / MERGED


def _lines(made: Merged, idle: Sequence[Path], *, verbose: bool) -> Iterator[Line]:
    done, joint = made.concluded, made.joint
    between = [*_missing(made), *(Line(f"{path}: was begun and holds nothing") for path in idle)]
    live = "a run is writing there: what it adds now is not in here"
    between += [Line(f"{label}: {live}") for label in made.written]
    between += _duplicates(made.duplicates, verbose=verbose)
    between += _lost(made.lost)
    results = [(derived.bundle, derived.problems) for derived in done.derived]
    yield from run_lines(results, done.checks, between, most=len(results))
    what = "directories" if joint.count is None else f"of {joint.count} shards"
    yield Line(f"results: {done.directory} ({len(joint.parts)} {what})")


def _missing(made: Merged) -> Iterator[Line]:
    for name, numbers in made.joint.missing.items():
        if numbers:
            listed = ", ".join(map(str, numbers))
            word = "shard" if len(numbers) == 1 else "shards"
            yield Line(f"{name}: missing: {word} {listed} of {made.joint.count}")


def _duplicates(duplicates: Sequence[Duplicate], *, verbose: bool) -> Iterator[Line]:
    if not duplicates:
        return
    differ = sum(one.differs for one in duplicates)
    said = f", {differ:,} of them with different rewards" if differ else ""
    more = "" if verbose else " (-v lists them)"
    are = "attempt is" if len(duplicates) == 1 else "attempts are"
    yield Line(f"{len(duplicates):,} {are} in more than one directory{said}{more}")
    if verbose:
        for one in duplicates:
            first, *others = (f"{label} ({_shown(r)})" for label, r in one.rewards.items())
            name = f"{one.benchmark}[{one.problem_idx}-r{one.repeat}]"
            yield Line(f"  {name}: {first} stands before {', '.join(others)}")


def _lost(lost: Sequence[tuple[str, int, int]]) -> Iterator[Line]:
    if lost:
        first = ", ".join(f"{name}[{problem}-r{repeat}]" for name, problem, repeat in lost[:_NAMED])
        more = f" and {len(lost) - _NAMED} more" if len(lost) > _NAMED else ""
        yield Line(
            f"the workspace of {first}{more} is in none of the directories as it was kept: the "
            "scores stand, but these answers cannot be judged again"
        )


def _shown(reward: float | None) -> str:
    return "no score" if reward is None else f"{reward:g}"
