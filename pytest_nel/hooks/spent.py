"""What a worker that has died had spent of the budgets that its successor goes on with."""

import json
import time
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_nel.core.types import JsonObject
from pytest_nel.engine.budget import Purse
from pytest_nel.environments.scorers import PREFIX
from pytest_nel.hooks.resume import earlier_index
from pytest_nel.hooks.state import BenchmarkRun, Run
from pytest_nel.records.index import JournalIndex
from pytest_nel.records.journal import journal_files, journal_name, turn_of
from pytest_nel.records.places import Place
from pytest_nel.records.record import Solved

_Key = tuple[int, int]


def inherit(run: Run, bench: BenchmarkRun, purse: Purse) -> None:
    """Take out of a benchmark's purse what those have spent whose part this worker goes on with.

    Their journals say it. What they had under way when they died is in none, so a budget may be
    exceeded by that much.
    """
    if run.worker is None or not run.worker.before or not purse.budgets:
        return
    earlier = _Earlier(run, bench)
    began: float | None = None
    for line in _lines(run, bench):
        if line["_type"] == "started":
            began = min(began or line["t"], line["t"])
        elif line["_type"] == "solved" and earlier.is_new(line):
            purse.spend(Solved.from_json(line, bench.plan.id))
        elif line["_type"] == "scored":
            purse.spend_on_judges(list(earlier.judging(line)))
    if began is not None:
        purse.began(max(0.0, time.time() - began))


def _lines(run: Run, bench: BenchmarkRun) -> Iterator[JsonObject]:
    """What the predecessors have written in this session, in its order; torn lines left out."""
    assert run.worker is not None
    folder = run.directory / bench.plan.id / "journal"
    for path in journal_files(folder):
        turn = turn_of(path)
        names = {journal_name(writer, turn) for writer in run.worker.before}
        if turn >= run.turn and path.name in names:
            yield from _whole(path)


def _whole(path: Path) -> Iterator[JsonObject]:
    seen = JournalIndex()
    with path.open("rb") as file:
        for line in file:
            if line.strip() and seen.note(line, Place(0, 0, len(line))) is None:
                yield json.loads(line)


class _Earlier:
    """What was there before this session began, which it has not paid for."""

    def __init__(self, run: Run, bench: BenchmarkRun) -> None:
        self._index = earlier_index(run, bench.plan.id)
        self._judged: dict[_Key, Mapping[str, Any]] = {}

    def is_new(self, solved: JsonObject) -> bool:
        """Whether an answer was asked for, not written again because its row has changed."""
        known = self._index.known(*_key(solved))
        stored = () if known is None else (known.answer, known.again)
        with self._index.reading() as read:
            return all(
                answer is None or read(answer.place).get("started") != solved.get("started")
                for answer in stored
            )

    def judging(self, scored: JsonObject) -> Iterator[Mapping[str, Mapping[str, Any]]]:
        """What each judge was paid for a judgement just then, by service."""
        before = self._before(_key(scored))
        now = self._judged[_key(scored)] = _said(scored)
        for name, said in now.items():
            old = before.get(name) or {}
            if old.get("reward") is not None and old.get("key") == said.get("key"):
                continue  # taken over, not asked for again
            paid = {} if old.get("reward") is not None else old.get("spent") or {}
            yield {
                service: _less(sums, paid.get(service) or {})
                for service, sums in (said.get("spent") or {}).items()
            }

    def _before(self, key: _Key) -> Mapping[str, Any]:
        if key in self._judged:
            return self._judged[key]
        known = self._index.known(*key)
        if known is None or known.said is None:
            return {}
        with self._index.reading() as read:
            return _said(read(known.said))


def _key(line: JsonObject) -> _Key:
    return int(line["problem_idx"]), int(line["repeat"])


def _said(scored: JsonObject) -> dict[str, Any]:
    """What judges have said, by the name of their metric."""
    details: Mapping[str, Any] = scored.get("details") or {}
    return {
        name: said
        for name, said in details.items()
        if name.startswith(PREFIX) and isinstance(said, Mapping) and "spent" in said
    }


def _less(sums: Mapping[str, Any], paid: Mapping[str, Any]) -> dict[str, Any]:
    """Sums over all sessions without those of the earlier ones."""
    return {
        name: value - paid.get(name, 0) if isinstance(value, int | float) else value
        for name, value in sums.items()
    }
