"""What a session may spend: money, tokens, time. When it is spent, nothing more is begun.

What is in flight is finished, so a budget may be exceeded by that much. Several processes share
money and tokens in equal parts, since none of them knows what the others spend.
"""

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
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
        self._unknown: str | None = None
        self.left_out = False

    def spend(self, model: Mapping[str, Any] | None, prices: Mapping[str, Any] | None) -> None:
        """Count one answer.

        Args:
            model: What is known of the call: ``prompt_tokens`` and ``completion_tokens``.
            prices: Money per million tokens; None costs nothing.
        """
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

    @property
    def spent(self) -> str | None:
        """Why nothing more may be begun, or None."""
        limits = self._limits
        mine = f" by this process, one of {self._parts} that share it" if self._parts > 1 else ""
        seconds = 0.0 if self._began is None else self._clock() - self._began
        if limits.max_time is not None and seconds >= limits.max_time:
            return f"the budget of {self._name} is spent: max_time {limits.max_time:g} s"
        if limits.max_tokens is not None and self._tokens * self._parts >= limits.max_tokens:
            return (
                f"the budget of {self._name} is spent: max_tokens {limits.max_tokens:,}, used "
                f"{self._tokens:,}{mine}"
            )
        if limits.max_cost is not None and self._cost * self._parts >= limits.max_cost:
            return (
                f"the budget of {self._name} is spent: max_cost {limits.max_cost:g}, used "
                f"{self._cost:.4g}{mine}"
            )
        counts = limits.max_tokens is not None or limits.max_cost is not None
        if counts and self._unknown is not None:
            return f"the budget of {self._name} cannot be kept: {self._unknown}"
        return None


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

    def spend(self, solved: Solved) -> None:
        """Count an answer; one of the cache is free, and of one that failed nothing is known."""
        if not solved.cached and (solved.failure is None or solved.graceful):
            for budget in self.budgets:
                budget.spend(solved.model, self.prices)

    def spend_on_judges(self, spent: Sequence[Mapping[str, Mapping[str, Any]]]) -> None:
        """Count what judges were asked for just now, each given by service."""
        for each in spent:
            for service, sums in each.items():
                known = None if sums.get("without_usage") else sums
                for budget in self.budgets:
                    budget.spend(known, self.judge_prices.get(service))
