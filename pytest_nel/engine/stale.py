"""Judgements that do not count any more: of another problem, or by another scorer.

So does one of an agent that had another time, where that made a difference.

They are found before a run goes on, so that whatever it then looks at, no score is made of old and
new judgements together.
"""

import contextlib
from collections.abc import AsyncIterator, Mapping
from dataclasses import replace
from itertools import groupby
from operator import itemgetter
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import InfraError
from pytest_nel.core.types import AttemptKey, SeedResult
from pytest_nel.engine.asked import Reads, fill_in
from pytest_nel.engine.identity import Identity
from pytest_nel.engine.past import allowed_otherwise, same_question
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.engine.session import Engine
from pytest_nel.engine.user_code import of_user
from pytest_nel.gate.comparable import timeout_of
from pytest_nel.records.index import JournalIndex, Known, short
from pytest_nel.records.places import Reader
from pytest_nel.records.record import Solved

FIRST = "0-dropped"
"""Whose journal counts before those of all others of its turn: they judge again what it drops."""
_WHAT_COUNTS = ("judging", "rows_hash", "prompts", "seeds")


def may_have_changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> bool:
    """Whether a judgement made under one plan may not count under the other.

    Args:
        old: The object of the plan.json that is there.
        new: The one that will be.
    """
    known = set(_WHAT_COUNTS) <= set(old["fingerprint"])
    return not known or bool(changed(old, new))


def changed(old: Mapping[str, Any], new: Mapping[str, Any]) -> list[str]:
    """Parts of the fingerprint by which judgements of one plan do not count under the other."""
    before, after = old["fingerprint"], new["fingerprint"]
    found = [name for name in _WHAT_COUNTS if before.get(name, after.get(name)) != after.get(name)]
    times = {timeout_of(old), timeout_of(new)} - {None}
    return [*found, "timeout"] if len(times) > 1 else found


class Stale:
    """Looks through a benchmark's journals.

    Args:
        plan: The benchmark as it is now.
        identity: Makes its keys.
        index: Its journals.
        asked: How to compare what was asked, where re-scoring knows no solver: whether it may
            have looked at more than the text. None where keys of answers can be made.
        changed: Whether anything is known to have changed; if not, a problem that a server does
            not give just now is no reason to drop what was said of it.
    """

    def __init__(
        self,
        plan: BenchmarkPlan,
        identity: Identity,
        index: JournalIndex,
        *,
        asked: Reads | None = None,
        changed: bool = True,
    ) -> None:
        self._plan = plan
        self._identity = identity
        self._index = index
        self._asked = asked
        self._changed = changed

    async def find(self) -> list[AttemptKey]:
        """The attempts whose judgement does not count."""
        return [key async for key in self._found()]

    async def _found(self) -> AsyncIterator[AttemptKey]:
        """Every problem is seeded once; what the plan leaves out now may come back later."""
        judged = sorted(key for key in self._index if self._is_judged(key))
        with self._index.reading() as read:
            for problem, keys in groupby(judged, key=itemgetter(0)):
                try:
                    seed = await self._seed(problem)
                except InfraError:
                    if not self._changed:
                        continue
                    seed = None
                for idx, repeat in keys:
                    key = AttemptKey(self._plan.id, idx, repeat)
                    known = self._index.known(idx, repeat)
                    if seed is None or known is None or not self._counts(key, known, seed, read):
                        yield key

    def _is_judged(self, key: tuple[int, int]) -> bool:
        """Not where nobody was asked: without a problem nothing counted, so nothing counts less."""
        known = self._index.known(*key)
        if known is None or known.judgement is None:
            return False
        asked = known.answer is not None and known.answer.key != 0
        return asked or known.outcome != "unscored"

    async def _seed(self, problem: int) -> SeedResult | None:
        """The problem as it is now; None where there is none any more.

        Raises:
            InfraError: A server did not give it.
        """
        if problem >= self._plan.facts["dataset_size"]:
            return None
        try:
            seed: object = await of_user(self._plan.environment.seed, problem)
        except InfraError:
            raise
        except Exception:  # noqa: BLE001 - a user's environment; the attempt will say why
            return None
        if not isinstance(seed, SeedResult):
            return None
        await self._identity.look(seed)
        return seed

    def _counts(self, key: AttemptKey, known: Known, seed: SeedResult, read: Reader) -> bool:
        if known.answer is None:
            return False
        fresh = Solved(key, "")
        fill_in(fresh, seed)
        fresh.judged_in = self._identity.judged_in(seed, fresh.judged_in)
        if self._asked is not None:
            stored = Solved.from_json(read(known.answer.place), key.benchmark)
            solve_key = stored.solve_key
            same = same_question(stored, fresh, reads_row=self._asked)
        else:
            solve_key = self._identity.solve_key(seed, key.repeat)
            same = known.answer.key == short(solve_key)
        by = (fresh.expected, fresh.metadata, fresh.judged_in)
        score_key = self._identity.score_key(solve_key, *by)
        return same and known.score_key == short(score_key) and self._in_its_time(key, known, read)

    def _in_its_time(self, key: AttemptKey, known: Known, read: Reader) -> bool:
        """Whether the attempt would not have gone otherwise with the time that there is now."""
        if known.answer is None or self._asked is not None or not self._identity.works_in_sandbox:
            return True
        stored = Solved.from_json(read(known.answer.place), key.benchmark)
        return not allowed_otherwise(stored, self._plan.config.timeout)


def drop_stale(
    engine: Engine, stale: Stale, plan: BenchmarkPlan, directory: Path, turn: int
) -> int:
    """Write into the journal which judgements do not count; returns how many (blocking).

    Args:
        engine: Whose loop is used.
        stale: What looks for them.
        plan: The benchmark.
        directory: Its folder.
        turn: The run's own: whoever writes in it, or later, judges again what is dropped.
    """
    engine.prepare(plan.environment)
    found = engine.loop.call(stale.find())
    if found:
        writing = replace(engine.writing, writer=FIRST, turn=turn)
        with contextlib.closing(writing.open(directory, plan.id)) as journal:
            for key in found:
                journal.dropped(key)
    return len(found)
