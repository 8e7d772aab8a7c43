"""The samples of a page: an index that is read at once, and texts in blocks that are read later."""

import base64
import gzip
import json
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from pytest_nel.core.text import storable
from pytest_nel.core.types import JsonObject
from pytest_nel.reports._markup import Markup, data_block
from pytest_nel.reports.pairs import Flip, Paired, pair
from pytest_nel.reports.samples import Light, Limits, chosen, scan, size, texts
from pytest_nel.reports.table import Row, Table

BLOCK = 250
"""Rows of one block of texts."""
_OUTCOMES = ("correct", "wrong", "unparsed", "unscored")
_PREVIEW = 90
_COLUMNS = ("set", "problem", "id", "repeat", "line", "outcome", "reward")


@dataclass(slots=True)
class Payload:
    """What the script of a page reads.

    Attributes:
        sets: One object per row of the table, then one per baseline: counts, limits, pairs.
        columns: The index, one list per column.
        flips: [row of the candidate, row of the baseline, kind].
        blocks: Texts of the rows, compressed.
    """

    limits: Limits
    sets: list[JsonObject] = field(default_factory=list)
    columns: dict[str, list[Any]] = field(default_factory=dict)  # Any: JSON
    flips: list[tuple[int, int, str]] = field(default_factory=list)
    blocks: list[str] = field(default_factory=list)
    _entries: list[JsonObject] = field(default_factory=list)
    _prompt: str | None = None

    @property
    def size(self) -> int:
        """How many rows it has, those of baselines included."""
        return len(self.columns.get("set", ()))

    def pieces(self) -> Iterator[Markup]:
        """The elements for what is read at once."""
        yield data_block("nel-meta", dumped({"sets": self.sets, "block": BLOCK}))
        index = self.columns | {"flips": self.flips}
        yield data_block("nel-index", dumped(packed(index)))

    def later(self) -> Iterator[Markup]:
        """The elements for the texts."""
        for number, block in enumerate(self.blocks):
            yield data_block(f"nel-block-{number}", dumped(block))

    def add(self, number: int, path: Path, rows: Sequence[Light]) -> int:
        """Take in rows of a set; the place of the first one."""
        first = self.size
        for row, entry in zip(rows, texts(path, rows, self.limits), strict=True):
            read: JsonObject = entry.pop("i")
            values = {
                "set": number,
                "problem": row.problem_idx,
                "id": row.problem_id if row.problem_id != str(row.problem_idx) else "",
                "repeat": row.repeat,
                "line": row.line,
                "outcome": row.outcome,
                "reward": row.reward,
                **read,
                "prompt": " ".join(entry.get("p", "").split())[:_PREVIEW],
                "expected": " ".join(entry.get("e", "").split())[:_PREVIEW],
                "extracted": _preview(entry.get("x")),
            }
            for name, value in values.items():
                self.columns.setdefault(name, []).append(value)
            self._keep(entry)
        return first

    def _keep(self, entry: JsonObject) -> None:
        if not self._entries:
            self._prompt = None
        prompt = entry.get("p")
        if prompt is not None and prompt == self._prompt:
            entry["p"] = 0  # as the row before: repeats are asked the same
        else:
            self._prompt = prompt
        self._entries.append(entry)
        if len(self._entries) == BLOCK:
            self.close()

    def close(self) -> None:
        """No row is added any more."""
        if self._entries:
            self.blocks.append(packed(self._entries))
            self._entries = []


def _preview(text: str | None) -> str | None:
    return None if text is None else " ".join(text.split())[:_PREVIEW]


def payload(table: Table, limits: Limits) -> Payload:
    """Read the samples of all rows, and of the baseline what came out otherwise there."""
    scanned = [_scan(row) for row in table.rows]
    befores = [_scan(row.baseline) for row in table.rows]
    pairs = [
        pair(now, before) if before else None
        for (now, _), (before, _) in zip(scanned, befores, strict=True)
    ]
    made = Payload(limits)
    sizes = [sum(size(row, limits) for row in rows) for rows, _ in scanned]
    counts = [len(rows) for rows, _ in scanned]
    later: list[tuple[Row, list[Light], list[Flip], dict[int, int]]] = []
    for number, row in enumerate(table.rows):
        rows, damaged = scanned[number]
        paired = pairs[number]
        share = replace(limits, characters=_share(limits.characters, sizes[number], sum(sizes)))
        budget = _share(limits.rows, counts[number], sum(counts))
        flips = _shown(paired, budget // 3)
        first = frozenset(flip.candidate for flip in flips)
        taken = chosen(rows, budget, share, first)
        made.sets.append(_set(row, rows, taken, damaged) | {"paired": _said(paired, flips)})
        if row.results is not None and taken:
            start = made.add(number, row.results, [rows[position] for position in taken])
            places = {position: start + nth for nth, position in enumerate(taken)}
            later.append((row, befores[number][0], flips, places))
    for row, before, flips, places in later:
        _add_flips(made, row, before, flips, places)
    made.close()
    return made


def _scan(row: Row | None) -> tuple[list[Light], int]:
    return ([], 0) if row is None or row.results is None else scan(row.results)


def _share(limit: int, part: int, whole: int) -> int:
    return part if whole <= limit else limit * part // whole


def _shown(paired: Paired | None, most: int) -> list[Flip]:
    """Regressions and improvements first, in the order of the file."""
    if paired is None:
        return []
    flips = sorted(paired.flips, key=lambda flip: flip.kind in {"lower", "higher"})
    return sorted(flips[:most])


def _add_flips(
    made: Payload, row: Row, before: list[Light], flips: list[Flip], places: dict[int, int]
) -> None:
    """The baseline's side, as a set of its own."""
    baseline = row.baseline
    if not flips or baseline is None or baseline.results is None:
        return
    flips = [flip for flip in flips if flip.candidate in places]
    there = sorted({flip.baseline for flip in flips})
    number = len(made.sets)
    made.sets.append(_set(baseline, before, there, 0) | {"baseline": True})
    start = made.add(number, baseline.results, [before[position] for position in there])
    at = {position: start + nth for nth, position in enumerate(there)}
    made.flips += [(places[flip.candidate], at[flip.baseline], flip.kind) for flip in flips]


def _set(row: Row, rows: Sequence[Light], taken: Sequence[int], damaged: int) -> JsonObject:
    failed = [row.outcome != "correct" for row in rows]
    return {
        "run": row.run,
        "benchmark": row.benchmark,
        "path": "" if row.results is None else str(row.results),
        "total": len(rows),
        "shown": len(taken),
        "failed": sum(failed),
        "failed_shown": sum(failed[position] for position in taken),
        "damaged": damaged,
    }


def _said(paired: Paired | None, flips: Sequence[Flip]) -> JsonObject | None:
    if paired is None:
        return None
    names = ("regression", "improvement", "both", "neither", "unscored")
    return {
        "by": paired.by,
        "pairs": paired.pairs,
        **{name: paired.counts[name] for name in names},
        "only_candidate": paired.only_candidate,
        "only_baseline": paired.only_baseline,
        "unmatched": paired.unmatched,
        "flips": len(paired.flips),
        "flips_shown": len(flips),
    }


def packed(value: object) -> str:
    """Base64 of the gzipped JSON; the same for the same value."""
    return base64.b64encode(gzip.compress(dumped(value).encode(), 6, mtime=0)).decode()


def dumped(value: object) -> str:
    """Strict JSON, as short as it goes."""
    return storable(json.dumps(value, ensure_ascii=False, separators=(",", ":"), allow_nan=False))
