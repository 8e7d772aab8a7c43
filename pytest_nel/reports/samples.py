"""Records for a page: read in two passes, chosen where there are too many, cut where too long."""

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from pytest_nel.core.text import storable
from pytest_nel.core.types import JsonObject
from pytest_nel.records.judged import judged
from pytest_nel.records.places import Place, Reader
from pytest_nel.records.record import strict
from pytest_nel.reports._values import count, mapping, number


@dataclass(frozen=True, slots=True)
class Limits:
    """What a page holds at most.

    Attributes:
        rows: Attempts.
        characters: Of all texts together.
        prompt: Characters of one prompt; of what is longer the middle is left out.
        response: Of one response, or its reasoning.
        detail: Of an answer, of the scorer's details, of metadata.
    """

    rows: int = 50_000
    characters: int = 100_000_000
    prompt: int = 10_000
    response: int = 20_000
    detail: int = 4_000


class Light(NamedTuple):
    """What is kept of a record in the first pass.

    Attributes:
        place: Where it stands in its file.
        line: The number of its line, from 1.
        problem_idx: Which problem.
        repeat: Which repeat.
        problem_id: The problem's id; empty in rows of the reference system.
        outcome: As gates and comparisons see it.
        reward: None when it is missing.
    """

    place: Place
    line: int
    problem_idx: int
    repeat: int
    problem_id: str
    outcome: str
    reward: float | None


def scan(path: Path) -> tuple[list[Light], int]:
    """The records of a results.jsonl, and how many lines cannot be understood."""
    found: list[Light] = []
    damaged, offset = 0, 0
    with path.open("rb") as file:
        for number, line in enumerate(file, 1):
            place = Place(0, offset, len(line))
            offset += len(line)
            if not line.strip():
                continue
            try:
                found.append(_light(json.loads(line), place, number))
            except (ValueError, TypeError, KeyError, AttributeError, RecursionError):
                damaged += 1
    return found, damaged


def _light(row: Mapping[str, Any], place: Place, line: int) -> Light:
    """What gates and comparisons see of it.

    Raises:
        ValueError: They would see no row.
    """
    said, idx, repeat = judged(row), row["problem_idx"], row.get("repeat", 0)
    if said is None or not all(type(one) is int and one >= 0 for one in (idx, repeat)):
        msg = "no outcome, problem or repeat"
        raise ValueError(msg)
    reward, outcome = said
    return Light(place, line, idx, repeat, str(row.get("problem_id") or ""), outcome, reward)


def size(light: Light, limits: Limits) -> int:
    """About how many characters it takes on the page."""
    return min(light.place.length, limits.prompt + 2 * limits.response + 4 * limits.detail)


def chosen(
    rows: Sequence[Light], budget: int, limits: Limits, first: frozenset[int] = frozenset()
) -> list[int]:
    """Positions of the rows that a page shows of a benchmark, in their order.

    Where not all fit: ``first``, then what is not correct, then the correct ones; of the kind that
    does not fit, some that are spread evenly.

    Args:
        rows: All there are.
        budget: How many rows at most.
        limits: Of the page; ``characters`` are this benchmark's share.
        first: Positions that come before all others.
    """
    kinds: list[list[int]] = [[], [], []]
    for position, row in enumerate(rows):
        kinds[0 if position in first else 1 if row.outcome != "correct" else 2].append(position)
    taken: list[int] = []
    characters = limits.characters
    for kind in kinds:
        left = budget - len(taken)
        total = sum(size(rows[position], limits) for position in kind)
        count = len(kind) if total <= characters else len(kind) * max(characters, 0) // total
        some = _spread(kind, min(left, count))
        characters -= sum(size(rows[position], limits) for position in some)
        taken += some
    return sorted(taken)


def _spread(positions: Sequence[int], count: int) -> list[int]:
    if count >= len(positions):
        return list(positions)
    return [positions[step * len(positions) // count] for step in range(max(0, count))]


def texts(path: Path, rows: Sequence[Light], limits: Limits) -> Iterator[JsonObject]:
    """The second pass: what is shown of each of these records.

    Keys are short, since there are many: prompt, response, extracted, expected, details, metadata,
    reasoning, error, further scorers; ``i`` holds category, tokens, latency and finish reason,
    ``n`` the characters that were left out of a field.
    """
    reader = Reader([path])
    try:
        for row in rows:
            yield _entry(reader(row.place), limits)
    finally:
        reader.close()


def _entry(row: Mapping[str, Any], limits: Limits) -> JsonObject:
    details = row.get("scoring_details") or {}
    metadata = row.get("metadata") or {}
    category = mapping(metadata).get("category", mapping(details).get("category"))
    entry: JsonObject = {
        "i": {
            "category": None if category in (None, "") else _word(category),
            "tokens": count(row.get("tokens")),
            "latency": number(row.get("latency_ms")),
            "finish": None if row.get("finish_reason") is None else _word(row["finish_reason"]),
        }
    }
    left_out: dict[str, int] = {}
    for key, value, limit in (
        ("p", row.get("prompt"), limits.prompt),
        ("r", row.get("model_response"), limits.response),
        ("x", row.get("extracted_answer"), limits.detail),
        ("e", row.get("expected_answer"), limits.detail),
        ("d", details or None, limits.detail),
        ("m", metadata or None, limits.detail),
        ("t", row.get("reasoning"), limits.response),
        ("f", row.get("error"), limits.detail),
        ("s", row.get("scorer_rewards") or None, limits.detail),
    ):
        if value is not None:
            entry[key], left = _cut(_text(value), limit)
            if left:
                left_out[key] = left
    if kind := row.get("failure_category"):
        entry["k"] = _word(kind)
    return entry | ({"n": left_out} if left_out else {})


def _word(value: object) -> str:
    return storable(str(strict(value)))[:200]


def _text(value: object) -> str:
    if isinstance(value, str):
        return storable(value)
    plain = strict(value)
    indent = 1 if isinstance(plain, dict) else None
    return storable(json.dumps(plain, indent=indent, ensure_ascii=False))


def _cut(text: str, limit: int) -> tuple[str, int]:
    """Without its middle, since an answer stands at the end and a topic at the beginning."""
    if len(text) <= limit:
        return text, 0
    head = limit // 3
    left = len(text) - limit
    return f"{text[:head]}\n[… {left:,} characters left out …]\n{text[-(limit - head) :]}", left
