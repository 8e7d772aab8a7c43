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
    """Counts attempts without a score; after too many in a row, or one refusal, says stop."""

    def __init__(self, max_consecutive: int) -> None:
        self._max = max_consecutive
        self._row = 0
        self.reason: StopReason | None = None

    def give_up(self, text: str) -> None:
        """Say stop for a reason that is no attempt's; the first reason stands."""
        self.reason = self.reason or StopReason(text, fatal=False)

    def note(self, failure: str | None, error: str | None) -> None:
        """Count one finished attempt; ``failure`` is None when it has a score."""
        if failure is None:
            self._row = 0
            return
        self._row += 1
        if self.reason is not None:
            return
        if failure == FailureKind.AUTH:
            self.reason = StopReason(error or "the endpoint refused the request", fatal=True)
        elif self._row >= self._max:
            text = f"{self._row} attempts in a row have no score; the last: {error}"
            self.reason = StopReason(text, fatal=False)
