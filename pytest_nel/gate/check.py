"""A check: one decision about a benchmark, and the exit code that it asks for."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from pytest_nel.gate.verdict import Exit

_OWN = ("id", "status", "reason", "exit_code")


@dataclass(frozen=True, slots=True)
class Check:
    """One decision about a benchmark.

    Attributes:
        id: ``<suite>::<benchmark>::health``, ``<policy>::<benchmark>``, …
        status: Whether it holds; ``open`` when that could not be decided.
        reason: One line.
        code: The exit code this check asks for.
        facts: What machines may want to know beside, by names of their own.
    """

    id: str
    status: Literal["passed", "failed", "open"]
    reason: str
    code: Exit
    facts: Mapping[str, Any] = field(default_factory=dict)

    def as_json(self) -> dict[str, Any]:
        """For checks.json."""
        return {
            "id": self.id,
            "status": self.status,
            "reason": self.reason,
            "exit_code": int(self.code),
            **{name: value for name, value in self.facts.items() if name not in _OWN},
        }
