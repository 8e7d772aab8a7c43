"""Runs as a gate and a comparison read them: ours, and those of the reference system."""

import json
import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.text import showable
from pytest_nel.core.types import JsonObject
from pytest_nel.gate.evaluate import Runs
from pytest_nel.gate.evidence import Row, Side
from pytest_nel.records.found import MERGE, MERGED, runs_below
from pytest_nel.records.plans import PLAN, read_plan

RESULTS = "results.jsonl"
_EXPECTED = 400
_NOT_THE_MODEL = frozenset(
    {
        *("system", "infra_error", "tool_infra", "rate_limit", "server_error"),
        *("model_timeout", "model_error", "auth_error", "protocol_error", "scorer_error"),
    }
)
"""Error categories of the reference system's rows that have reward 0 and no score."""


@dataclass(frozen=True, slots=True)
class StoredRun:
    """A run on the disk.

    Attributes:
        directory: Where it is.
        paths: The bundle's file of each benchmark.
        bundles: The objects in them.
        warnings: What could not be read.
    """

    directory: Path
    paths: Mapping[str, Path]
    bundles: Mapping[str, JsonObject]
    warnings: list[str] = field(default_factory=list)

    def side(self, name: str) -> Side:
        """One benchmark with its rows."""
        return read_side(self.paths[name].parent, self.bundles[name])


def runs_of(candidate: Path, baseline: Path | None = None) -> Runs:
    """What a gate is given: a candidate, alone or against a baseline.

    Raises:
        ConfigError: As :func:`stored_run`.
    """
    mine = stored_run(candidate)
    if baseline is None:
        return Runs(mine.bundles, mine.side, warnings=mine.warnings)
    other = stored_run(baseline)
    warnings = [*other.warnings, *mine.warnings]
    return Runs(mine.bundles, mine.side, other.bundles, other.side, warnings)


def stored_run(path: Path) -> StoredRun:
    """Find the bundles of a run: in the directory itself, or one level down.

    Args:
        path: A run directory, one benchmark's directory, a folder whose shards were merged, or
            an ``eval-*.json``.

    Raises:
        ConfigError: There is none, two are of one benchmark, or several share their rows.
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
        bundle = _bundle(file, warnings)
        if bundle is None:
            continue
        name = str(bundle["benchmark"]["name"])
        if name in found:
            msg = f"Duplicate benchmark '{name}' in {directory}: found in {found[name]} and {file}"
            raise ConfigError(msg)
        _refuse_stale(file, bundle)
        found[name], bundles[name] = file, bundle
    if not found:
        raise ConfigError(_nothing(directory, warnings))
    return StoredRun(directory, found, bundles, warnings)


def _nothing(directory: Path, warnings: list[str]) -> str:
    said = f"{directory} holds no results: there is no eval-*.json in it or one level down"
    if warnings:
        return f"{said}; {'; '.join(warnings)}"
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
    quiet: list[str] = []
    read = [(file, bundle) for file in files if (bundle := _bundle(file, quiet)) is not None]
    names = {str(bundle["benchmark"]["name"]) for _, bundle in read}
    if len(names) > 1:
        msg = (
            f"{folder} holds bundles of several benchmarks ({', '.join(sorted(names))}) and one "
            f"{RESULTS}: give each benchmark a folder of its own"
        )
        raise ConfigError(msg)
    if not read:
        return files[-1]
    newest = max(read, key=lambda pair: (str(pair[1].get("timestamp", "")), pair[0].name))[0]
    warnings.append(f"{folder} holds {len(files)} bundles: the newest counts, {newest.name}")
    return newest


def _bundle(file: Path, warnings: list[str]) -> JsonObject | None:
    try:
        bundle = json.loads(file.read_text(encoding="utf-8"))
        name = bundle["benchmark"]["name"]
    except (OSError, ValueError, KeyError, TypeError, RecursionError) as error:
        warnings.append(f"{file} cannot be read ({type(error).__name__}: {error})")
        return None
    if not isinstance(name, str) or not isinstance(bundle, dict):
        warnings.append(f"{file} is no bundle: benchmark.name is {name!r}")
        return None
    return bundle


def _refuse_stale(file: Path, bundle: Mapping[str, Any]) -> None:
    if not (file.parent / PLAN).is_file():
        return
    if read_plan(file.parent).get("turn", 1) > bundle.get("turns", 1):
        run = file.parent.parent
        msg = (
            f"{file}: the bundle is older than the records beside it: "
            f"nel eval report --rebuild {run} makes it from the journals"
        )
        raise ConfigError(msg)


def read_side(directory: Path, bundle: Mapping[str, Any]) -> Side:
    """A bundle with the rows in its directory; a row that cannot be read is a missing one."""
    path = directory / RESULTS
    if not path.is_file():
        return Side(bundle, trouble=f"{path} is missing")
    hashed = bool((bundle.get("fingerprint") or {}).get("prompts"))
    rows: dict[tuple[int, int], Row] = {}
    asked: dict[int, int] = {}
    bad = 0
    for row in _lines(path):
        key = None if row is None else _key(row)
        if row is None or key is None:
            bad += 1
            continue
        rows[key] = _row(row, key)
        if not hashed:
            asked[key[0]] = hash((str(row.get("prompt")), str(row.get("expected_answer"))))
    trouble = None
    counted = bundle.get("n_results")
    if bad:
        trouble = f"{path}: {bad:,} lines cannot be read"
    elif isinstance(counted, int) and counted != len(rows):
        trouble = f"{path} has {len(rows):,} rows, the bundle counts {counted:,}"
    return Side(bundle, list(rows.values()), trouble, asked)


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
    for row in _lines(path) if wanted and path.is_file() else ():
        key = None if row is None else _key(row)
        if row is None or key is None or key not in wanted:
            continue
        response = row.get("model_response") or row.get("extracted_answer")
        text = "" if response is None else showable(str(response), wanted[key])
        expected = row.get("expected_answer")
        found[key] = Answer(text, "" if expected is None else showable(str(expected), _EXPECTED))
    return found


def _lines(path: Path) -> Iterator[Mapping[str, Any] | None]:
    with path.open("rb") as file:
        for line in file:
            if line.isspace():
                continue
            try:
                row = json.loads(line)
            except (ValueError, RecursionError):
                yield None
                continue
            yield row if isinstance(row, dict) else None


def _key(row: Mapping[str, Any]) -> tuple[int, int] | None:
    problem, repeat = row.get("problem_idx"), row.get("repeat", 0)
    fits = type(problem) is int and type(repeat) is int
    return (problem, repeat) if fits else None  # type: ignore[return-value]  # as just seen


def _row(row: Mapping[str, Any], key: tuple[int, int]) -> Row:
    reward, outcome = row.get("reward"), row.get("outcome")
    details = row.get("scoring_details")
    details = details if isinstance(details, dict) else {}
    metadata = row.get("metadata")
    metadata = metadata if isinstance(metadata, dict) else {}
    if outcome is None:  # a row of the reference system
        reward, outcome = _theirs(reward, details)
    elif type(reward) is not float and not isinstance(reward, int):
        reward = None
    category = metadata.get("category", details.get("category"))
    cluster = metadata.get("cluster")
    return Row(
        key[0],
        key[1],
        reward,
        outcome == "correct",
        str(row.get("problem_id") or ""),
        "" if category is None else str(category),
        "" if cluster is None else str(cluster),
        row.get("scorer_rewards") or {},
        str(outcome),
    )


def _theirs(reward: object, details: Mapping[str, Any]) -> tuple[float | None, str]:
    """What did not come from the model has reward 0 there; here it is missing."""
    judge = details.get("judge")
    failed_judge = isinstance(judge, dict) and judge.get("error") and judge.get("total") is None
    if details.get("error_category") in _NOT_THE_MODEL or failed_judge:
        return None, "unscored"
    if isinstance(reward, bool) or not isinstance(reward, int | float):
        return None, "unscored"
    if not math.isfinite(reward):
        return None, "unscored"
    return float(reward), "correct" if reward > 0 else "wrong"
