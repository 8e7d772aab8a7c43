"""What earlier processes of a run have written about a benchmark, and what of it still counts."""

from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pytest_nel.core.types import AttemptKey, Outcome
from pytest_nel.records.index import NOTHING, Answer, JournalIndex, short
from pytest_nel.records.places import Place, Reader
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
        said: Where an earlier judgement stands, of which parts may still count.
    """

    key: AttemptKey
    answer: Place
    judgement: Place | None
    fresh: Solved
    said: Place | None = None


class Past:
    """Looks up what is known of an attempt.

    Args:
        index: The benchmark's journals.
        mode: Resume or rescore.
        again: Outcomes whose attempts are solved again although they have a score.
        reads_row: Whether the solver of the stored answers may have looked at more than the text.
    """

    def __init__(
        self,
        index: JournalIndex,
        *,
        mode: Mode = Mode.RESUME,
        again: Collection[Outcome] = (),
        reads_row: bool = False,
    ) -> None:
        self._index = index
        self.reads_row = reads_row
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
        later = known.again
        if later is not None and later.whole and self._fits(later, fresh):
            return self._to_judge(later, fresh, known.said)
        answer = known.answer
        if answer is None or not self._fits(answer, fresh):
            self.counts["changed"] += answer is not None and answer.whole
            return None
        fresh.because = answer.because  # once made again for its outcome, it stays so
        if known.judgement is not None and known.outcome in self._again:
            fresh.because = known.outcome
            return None
        stands = known.outcome != "unscored" and known.score_key == short(score_key)
        if known.judgement is not None and stands and self.mode is Mode.RESUME:
            self.counts["kept"] += 1
            return Kept(fresh.key, answer.place, known.judgement, fresh)
        return self._to_judge(answer, fresh, known.said)

    def _to_judge(self, answer: Answer, fresh: Solved, said: Place | None) -> Kept | None:
        self.counts["judged"] += answer.whole
        return Kept(fresh.key, answer.place, None, fresh, said) if answer.whole else None

    def _fits(self, answer: Answer, fresh: Solved) -> bool:
        """Whether it is an answer to this; re-scoring compares the questions when it reads them."""
        return self.mode is Mode.RESCORE or answer.key == short(fresh.solve_key)

    def record(self, kept: Kept) -> StepRecord:
        """The finished attempt as it was written; reads the disk."""
        assert kept.judgement is not None
        solved = Solved.from_json(self._read(kept.answer), kept.key.benchmark)
        return StepRecord(solved, Scored.from_json(self._read(kept.judgement)))

    def earlier(self, kept: Kept) -> Scored | None:
        """The judgement that counts no more as a whole; None when all is judged again.

        Reads the disk.
        """
        if kept.said is None or self.mode is Mode.RESCORE:
            return None
        return Scored.from_json(self._read(kept.said))

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


def same_question(stored: Solved, fresh: Solved, *, reads_row: bool) -> bool:
    """Whether a stored answer was given to the problem as it is now.

    Args:
        stored: The answer.
        fresh: The problem.
        reads_row: Whether the solver may have looked at the problem's metadata.
    """
    if reads_row and not _same(stored.metadata, fresh.metadata):
        return False
    return _same(_question(stored), _question(fresh))


def _question(solved: Solved) -> Mapping[str, Any]:
    return {
        "prompt": solved.prompt,
        "messages": solved.messages or (),
        "system": solved.system,
        "images": solved.images,
    }


def _same(one: object, other: object) -> bool:
    """Equal once written."""
    return dumps(one) == dumps(other)
