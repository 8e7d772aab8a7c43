"""What the mock endpoint counts, and when: the figures that the speed cases are judged by."""

import heapq
import time
from array import array
from collections import Counter, deque
from typing import Any


class Tally:
    """Counts of one endpoint since its start or its last reset.

    Times are seconds of the monotonic clock, which on Linux is one clock for all processes. In
    flight means: the request has arrived whole and its last byte has not been handed to the
    kernel, or its client has not left.
    """

    def __init__(self, in_flight: int = 0) -> None:
        self.in_flight = in_flight
        self.requests = 0
        self.max_in_flight = in_flight
        self.statuses: Counter[str] = Counter()
        self.seen: dict[bytes, list[int]] = {}
        self.bodies: deque[bytes] = deque(maxlen=50)
        self.latencies = array("d")
        self.late = 0.0
        self.late_of = 0
        self.first = 0.0
        self.last = 0.0
        self._area = 0.0
        self._changed = 0.0

    def sighting(self, digest: bytes) -> int:
        """How often that body was seen before."""
        counts = self.seen.setdefault(digest, [0, 0])
        counts[0] += 1
        return counts[0] - 1

    def enter(self, now: float, body: bytes, delay: float) -> None:
        """A request has arrived whole; it will take ``delay`` seconds."""
        if not self.requests:
            self.first = self._changed = now
        self._area += self.in_flight * (now - self._changed)
        self._changed = now
        self.requests += 1
        self.in_flight += 1
        self.max_in_flight = max(self.max_in_flight, self.in_flight)
        self.bodies.append(body)
        self.latencies.append(delay)

    def leave(self, now: float, how: str, digest: bytes, due: float | None) -> None:
        """A request ended: ``how`` is its status, ``reset`` or ``abandoned``.

        ``due`` is when it should have: the difference is the endpoint's own lateness.
        """
        self._area += self.in_flight * (now - self._changed)
        self._changed = self.last = now
        self.in_flight -= 1
        self.statuses[how] += 1
        if due is not None:
            self.late += now - due
            self.late_of += 1
        if how == "200" and digest in self.seen:
            self.seen[digest][1] += 1

    def figures(self, slots: int = 0) -> dict[str, Any]:
        """Everything counted, as JSON; with ``slots`` also the best span that many could reach."""
        span = max(self.last - self.first, 0.0)
        oks = [ok for _, ok in self.seen.values()]
        figures: dict[str, Any] = {
            "requests": self.requests,
            "ok": self.statuses["200"],
            "in_flight": self.in_flight,
            "max_in_flight": self.max_in_flight,
            "mean_in_flight": self._area / span if span else 0.0,
            "distinct": len(self.seen),
            "paid_twice": sum(ok > 1 for ok in oks),
            "statuses": dict(self.statuses),
            "first": self.first,
            "last": self.last,
            "span": span,
            "latency_sum": sum(self.latencies),
            "mean_lateness": self.late / self.late_of if self.late_of else 0.0,
            "cpu": time.process_time(),
        }
        if slots:
            figures["possible_span"] = possible_span(self.latencies, slots)
        return figures


def possible_span(latencies: "array[float] | list[float]", slots: int) -> float:
    """Seconds that ``slots`` tireless workers need for these latencies, taken in this order."""
    free = [0.0] * slots
    for latency in latencies:
        heapq.heapreplace(free, free[0] + latency)
    return max(free)
