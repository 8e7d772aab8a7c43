"""Judgements that do not count any more: of another problem, or by another scorer.

They are found before a run goes on, so that whatever it then looks at, no score is made of old and
new judgements together.
"""

from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_nel.core.types import AttemptKey, SeedResult
from pytest_nel.engine.attempt import fill_in
from pytest_nel.engine.identity import Identity
from pytest_nel.engine.past import same_question
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.engine.session import Engine
from pytest_nel.records.index import JournalIndex, Known, short
from pytest_nel.records.places import Reader
from pytest_nel.records.record import Solved

FIRST = "0-dropped"
"""Whose journal counts before those of all others of its turn: they judge again what it drops."""
_WHAT_COUNTS = ("judging", "rows_hash", "prompts")


def may_have_changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether a judgement made under one plan may not count under the other.

    Args:
        old: The object of the plan.json that is there.
        new: The one that will be.
    """
    before, after = old["fingerprint"], new["fingerprint"]
    return any(name not in before or before[name] != after.get(name) for name in _WHAT_COUNTS)


class Stale:
    """Looks through a benchmark's journals.

    Args:
        plan: The benchmark as it is now.
        identity: Makes its keys.
        index: Its journals.
        asked: How to compare what was asked, where re-scoring knows no solver: whether it may
            have looked at more than the text. None where keys of answers can be made.
    """

    def __init__(
        self,
        plan: BenchmarkPlan,
        identity: Identity,
        index: JournalIndex,
        *,
        asked: bool | None = None,
    ) -> None:
        self._plan = plan
        self._identity = identity
        self._index = index
        self._asked = asked

    async def find(self) -> list[AttemptKey]:
        """The attempts whose judgement does not count."""
        return [key async for key in self._found()]

    async def _found(self) -> AsyncIterator[AttemptKey]:
        """Every problem is seeded once."""
        with self._index.reading() as read:
            for problem in self._plan.problems:
                judged = [
                    (key, known)
                    for repeat in range(self._plan.repeats)
                    if (known := self._index.known(problem, repeat)) and known.judgement
                    for key in [AttemptKey(self._plan.id, problem, repeat)]
                ]
                if not judged:
                    continue
                seed = await self._plan.environment.seed(problem)
                for key, known in judged:
                    if not self._counts(key, known, seed, read):
                        yield key

    def _counts(self, key: AttemptKey, known: Known, seed: SeedResult, read: Reader) -> bool:
        if known.answer is None:
            return False
        fresh = Solved(key, "")
        fill_in(fresh, seed)
        if self._asked is not None:
            stored = Solved.from_json(read(known.answer.place), key.benchmark)
            solve_key = stored.solve_key
            same = same_question(stored, fresh, reads_row=self._asked)
        else:
            solve_key = self._identity.solve_key(seed, key.repeat)
            same = known.answer.key == short(solve_key)
        score_key = self._identity.score_key(solve_key, fresh.expected, fresh.metadata)
        return same and known.score_key == short(score_key)


def drop_stale(engine: Engine, stale: Stale, plan: BenchmarkPlan, directory: Path) -> int:
    """Write into the journal which judgements do not count; returns how many (blocking)."""
    engine.prepare(plan.environment)
    found = engine.loop.call(stale.find())
    if found:
        journal = replace(engine.writing, writer=FIRST).open(directory, plan.id)
        for key in found:
            journal.dropped(key)
        journal.close()
    return len(found)
