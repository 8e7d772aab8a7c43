"""What earlier processes of a run have written about a benchmark, and what of it still counts."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pytest_nel.core.types import AttemptKey, Outcome
from pytest_nel.records.index import NOTHING, Answer, JournalIndex, Place, Reader, short
from pytest_nel.records.record import Scored, Solved, StepRecord, dumps


class Mode(StrEnum):
    """What a run does with what is there.

    Attributes:
        RESUME: What still counts is kept, the rest is solved.
        RESCORE: Every stored answer is judged again; nothing is solved.
    """

    RESUME = "resume"
    RESCORE = "rescore"


@dataclass(frozen=True, slots=True)
class Kept:
    """An attempt whose answer is in a journal.

    Attributes:
        key: Which attempt.
        answer: Where the answer stands.
        judgement: Where its judgement stands; None when it is to be judged (again).
        fresh: The problem as it is now.
    """

    key: AttemptKey
    answer: Place
    judgement: Place | None
    fresh: Solved


class Past:
    """Looks up what is known of an attempt.

    Args:
        index: The benchmark's journals.
        mode: Resume or rescore.
        again: Outcomes whose attempts are solved again although they have a score.
    """

    def __init__(
        self,
        index: JournalIndex,
        *,
        mode: Mode = Mode.RESUME,
        again: Collection[Outcome] = (),
    ) -> None:
        self._index = index
        self._again = frozenset(again)
        self._read = Reader(index.paths)
        self.mode = mode
        self.counts: Counter[str] = Counter()

    def __contains__(self, key: AttemptKey) -> bool:
        return (key.problem_idx, key.repeat) in self._index

    def look(self, fresh: Solved, score_key: str) -> Kept | None:
        """What counts of an attempt, or None when it is to be solved.

        Args:
            fresh: The problem as it is now, with its ``solve_key``; told ``because`` of which
                outcome it is solved again.
            score_key: What a judgement must have been made by.
        """
        known = self._index.known(fresh.key.problem_idx, fresh.key.repeat) or NOTHING
        if known.again is not None and self._fits(known.again, fresh):
            return _to_judge(known.again, fresh)
        answer = known.answer
        if answer is None or not self._fits(answer, fresh):
            self.counts["changed"] += answer is not None and answer.whole
            return None
        if known.judgement is not None and known.outcome in self._again:
            fresh.because = known.outcome
            return None
        stands = known.outcome != "unscored" and known.score_key == short(score_key)
        if known.judgement is not None and stands and self.mode is Mode.RESUME:
            self.counts["kept"] += 1
            return Kept(fresh.key, answer.place, known.judgement, fresh)
        self.counts["judged again"] += known.judgement is not None and answer.whole
        return _to_judge(answer, fresh)

    def _fits(self, answer: Answer, fresh: Solved) -> bool:
        """Whether it is an answer to this; re-scoring compares the questions when it reads them."""
        return self.mode is Mode.RESCORE or answer.key == short(fresh.solve_key)

    def record(self, kept: Kept) -> StepRecord:
        """The finished attempt as it was written; reads the disk."""
        assert kept.judgement is not None
        solved = Solved.from_json(self._read(kept.answer), kept.key.benchmark)
        return StepRecord(solved, Scored.from_json(self._read(kept.judgement)))

    def answer(self, kept: Kept) -> tuple[Solved, bool]:
        """The stored answer to the problem as it is now, and whether that has changed.

        Changed can be what a solver does not see: the gold answer, the row's other fields.
        """
        stored = Solved.from_json(self._read(kept.answer), kept.key.benchmark)
        fresh = kept.fresh
        changed = stored.expected != fresh.expected or not _same(stored.metadata, fresh.metadata)
        stored.expected, stored.metadata = fresh.expected, fresh.metadata
        return stored, changed

    def close(self) -> None:
        """Close the files."""
        self._read.close()


def _to_judge(answer: Answer, fresh: Solved) -> Kept | None:
    return Kept(fresh.key, answer.place, None, fresh) if answer.whole else None


def same_question(stored: Solved, fresh: Solved) -> bool:
    """Whether a stored answer was given to the problem as it is now."""
    return _same(_question(stored), _question(fresh))


def _question(solved: Solved) -> Mapping[str, Any]:
    return {"prompt": solved.prompt, "messages": solved.messages or (), "system": solved.system}


def _same(one: object, other: object) -> bool:
    """Equal once written."""
    return dumps(one) == dumps(other)
