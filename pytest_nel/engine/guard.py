"""Says when to stop asking an endpoint that no longer answers."""

from dataclasses import dataclass

from pytest_nel.core.errors import FailureKind


@dataclass(frozen=True, slots=True)
class StopReason:
    """Why a run ends early.

    Attributes:
        text: One line for the terminal.
        fatal: The run is described wrongly (key, URL, model name); otherwise it can be resumed.
    """

    text: str
    fatal: bool


class Guard:
    """After too many attempts in a row without a score, or one refusal, says stop.

    Answers and judgements are counted apart: solving ends on the loop, far ahead of a plain
    scorer in the asker's thread, so failures of one would else seem to follow each other when
    successes of the other merely come later. Each count has one thread that writes it.
    """

    def __init__(self, max_consecutive: int) -> None:
        self._max = max_consecutive
        self._unsolved = 0
        self._unjudged = 0
        self.reason: StopReason | None = None

    def give_up(self, text: str) -> None:
        """Say stop for a reason that is no attempt's; the first reason stands."""
        self.stop(StopReason(text, fatal=False))

    def stop(self, reason: StopReason) -> None:
        """:meth:`give_up`, where the run may be described wrongly."""
        self.reason = self.reason or reason

    def solved(self, failure: str | None, error: str | None) -> None:
        """Count the end of solving one attempt; ``failure`` is None when there is an answer."""
        self._unsolved = 0 if failure is None else self._unsolved + 1
        if failure is not None:
            self._consider(self._unsolved, failure, error)

    def judged(self, failure: str | None, error: str | None) -> None:
        """Count the judgement of one answer; ``failure`` is None when it has a score."""
        self._unjudged = 0 if failure is None else self._unjudged + 1
        if failure is not None:
            self._consider(self._unjudged, failure, error)

    def _consider(self, row: int, failure: str, error: str | None) -> None:
        if self.reason is not None:
            return
        if failure == FailureKind.AUTH:
            self.reason = StopReason(error or "the endpoint refused the request", fatal=True)
        elif row >= self._max:
            text = f"{row} attempts in a row have no score; the last: {error}"
            self.reason = StopReason(text, fatal=False)
