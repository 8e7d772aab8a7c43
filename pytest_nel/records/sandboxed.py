"""What the sandboxes of a benchmark took, summed up."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_nel.core.types import JsonObject

_PARTS = ("wait_ms", "start_ms", "exec_ms")


@dataclass(slots=True)
class SandboxTally:
    """Sums over records; nothing where no attempt used one.

    Attributes:
        attempts: Those whose solver or verifier used one.
        started: Sandboxes started.
        wait_ms: Milliseconds in which attempts waited for a slot, or for an image.
        start_ms: Milliseconds until sandboxes could be used.
        exec_ms: Milliseconds in which they did something for solver or verifier.
        spent_ms: Milliseconds that all attempts took, with or without one.
    """

    attempts: int = 0
    started: int = 0
    wait_ms: float = 0.0
    start_ms: float = 0.0
    exec_ms: float = 0.0
    spent_ms: float = 0.0

    def add(self, solved: Mapping[str, Any], scored: Mapping[str, Any]) -> None:
        """Count one record, given as its two journal objects."""
        self.spent_ms += float(solved.get("solve_ms", 0.0)) + float(scored.get("verify_ms", 0.0))
        used = [row["sandbox"] for row in (solved, scored) if row.get("sandbox")]
        self.attempts += bool(used)
        for each in used:
            self.started += int(each.get("started", 0))
            for name in _PARTS:
                setattr(self, name, getattr(self, name) + float(each.get(name, 0.0)))

    def as_json(self, elapsed: float) -> JsonObject | None:
        """The object of runtime_stats.json; None where no sandbox was wanted.

        Args:
            elapsed: Seconds in which at least one attempt was under way.
        """
        if not self.attempts:
            return None
        busy = self.start_ms + self.exec_ms
        return {
            "attempts": self.attempts,
            "started": self.started,
            "started_per_second": round(self.started / elapsed, 3) if elapsed else 0.0,
            "waiting_seconds": round(self.wait_ms / 1000, 3),
            "starting_seconds": round(self.start_ms / 1000, 3),
            "working_seconds": round(self.exec_ms / 1000, 3),
            "share_of_attempts": round(busy / self.spent_ms, 4) if self.spent_ms else 0.0,
        }
