"""What earlier processes of a run have written about a benchmark, and what of it still counts."""

import asyncio
from collections import Counter
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from enum import StrEnum
from typing import Any

from pytest_nel.core.errors import NoAnswer
from pytest_nel.core.keys import item_name
from pytest_nel.core.types import CUT, AttemptKey, Outcome
from pytest_nel.engine.asked import Reads, read_of
from pytest_nel.records.index import NOTHING, Answer, JournalIndex, short
from pytest_nel.records.places import Place, Reader
from pytest_nel.records.record import RESPONSE_LIMIT, Scored, Solved, StepRecord, dumps
from pytest_nel.records.workspaces import FOLDER, LOST, PARTIAL, file_of

_NAMED = 5  # of each reason, for a message


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

    What becomes of it is counted when it is done: a run may end before it comes to what it has
    looked up.

    Args:
        index: The benchmark's journals.
        mode: Resume or rescore.
        again: Outcomes whose attempts are solved again although they have a score.
        reads_row: What the solver of the stored answers may have looked at beside the text.
    """

    def __init__(
        self,
        index: JournalIndex,
        *,
        mode: Mode = Mode.RESUME,
        again: Collection[Outcome] = (),
        reads_row: Reads = False,
    ) -> None:
        self._index = index
        self.reads_row = reads_row
        self._again = frozenset(again)
        self._read = Reader(index.paths)
        self.mode = mode
        self.counts: Counter[str] = Counter()
        self._replaced: set[AttemptKey] = set()  # by another problem, and not solved again yet
        self._partial: set[AttemptKey] = set()  # as above, since not all was written

    def __contains__(self, key: AttemptKey) -> bool:
        return (key.problem_idx, key.repeat) in self._index

    async def look(self, fresh: Solved, score_key: str) -> Kept | None:
        """What counts of an attempt, or None when it is to be solved.

        Args:
            fresh: The problem as it is now, with its ``solve_key``; told ``because`` of which
                outcome it is solved again.
            score_key: What a judgement must have been made by.

        Raises:
            NoAnswer: Re-scoring, and not all of the answer was written.
        """
        kept = self._look(fresh, score_key)
        known = self._index.known(fresh.key.problem_idx, fresh.key.repeat) or NOTHING
        answer, judged = known.answer, known.judgement is not None
        wanted = judged and known.outcome in self._again  # another answer, whatever is written
        if kept is not None or wanted or answer is None or not self._fits(answer, fresh):
            return kept
        missing = _missing(await asyncio.to_thread(self._read, answer.place))
        if missing is not None and self.mode is Mode.RESCORE:
            self._name(PARTIAL, fresh.key)
            msg = f"{missing}, so its answer cannot be judged again"
            raise NoAnswer(msg)
        if missing is not None:
            self._partial.add(fresh.key)
        return None

    def _look(self, fresh: Solved, score_key: str) -> Kept | None:
        known = self._index.known(fresh.key.problem_idx, fresh.key.repeat) or NOTHING
        later = known.again
        if later is not None and later.whole and self._fits(later, fresh):
            return self._to_judge(later, fresh, known.said)
        answer = known.answer
        if answer is None or not self._fits(answer, fresh):
            if answer is not None and answer.whole:
                self._replaced.add(fresh.key)
            return None
        fresh.because = answer.because  # once made again for its outcome, it stays so
        if known.judgement is not None and known.outcome in self._again:
            fresh.because = known.outcome
            return None
        stands = known.outcome != "unscored" and known.score_key == short(score_key)
        if known.judgement is not None and stands and self.mode is Mode.RESUME:
            return Kept(fresh.key, answer.place, known.judgement, fresh)
        return self._to_judge(answer, fresh, known.said)

    def _to_judge(self, answer: Answer, fresh: Solved, said: Place | None) -> Kept | None:
        return Kept(fresh.key, answer.place, None, fresh, said) if answer.whole else None

    def _fits(self, answer: Answer, fresh: Solved) -> bool:
        """Whether it is an answer to this; re-scoring compares the questions when it reads them."""
        return self.mode is Mode.RESCORE or answer.key == short(fresh.solve_key)

    def record(self, kept: Kept) -> StepRecord:
        """The finished attempt as it was written, which counts as kept; reads the disk."""
        assert kept.judgement is not None
        solved = Solved.from_json(self._read(kept.answer), kept.key.benchmark)
        solved.judged_in = kept.fresh.judged_in
        record = StepRecord(solved, Scored.from_json(self._read(kept.judgement)))
        self.counts["kept"] += 1
        return record

    def without_workspace(self, key: AttemptKey) -> NoAnswer:
        """The error of an answer that cannot be judged again, which counts as lost, by its name."""
        self._name(LOST, key)
        file = f"{FOLDER}/{file_of(key.problem_idx, key.repeat)}"
        return NoAnswer(
            f"its workspace, {file} of the run's directory, is gone or changed, so its answer "
            "cannot be judged again: restore the file, or have it answered again by --nel-resume"
        )

    def _name(self, reason: str, key: AttemptKey) -> None:
        if self.counts[reason] < _NAMED:
            name = item_name(key.benchmark, key.problem_idx, key.repeat)
            self.counts[f"{reason} {name}"] += 1
        self.counts[reason] += 1

    def judged(self) -> None:
        """Count an answer that has been judged (again)."""
        self.counts["judged"] += 1

    def solved(self, key: AttemptKey) -> None:
        """Count an attempt that has been made, where another was there that counts no more."""
        if key in self._partial:
            self._partial.discard(key)
            self.counts["again"] += 1
        if key in self._replaced:
            self._replaced.discard(key)
            self.counts["changed"] += 1

    def stored(self, kept: Kept) -> Solved:
        """The answer as it was written; reads the disk."""
        return Solved.from_json(self._read(kept.answer), kept.key.benchmark)

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
        stored.judged_in = fresh.judged_in
        return stored, changed

    def close(self) -> None:
        """Close the files."""
        self._read.close()


def same_question(stored: Solved, fresh: Solved, *, reads_row: Reads) -> bool:
    """Whether a stored answer was given to the problem as it is now.

    Args:
        stored: The answer.
        fresh: The problem.
        reads_row: What the solver may have looked at of the problem's metadata.
    """
    if not _same(read_of(stored.metadata, reads_row), read_of(fresh.metadata, reads_row)):
        return False
    return _same(_question(stored), _question(fresh))


def allowed_otherwise(stored: Solved, limit: float) -> bool:
    """Whether an answer was made in another time, and would be another one in so many seconds.

    One that was cut off when its time was up goes on with more; one that took longer would have
    been cut off. Waiting for a sandbox is on nobody's time.
    """
    if stored.limit is None or stored.limit == limit:
        return False
    if limit > stored.limit:
        return bool(stored.details.get(CUT))
    waited = float(stored.sandbox.get("wait_ms") or 0.0)
    return stored.solve_ms - waited > limit * 1000


def _missing(row: Mapping[str, Any]) -> str | None:
    """Why a stored answer is not what was judged; None: there is none, or all of it."""
    if row.get("error_kind") and not row.get("graceful"):
        return None
    if (row.get("workspace") or {}).get("live"):
        return "what it has left was judged in its own sandbox, which is gone"
    if row.get("altered"):
        return "secrets that stood in what was judged were taken out of what is written"
    if row.get("response_chars"):
        return f"only its first {RESPONSE_LIMIT:,} characters are written"
    return None


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
