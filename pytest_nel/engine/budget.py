"""What a session may spend: money, tokens, time. When it is spent, nothing more is begun.

What is in flight is finished, so a budget may be exceeded by that much. Several processes share
money and tokens in equal parts, since none of them knows what the others spend.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from operator import ge, gt
from typing import Any

from pytest_nel.config.schema import BudgetConfig
from pytest_nel.core.errors import RunStopped
from pytest_nel.core.money import costs
from pytest_nel.records.record import Solved


class Budget:
    """One budget of this process, from now on.

    Args:
        name: What it is the budget of.
        limits: What may be spent.
        parts: How many processes share it.
        clock: Seconds that only grow.
    """

    def __init__(
        self,
        name: str,
        limits: BudgetConfig,
        *,
        parts: int = 1,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self._name = name
        self._limits = limits
        self._parts = parts
        self._clock = clock
        self._began: float | None = None
        self._tokens = 0
        self._cost = 0.0
        self._took = 0.0  # seconds from the first attempt to the last answer
        self._unknown: str | None = None
        self.left_out = False

    def spend(self, model: Mapping[str, Any] | None, prices: Mapping[str, Any] | None) -> None:
        """Count one answer.

        Args:
            model: What is known of the call: ``prompt_tokens`` and ``completion_tokens``.
            prices: Money per million tokens; None costs nothing.
        """
        self._took = self._seconds()
        known = model or {}
        prompt, completion = known.get("prompt_tokens"), known.get("completion_tokens")
        if prompt is None or completion is None:
            self._unknown = self._unknown or "an answer came without its tokens"
            return
        self._tokens += prompt + completion
        if prices is not None:
            self._cost += sum(costs(prompt, completion, prices))

    def check(self) -> None:
        """Ask before something is begun.

        Raises:
            RunStopped: It is spent, or nobody can know whether it is.
        """
        if self._began is None:
            self._began = self._clock()
        why = self.spent
        if why is not None:
            self.left_out = True
            raise RunStopped(why)

    def began(self, ago: float) -> None:
        """Count time from ``ago`` seconds before now, or from what is earlier."""
        then = self._clock() - ago
        self._began = then if self._began is None else min(self._began, then)

    @property
    def spent(self) -> str | None:
        """Why nothing more may be begun, or None."""
        reached = self._reached(self._seconds(), ge)
        if reached is not None:
            return f"the budget of {self._name} is spent: {reached}"
        return self._unkept("cannot be kept")

    @property
    def account(self) -> str | None:
        """What to say of it when all is over: why something was left out, or what went beyond."""
        if self.left_out:
            return self.spent
        beyond = self._reached(self._took, gt)
        if beyond is not None:
            return f"the budget of {self._name} was exceeded by what was under way: {beyond}"
        return self._unkept("could not be kept")

    def _reached(self, seconds: float, reaches: Callable[[float, float], bool]) -> str | None:
        """The first limit that is reached, and what was used of it."""
        limits, parts = self._limits, self._parts
        mine = f" by this process, one of {parts} that share it" if parts > 1 else ""
        if limits.max_time is not None and reaches(seconds, limits.max_time):
            return f"max_time {limits.max_time:g} s, used {seconds:.1f} s"
        if limits.max_tokens is not None and reaches(self._tokens * parts, limits.max_tokens):
            return f"max_tokens {limits.max_tokens:,}, used {self._tokens:,}{mine}"
        if limits.max_cost is not None and reaches(self._cost * parts, limits.max_cost):
            return f"max_cost {limits.max_cost:g}, used {self._cost:.4g}{mine}"
        return None

    def _unkept(self, what: str) -> str | None:
        """Whether what was used of a limit is unknown."""
        counts = self._limits.max_tokens is not None or self._limits.max_cost is not None
        if not counts or self._unknown is None:
            return None
        return f"the budget of {self._name} {what}: {self._unknown}"

    def _seconds(self) -> float:
        return 0.0 if self._began is None else self._clock() - self._began


@dataclass(frozen=True, slots=True)
class Purse:
    """What the attempts of one benchmark are paid from.

    Attributes:
        budgets: Its own and that of its suite.
        prices: Money per million ``prompt`` and ``completion`` tokens; None: it costs nothing.
        judge_prices: The same for each service that judges.
    """

    budgets: Sequence[Budget] = ()
    prices: Mapping[str, Any] | None = None
    judge_prices: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def check(self) -> None:
        """Ask before an attempt is begun.

        Raises:
            RunStopped: A budget is spent.
        """
        for budget in self.budgets:
            budget.check()

    def began(self, ago: float) -> None:
        """Count time from ``ago`` seconds before now: somebody else had begun."""
        for budget in self.budgets:
            budget.began(ago)

    def spend(self, solved: Solved) -> None:
        """Count all that was answered in an attempt, in tries that came to nothing too.

        An answer of the cache is free, and of requests that were never answered nothing is known.
        """
        paid: list[Mapping[str, Any] | None] = [*solved.lost]
        answered = solved.failure is None or solved.graceful or solved.model is not None
        if answered and not (solved.cached or solved.no_model):
            paid.append(solved.model)
        for model in paid:
            for budget in self.budgets:
                budget.spend(model, self.prices)

    def spend_on_judges(self, spent: Sequence[Mapping[str, Mapping[str, Any]]]) -> None:
        """Count what judges were asked for just now, each given by service."""
        for each in spent:
            for service, sums in each.items():
                known = None if sums.get("without_usage") else sums
                for budget in self.budgets:
                    budget.spend(known, self.judge_prices.get(service))
