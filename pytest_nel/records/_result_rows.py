"""results.jsonl as a gate and a comparison read it: ours, and the reference system's."""

import json
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from itertools import islice
from pathlib import Path
from typing import Any

from pydantic_core import from_json

from pytest_nel.gate.evidence import Row

_TOGETHER = 64  # lines that are parsed at once
_LARGEST = 1e100  # a reward beyond it has no square
_OUTCOMES = frozenset({"correct", "wrong", "unparsed", "unscored"})
_NOT_THE_MODEL = frozenset(
    {
        *("system", "infra_error", "tool_infra", "rate_limit", "server_error"),
        *("model_timeout", "model_error", "auth_error", "protocol_error", "scorer_error"),
    }
)
"""Error categories of the reference system's rows that have reward 0 and no score."""
_NONE: Mapping[str, Any] = {}


@dataclass(slots=True)
class ResultRows:
    """What a results.jsonl says.

    Attributes:
        rows: By (problem, repeat); of several for one attempt the last.
        asked: Digests of what was asked, where that was wanted; good in this process only.
        unreadable: Lines that are no row.
    """

    rows: dict[tuple[int, int], Row] = field(default_factory=dict)
    asked: dict[tuple[int, int], int] = field(default_factory=dict)
    unreadable: int = 0


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
    outcome, others = get("outcome"), get("scorer_rewards")
    if outcome is None:  # a row of the reference system
        reward, outcome = _theirs(get("reward"), details)
    elif type(outcome) is not str or outcome not in _OUTCOMES:
        return None
    else:
        reward = None if outcome == "unscored" else _number(get("reward"))
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
        _numbers(others) if others else _NONE,
        outcome,
    )


def _text(value: object) -> str:
    return "" if value is None else str(value)


def _number(value: object) -> float | None:
    """A reward; None for what is none: text, NaN, a number too large for arithmetic."""
    if type(value) is not float and type(value) is not int:
        return None
    return float(value) if -_LARGEST < value < _LARGEST else None


def _numbers(others: object) -> Mapping[str, float | None]:
    if type(others) is not dict:
        return _NONE
    return {name: _number(reward) for name, reward in others.items()}


def _theirs(reward: object, details: Mapping[str, Any]) -> tuple[float | None, str]:
    """What did not come from the model has reward 0 there; here it is missing."""
    judge, error = details.get("judge"), details.get("error_category")
    failed_judge = isinstance(judge, dict) and judge.get("error") and judge.get("total") is None
    value = _number(reward)
    if value is None or failed_judge or (isinstance(error, str) and error in _NOT_THE_MODEL):
        return None, "unscored"
    return value, "correct" if value > 0 else "wrong"
