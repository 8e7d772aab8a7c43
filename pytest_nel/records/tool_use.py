"""How often the attempts of a benchmark called tools, summed up."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_nel.core.types import JsonObject


@dataclass(slots=True)
class ToolTally:
    """Sums over records; nothing where no attempt had tools that its solver counts.

    Attributes:
        attempts: Those that had tools and got a reply of the model.
        without: Those of them that called none.
        turns: Replies.
        calls: Of tools.
        errors: Calls of which the model was told that they failed.
    """

    attempts: int = 0
    without: int = 0
    turns: int = 0
    calls: int = 0
    errors: int = 0

    def add(self, solved: Mapping[str, Any]) -> None:
        """Count the solver's journal object of one record."""
        told = solved.get("details") or {}
        turns, calls, errors = (told.get(name) for name in ("turns", "tool_calls", "tool_errors"))
        if type(turns) is int and type(calls) is int and type(errors) is int and turns:
            self.attempts += 1
            self.without += not calls
            self.turns += turns
            self.calls += calls
            self.errors += errors

    def as_json(self) -> JsonObject | None:
        """The object of runtime_stats.json; None where there were no tools."""
        if not self.attempts:
            return None
        return {
            "attempts": self.attempts,
            "attempts_without_calls": self.without,
            "turns": self.turns,
            "calls": self.calls,
            "failed_calls": self.errors,
        }
