"""Runs as a gate and a comparison read them: ours, and those of the reference system."""

import filecmp
import math
from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.text import showable
from pytest_nel.core.types import JsonObject
from pytest_nel.gate.evaluate import Runs
from pytest_nel.gate.evidence import Side
from pytest_nel.records._result_rows import ResultRows, keyed_rows, read_rows
from pytest_nel.records.bundle_file import read_bundle, refuse_stale
from pytest_nel.records.found import MERGE, MERGED, is_run, runs_below

RESULTS = "results.jsonl"
_EXPECTED = 400
_ROUNDED = 2e-6  # a bundle has six decimals


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run on the disk.

    Attributes:
        directory: Where it is.
        paths: The bundle's file of each benchmark.
        bundles: The objects in them.
        warnings: What a reader must know of how they were found.
    """

    directory: Path
    paths: Mapping[str, Path]
    bundles: Mapping[str, JsonObject]
    warnings: list[str] = field(default_factory=list)

    @property
    def weight(self) -> int:
        """Bytes of all rows."""
        files = (path.with_name(RESULTS) for path in self.paths.values())
        return sum(file.stat().st_size for file in files if file.is_file())

    def side(self, name: str) -> Side:
        """One benchmark with its rows."""
        return read_side(self.paths[name].parent, self.bundles[name])


def runs_of(candidate: Path, baseline: Path | None = None) -> Runs:
    """What a gate is given: a candidate, alone or against a baseline.

    Raises:
        ConfigError: As :func:`stored_run`, and :func:`refuse_itself`.
    """
    mine = stored_run(candidate)
    if baseline is None:
        return Runs(mine.bundles, mine.side, warnings=mine.warnings, weight=mine.weight)
    other = stored_run(baseline)
    refuse_itself(other, mine)
    warnings = [*other.warnings, *mine.warnings]
    weight = other.weight + mine.weight
    return Runs(mine.bundles, mine.side, other.bundles, other.side, warnings, weight)


def stored_run(path: Path) -> StoredRun:
    """Find the bundles of a run: in the directory itself, or one level down.

    Args:
        path: A run directory, one benchmark's directory, a folder whose shards were merged, or
            an ``eval-*.json``.

    Raises:
        ConfigError: There is none, one cannot be read or is older than its records, two are of one
            benchmark, or several share their rows.
    """
    directory = path.parent if path.is_file() else path
    if not directory.is_dir():
        msg = f"no such directory: {path}"
        raise ConfigError(msg)
    paths, warnings = _bundle_files(directory)
    if not paths and (directory / MERGED / MERGE).is_file():
        directory = directory / MERGED
        paths, warnings = _bundle_files(directory)
    found: dict[str, Path] = {}
    bundles: dict[str, JsonObject] = {}
    for file in paths:
        bundle = read_bundle(file)
        name = str(bundle["benchmark"]["name"])
        if name in found:
            msg = f"Duplicate benchmark '{name}' in {directory}: found in {found[name]} and {file}"
            raise ConfigError(msg)
        refuse_stale(file, bundle)
        found[name], bundles[name] = file, bundle
    if not found:
        raise ConfigError(_nothing(directory))
    return StoredRun(directory, found, bundles, warnings)


def _nothing(directory: Path) -> str:
    said = f"{directory} holds no results: there is no eval-*.json in it or one level down"
    if is_run(directory):
        return f"{said}; its records are there: nel eval report --rebuild {directory} makes them"
    runs = [run.name for run in runs_below(directory)]
    return f"{said}; it holds runs, name one: {', '.join(runs[:5])}" if runs else said


def _bundle_files(directory: Path) -> tuple[list[Path], list[str]]:
    own, warnings = sorted(directory.glob("eval-*.json")), list[str]()
    if len(own) > 1:
        own = [_newest(directory, own, warnings)]
    below = sorted(path for path in directory.iterdir() if path.is_dir())
    for folder in below:
        inside = sorted(folder.glob("eval-*.json"))
        if len(inside) > 1:
            inside = [_newest(folder, inside, warnings)]
        own += inside
    return own, warnings


def _newest(folder: Path, files: list[Path], warnings: list[str]) -> Path:
    """The last bundle of a benchmark that was run twice into one folder.

    Raises:
        ConfigError: They are of several benchmarks, which would share one results.jsonl.
    """
    read = [(file, read_bundle(file)) for file in files]
    names = {str(bundle["benchmark"]["name"]) for _, bundle in read}
    if len(names) > 1:
        msg = (
            f"{folder} holds bundles of several benchmarks ({', '.join(sorted(names))}) and one "
            f"{RESULTS}: give each benchmark a folder of its own"
        )
        raise ConfigError(msg)
    newest = max(read, key=lambda pair: (str(pair[1].get("timestamp", "")), pair[0].name))[0]
    warnings.append(f"{folder} holds {len(files)} bundles: the newest counts, {newest.name}")
    return newest


def refuse_itself(baseline: StoredRun, candidate: StoredRun) -> None:
    """Refuse two names of one run, also through symbolic links, and a copy of it.

    A copy has the run's id and, in every benchmark that both have, its results. One whose answers
    were judged anew has others, and is compared.

    Raises:
        ConfigError: They are one run.
    """
    mine, yours = (_folders(run) for run in (baseline, candidate))
    if shared := sorted(mine & yours):
        msg = (
            f"baseline and candidate are the same run: {baseline.directory} and "
            f"{candidate.directory} both mean {shared[0]}; name two runs"
        )
        raise ConfigError(msg)
    both = sorted(baseline.bundles.keys() & candidate.bundles.keys())
    if both and all(_copied(baseline, candidate, name) for name in both):
        run_id = baseline.bundles[both[0]]["run_id"]
        msg = (
            f"baseline and candidate are the same run: {candidate.directory} has the run_id "
            f"{run_id} and the results of {baseline.directory}, so one is a copy of the other; "
            "name two runs"
        )
        raise ConfigError(msg)


def refuse_run_in(directory: Path, baseline: StoredRun) -> None:
    """Refuse a baseline that lies where a run is about to write.

    Args:
        directory: The run's.
        baseline: What it is to be compared with.

    Raises:
        ConfigError: It lies there.
    """
    here = directory.resolve()
    if any(here in (folder, folder.parent) for folder in _folders(baseline)):
        msg = (
            f"the baseline {baseline.directory} is this run's own directory: name the run that "
            "it is to be compared with"
        )
        raise ConfigError(msg)


def _folders(run: StoredRun) -> set[Path]:
    return {file.resolve().parent for file in run.paths.values()}


def _copied(baseline: StoredRun, candidate: StoredRun, name: str) -> bool:
    one, other = baseline.bundles[name], candidate.bundles[name]
    if not one.get("run_id") or one["run_id"] != other.get("run_id"):
        return False
    mine, yours = (run.paths[name].with_name(RESULTS) for run in (baseline, candidate))
    if not (mine.is_file() and yours.is_file()):
        return one == other and mine.is_file() == yours.is_file()
    return filecmp.cmp(mine, yours, shallow=False)


def read_side(directory: Path, bundle: Mapping[str, Any]) -> Side:
    """A bundle with the rows in its directory; a row that cannot be read is a missing one.

    Raises:
        OSError: There are rows, and they cannot be read.
    """
    path = directory / RESULTS
    if not path.is_file():
        return Side(bundle, trouble=f"{path} is missing")
    hashed = bool((bundle.get("fingerprint") or {}).get("prompts"))
    found = read_rows(path, asked=not hashed)
    ask = partial(_asked, path) if hashed else None
    return Side(bundle, list(found.rows.values()), _trouble(path, bundle, found), found.asked, ask)


def _asked(path: Path) -> Mapping[tuple[int, int], int]:
    return read_rows(path, asked=True).asked


def _trouble(path: Path, bundle: Mapping[str, Any], found: ResultRows) -> str | None:
    """Why the rows cannot be all that was recorded, and nothing else."""
    if found.unreadable:
        return f"{path}: {found.unreadable:,} lines cannot be read"
    if found.again and "n_planned" in bundle:  # the reference system writes some twice
        return f"{path}: {found.again:,} lines are about attempts that have one already"
    counted, there = bundle.get("n_results"), len(found.rows)
    if counted is not None and counted != there:
        return f"{path} has {there:,} rows, the bundle counts {counted:,}"
    repeats = (bundle.get("benchmark") or {}).get("repeats") or 1
    beyond = sum(repeat >= repeats for _, repeat in found.rows)
    if beyond:
        return f"{path} has {beyond:,} rows of repeats beyond the {repeats:,} of the bundle"
    return _other_numbers(path, bundle, found)


_COUNTS = {word: f"n_{word}" for word in ("correct", "wrong", "unparsed", "unscored")}


def _other_numbers(path: Path, bundle: Mapping[str, Any], found: ResultRows) -> str | None:
    """What rows and bundle do not agree in; only ours counts outcomes."""
    counts = Counter(row.outcome for row in found.rows.values())
    for word, key in _COUNTS.items():
        if key in bundle and bundle[key] != counts[word]:
            return f"{path} has {counts[word]:,} {word} rows, the bundle counts {bundle[key]:,}"
    scores = (bundle.get("benchmark") or {}).get("scores") or {}
    said = (scores.get("mean_reward") or {}).get("value")
    if "n_planned" not in bundle or said is None:
        return None
    means = _means(found)
    mean = math.fsum(means) / len(means) if means else 0.0
    if abs(mean - said) > _ROUNDED:
        return f"the rows of {path} have the mean {mean:.6f}, the bundle says {said:.6f}"
    return None


def _means(found: ResultRows) -> list[float]:
    """The mean reward of each problem."""
    sums: dict[int, list[float]] = {}
    for row in found.rows.values():
        if row.reward is not None:
            sums.setdefault(row.problem, []).append(row.reward)
    return [math.fsum(rewards) / len(rewards) for rewards in sums.values()]


@dataclass(frozen=True, slots=True)
class Answer:
    """What was answered, and what should have been.

    Attributes:
        response: What the model said or, where that was not kept, what was extracted.
        expected: The gold answer.
    """

    response: str
    expected: str


def read_answers(
    file: Path, wanted: Mapping[tuple[int, int], int]
) -> dict[tuple[int, int], Answer]:
    """Answers of some attempts, in one pass over the rows beside a bundle.

    Args:
        file: The bundle's.
        wanted: By (problem, repeat) how many characters of the response are kept.
    """
    found: dict[tuple[int, int], Answer] = {}
    path = file.parent / RESULTS
    for key, row in keyed_rows(path) if wanted and path.is_file() else ():
        if key not in wanted:
            continue
        response = row.get("model_response") or row.get("extracted_answer")
        text = "" if response is None else showable(str(response), wanted[key])
        expected = row.get("expected_answer")
        found[key] = Answer(text, "" if expected is None else showable(str(expected), _EXPECTED))
    return found
