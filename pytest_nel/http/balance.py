"""Servers that answer alike: each request goes to the least busy one that is there."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import httpx

from pytest_nel.core.errors import FailureKind
from pytest_nel.http.retry import Fault

_GONE = frozenset({502, 503})
_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 10.0
"""Seconds that one which failed is left alone, doubling with each failure in a row."""


@dataclass(slots=True)
class Target:
    """One of the servers, as its client sees it.

    Attributes:
        url: Where requests go.
        headers: What they carry.
        in_flight: Requests under way there.
        failures: In a row, of those that say that it is gone.
        out_until: When to try it again, in seconds of the clock.
    """

    url: httpx.URL
    headers: list[tuple[bytes, bytes]] = field(default_factory=list)
    in_flight: int = 0
    failures: int = 0
    out_until: float = 0.0


class Targets:
    """Chooses among servers; belongs to one event loop.

    One that is gone is left out for a while that grows, and is then tried with one request at a
    time until it answers: so nobody must tell when it is ready again, and every process that asks
    the same servers finds out for itself.

    Args:
        urls: One or more, with any credentials taken out of messages by the caller.
        clock: Monotonic seconds.
    """

    def __init__(
        self, urls: Sequence[httpx.URL], *, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.all = [Target(url) for url in urls]
        self._clock = clock
        self._first = 0

    def take(self) -> Target:
        """The one to ask now; it counts as busier until :meth:`give_back`."""
        chosen = self.all[0]
        if len(self.all) > 1:
            self._first = (self._first + 1) % len(self.all)  # ties go round
            turn = [*self.all[self._first :], *self.all[: self._first]]
            now = self._clock()
            up = [target for target in turn if _may_be_asked(target, now)]
            if up:
                chosen = min(up, key=lambda target: target.in_flight)
            else:  # the one that is due first
                chosen = min(turn, key=lambda target: (target.out_until, target.in_flight))
        chosen.in_flight += 1
        return chosen

    def give_back(self, target: Target, fault: Fault | None) -> bool:
        """Say what became of a request.

        Args:
            target: What :meth:`take` has returned.
            fault: Why it brought nothing; None for a reply.

        Returns:
            Whether the server is gone while another is there: then that one is to be asked now.
        """
        target.in_flight -= 1
        if fault is None or not _gone(fault):
            target.failures, target.out_until = 0, 0.0
            return False
        if len(self.all) == 1:
            return False
        now = self._clock()
        pause = min(_FIRST_PAUSE * 2.0 ** min(target.failures, 16), _LONGEST_PAUSE)
        target.failures += 1
        target.out_until = now + pause
        return any(_may_be_asked(other, now) for other in self.all)


def _may_be_asked(target: Target, now: float) -> bool:
    if not target.failures:
        return True
    return now >= target.out_until and target.in_flight == 0


def _gone(fault: Fault) -> bool:
    """Whether a fault says that nobody serves there; a time-out says that it is slow."""
    refused = fault.status is None and fault.kind is FailureKind.SERVER_ERROR and fault.retryable
    return refused or fault.status in _GONE
