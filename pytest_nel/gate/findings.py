"""What a gate finds: one decision about one rule, and how several become one."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, Literal, TypeAlias

Status: TypeAlias = Literal["PASS", "BREACH", "INSUFFICIENT_EVIDENCE", "MISSING"]
_WORST_FIRST: tuple[Status, ...] = ("MISSING", "BREACH", "INSUFFICIENT_EVIDENCE", "PASS")
CLOSE = 1e-9
"""Differences below this are rounding: 1.0 - 0.95 is 0.05, whatever the last bit says."""


@dataclass(frozen=True, slots=True)
class Finding:
    """The decision about one rule of a policy.

    Attributes:
        rule: The policy's key, such as ``max_drop``, or ``per_category.history.max_drop``.
        status: Whether it holds.
        reason: One line with the numbers.
        numbers: The same for machines.
    """

    rule: str
    status: Status
    reason: str
    numbers: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For reports."""
        return {"rule": self.rule, "status": self.status, "reason": self.reason, **self.numbers}


def worst_status(statuses: Iterable[Status]) -> Status:
    """The one that stands when several apply; PASS for none."""
    given = set(statuses)
    return next((status for status in _WORST_FIRST if status in given), "PASS")


def both_ways(worst: Status, best: Status) -> Status:
    """The sound decision when something is missing: what holds even in the worst case, or fails
    even in the best."""  # noqa: D205, D209
    if worst == "PASS":
        return "PASS"
    return "BREACH" if best == "BREACH" else "INSUFFICIENT_EVIDENCE"


def within(low: float, high: float, most: float) -> Status:
    """Whether a quantity known to lie in [low, high] is at most ``most``."""
    if high <= most + CLOSE:
        return "PASS"
    return "BREACH" if low > most + CLOSE else "INSUFFICIENT_EVIDENCE"


def at_least(low: float, high: float, least: float) -> Status:
    """Whether a quantity known to lie in [low, high] is at least ``least``."""
    return within(-high, -low, -least)


def points(value: float) -> str:
    """``-1.23 pp``: a difference on the 0-1 scale in percentage points."""
    return f"{100 * value:+.2f} pp"


def counted(count: int, word: str) -> str:
    """``1 attempt``, ``2,000 attempts``."""
    return f"{count:,} {word}{'s' * (count != 1)}"
