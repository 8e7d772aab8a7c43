"""results.jsonl as a gate and a comparison read it: ours, and the reference system's."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from pytest_nel.gate.evidence import Row
from pytest_nel.records.judged import judged, number

_TOGETHER = 64  # lines that are parsed at once
_NONE: Mapping[str, Any] = {}


@dataclass(slots=True)
class ResultRows:
    """What a results.jsonl says.

    Attributes:
        rows: By (problem, repeat); of several for one attempt the last.
        asked: Digests of what was asked, where that was wanted; good in this process only.
        unreadable: Lines that are no row.
        again: Lines about an attempt that another line is about, too.
    """

    rows: dict[tuple[int, int], Row] = field(default_factory=dict)
    asked: dict[tuple[int, int], int] = field(default_factory=dict)
    unreadable: int = 0
    again: int = 0


def read_rows(path: Path, *, asked: bool = False) -> ResultRows:
    """Read all of it.

    Raises:
        OSError: The file cannot be read.
    """
    found = ResultRows()
    rows = found.rows
    for raw in _lines(path):
        row = _row(raw)
        if row is None:
            found.unreadable += 1
            continue
        key = (row.problem, row.repeat)
        found.again += key in rows
        rows[key] = row
        if asked and isinstance(raw, dict):
            found.asked[key] = hash((str(raw.get("prompt")), str(raw.get("expected_answer"))))
    return found


def keyed_rows(path: Path) -> Iterator[tuple[tuple[int, int], Mapping[str, Any]]]:
    """Rows as they stand there, each with its (problem, repeat); lines that are none are left out.

    Raises:
        OSError: The file cannot be read.
    """
    for raw in _lines(path):
        row = _row(raw)
        if row is not None and isinstance(raw, dict):
            yield (row.problem, row.repeat), raw


def _lines(path: Path) -> Iterator[object]:
    """The value of each line; None for one that cannot be read."""
    with path.open("rb") as file:
        while chunk := list(islice(file, _TOGETHER)):
            lines = [line for line in chunk if not line.isspace()]
            try:  # jiter takes 60 % of the time of json, and half of that for many lines at once
                values = from_json(b"[%b]" % b",".join(lines), cache_strings="keys")
            except ValueError:  # or what jiter alone does not take, such as half a surrogate pair
                values = []
            # lines that are only together valid JSON are not as many as their values
            yield from values if len(values) == len(lines) else map(_value, lines)


def _value(line: bytes) -> object:
    try:
        return json.loads(line)
    except (ValueError, RecursionError):
        return None


def _row(row: object) -> Row | None:
    if type(row) is not dict:
        return None
    get = row.get
    problem, repeat = get("problem_idx"), get("repeat", 0)
    if type(problem) is not int or type(repeat) is not int or problem < 0 or repeat < 0:
        return None
    details, metadata = get("scoring_details"), get("metadata")
    if type(details) is not dict:
        details = _NONE
    if type(metadata) is not dict:
        metadata = _NONE
    said = judged(row)
    if said is None:
        return None
    reward, outcome = said
    others = get("scorer_rewards")
    name, cluster = get("problem_id"), metadata.get("cluster")
    category = metadata.get("category", details.get("category"))
    return Row(
        problem,
        repeat,
        reward,
        outcome == "correct",
        name if type(name) is str else str(name or ""),
        category if type(category) is str else _text(category),
        cluster if type(cluster) is str else _text(cluster),
        _numbers(others, details) if others else _NONE,
        outcome,
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _numbers(others: object, details: Mapping[str, Any]) -> Mapping[str, float | None]:
    """Rewards of further scorers; those that failed have reward 0 in the reference system."""
    if type(others) is not dict:
        return _NONE
    return {
        name: None if _failed(details.get(f"scorer:{name}")) else number(reward)
        for name, reward in others.items()
    }


def _failed(said: object) -> bool:
    return type(said) is dict and bool(said.get("error"))
