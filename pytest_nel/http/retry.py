"""When to ask again, and after how long: small objects that combine."""

import email.utils
import math
import random
import re
from dataclasses import dataclass, field, replace
from datetime import UTC
from typing import Protocol

from pytest_nel.core.errors import FailureKind

# Asking the same again meets the same limit, whatever status the server chose for it.
FINAL = frozenset({FailureKind.CONTEXT_WINDOW, FailureKind.BUDGET, FailureKind.TURN_BUDGET})
_DECIMAL = re.compile(r"[0-9]{1,15}(?:\.[0-9]{1,15})?")


@dataclass(frozen=True, slots=True)
class Fault:
    """Why one request brought no usable reply.

    Attributes:
        kind: The failure category.
        reason: What happened, in a few words: ``HTTP 429``, ``ReadTimeout``.
        detail: The server's message, the head of its body or the exception's text; one line.
        status: The HTTP status, or the one in an error body.
        retry_after: Seconds the server asks to wait.
        retryable: Whether asking again may help.
    """

    kind: FailureKind
    reason: str
    detail: str = ""
    status: int | None = None
    retry_after: float | None = None
    retryable: bool = True

    def __str__(self) -> str:
        return f"{self.reason}: {self.detail}" if self.detail else self.reason


class Wait(Protocol):
    """How long to wait after so many failures."""

    def seconds(self, failures: int) -> float:
        """Seconds to wait after the ``failures``-th failure in a row (from 1)."""
        ...


@dataclass(frozen=True, slots=True)
class Exponential:
    """``first``, then ``factor`` times more after each failure, at most ``cap`` seconds."""

    first: float = 1.0
    factor: float = 2.0
    cap: float = 60.0

    def seconds(self, failures: int) -> float:
        """See :class:`Wait`."""
        steps = min(failures - 1, 64)  # beyond that every cap is reached, and floats overflow
        return min(self.cap, self.first * self.factor**steps)


def _random() -> random.Random:
    return random.Random()  # noqa: S311  # spreads waits, guards nothing


@dataclass(frozen=True, slots=True)
class Jittered:
    """Another wait, times a random factor: callers that failed together return apart."""

    wait: Wait
    low: float = 0.5
    high: float = 1.5
    rng: random.Random = field(default_factory=_random)

    def seconds(self, failures: int) -> float:
        """See :class:`Wait`."""
        return self.wait.seconds(failures) * self.rng.uniform(self.low, self.high)


@dataclass(frozen=True, slots=True)
class Retry:
    """The whole policy.

    Attributes:
        attempts: Requests at most, the first included.
        wait: The wait when the server names none.
        longest_told: Seconds that a server may ask to wait; beyond it the attempt fails.
        statuses: The HTTP statuses after which to ask again; None leaves it to the fault.
    """

    attempts: int = 6
    wait: Wait = field(default_factory=lambda: Jittered(Exponential()))
    longest_told: float = 120.0
    statuses: frozenset[int] | None = None

    def judged(self, fault: Fault) -> Fault:
        """The fault with this policy's say about its status; a limit of the model stays final."""
        if self.statuses is None or fault.status is None:
            return fault
        again = fault.status in self.statuses and fault.kind not in FINAL
        return replace(fault, retryable=again)

    def pause(self, fault: Fault, made: int) -> float | None:
        """Seconds to wait before the next request, or None to give up.

        Never less than the server told.

        Args:
            fault: What the last request met.
            made: Requests made so far.
        """
        if not fault.retryable or made >= self.attempts or self.told_too_long(fault):
            return None
        return max(self.wait.seconds(made), fault.retry_after or 0.0)

    def told_too_long(self, fault: Fault) -> bool:
        """Whether the server asks for more patience than allowed."""
        return fault.retry_after is not None and fault.retry_after > self.longest_told


def parse_retry_after(value: str | None, now: float) -> float | None:
    """Read a ``Retry-After`` header (RFC 9110 10.2.3): seconds or an HTTP date.

    Args:
        value: The header's value.
        now: Unix time.

    Returns:
        Whole seconds, rounded up; 0 for a date in the past; None when unreadable.
    """
    if value is None:
        return None
    text = value.strip()
    if _DECIMAL.fullmatch(text):
        return float(math.ceil(float(text)))
    try:
        when = email.utils.parsedate_to_datetime(text)
    except (TypeError, ValueError, OverflowError, IndexError):
        return None
    try:
        # "-0000" gives a naive datetime; HTTP dates are UTC.
        moment = (when if when.tzinfo else when.replace(tzinfo=UTC)).timestamp()
    except (ValueError, OverflowError):
        return None
    return float(max(0, math.ceil(moment - now)))
