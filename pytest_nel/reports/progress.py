"""The live line: what has been measured so far and what is going on."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field

from pytest_nel.stats.intervals import wilson


@dataclass(slots=True)
class Flow:
    """What the engine is doing now.

    Attributes:
        in_flight: Requests sent and not answered; None where that is not known (workers send).
        retrying: Requests waiting to be sent again.
        reason: Why the last one was.
        ahead: Attempts answered and not yet reported.
        tokens: Tokens so far.
    """

    in_flight: int | None = 0
    retrying: int = 0
    reason: str | None = None
    ahead: int = 0
    tokens: int = 0


@dataclass(slots=True)
class Progress:
    """Counts of one benchmark, fed by reports."""

    name: str
    total: int
    began: float
    repeats: int = 1
    done: int = 0
    reward: float = 0.0
    scored: int = 0
    tokens: int = 0
    fractional: bool = False
    outcomes: Counter[str] = field(default_factory=Counter)

    def add(self, outcome: str, reward: float | None, tokens: int | None) -> None:
        """Count one report."""
        self.done += 1
        self.outcomes[outcome] += 1
        self.tokens += tokens or 0
        if reward is not None:
            self.scored += 1
            self.reward += reward
            self.fractional = self.fractional or reward not in (0.0, 1.0)

    def score(self) -> str:
        """``0.612 ±0.031``: half the width of the interval.

        Repeats of a problem are counted as one observation, so it is never too narrow.
        """
        if not self.scored:
            return "–"
        mean = self.reward / self.scored
        if self.fractional:
            return f"{mean:.3f}"
        n = max(1, round(self.scored / self.repeats))
        interval = wilson(round(mean * n), n)
        assert interval is not None  # n is at least 1
        return f"{mean:.3f} ±{(interval.high - interval.low) / 2:.3f}"


def progress_line(parts: Sequence[Progress], flow: Flow, now: float) -> str:
    """One line for all: the benchmark under way, the flow, the time left."""
    if not parts:
        return ""
    current = next((part for part in parts if part.done < part.total), parts[-1])
    done = sum(part.done for part in parts)
    total = sum(part.total for part in parts)
    seconds = max(now - parts[0].began, 1e-6)
    texts = [f"{current.name} {current.done:,}/{current.total:,}", f"score {current.score()}"]
    missing = current.outcomes["unscored"]
    if missing:
        texts.append(f"unscored {missing:,}")
    if len(parts) > 1:
        texts.append(f"all {done:,}/{total:,}")
    if flow.in_flight is not None:
        texts.append(f"in flight {flow.in_flight:,}")
    if flow.ahead:
        texts.append(f"ahead {flow.ahead:,}")
    if flow.retrying:
        texts.append(f"retrying {flow.retrying:,} ({flow.reason or 'no reason given'})")
    tokens = flow.tokens or sum(part.tokens for part in parts)
    texts.append(f"{tokens / seconds:,.0f} tok/s")
    solved = done + flow.ahead
    left = _span((total - solved) * seconds / solved) if solved else "–"
    return " · ".join([*texts, f"ETA {left}"])


def _span(seconds: float) -> str:
    whole = max(0, round(seconds))
    hours, rest = divmod(whole, 3600)
    minutes, left = divmod(rest, 60)
    if hours:
        return f"{hours}:{minutes:02d}:{left:02d}"
    return f"{minutes}:{left:02d}"
