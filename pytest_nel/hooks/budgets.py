"""What the benchmarks of a run may spend: budgets of suites and of benchmarks."""

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_nel.config.schema import BudgetConfig, Prices
from pytest_nel.core.errors import ConfigError
from pytest_nel.engine.budget import Budget, Purse
from pytest_nel.engine.judge_panel import judge_prices
from pytest_nel.engine.past import Mode
from pytest_nel.engine.validated import validated
from pytest_nel.hooks.state import BenchmarkRun, Run


class Budgets:
    """The budgets of one process, which begin with it.

    Args:
        run: The run.
        prices: Of each benchmark's model, by plan id: of those that are measured.

    Raises:
        ConfigError: Costs are limited where they are unknown or in several currencies.
    """

    def __init__(self, run: Run, prices: Mapping[str, Mapping[str, Any] | None]) -> None:
        self._run = run
        self._prices = prices
        self._of_suites: dict[str, Budget] = {}
        benches = [run.benchmarks[name] for name in prices]
        for suite, limits in run.budgets.items():
            mine = [bench for bench in benches if bench.suite == suite]
            if limits.max_cost is not None and mine:
                self._refuse_unpriced(f"the budget of {suite}", mine)
            if limits.limits:
                self._of_suites[suite] = self._made(suite, limits)

    def purse(self, bench: BenchmarkRun) -> Purse:
        """What a benchmark is paid from."""
        own = bench.plan.config.budget
        if own.max_cost is not None:
            self._refuse_unpriced(f"the budget of {bench.plan.id}", [bench])
        budgets = [self._made(bench.plan.id, own)] if own.limits else []
        if bench.suite in self._of_suites:
            budgets.append(self._of_suites[bench.suite])
        return Purse(budgets, self._prices[bench.plan.id], self._of_judges(bench))

    def _of_judges(self, bench: BenchmarkRun) -> Mapping[str, Mapping[str, Any]]:
        found: Mapping[str, Mapping[str, Any]] = judge_prices(bench.plan, self._run.services).get(
            "judge_prices", {}
        )
        return found

    def _made(self, name: str, limits: BudgetConfig) -> Budget:
        worker = self._run.worker
        return Budget(name, limits, parts=worker.shards if worker else 1)

    def _refuse_unpriced(self, whose: str, benches: Sequence[BenchmarkRun]) -> None:
        asking = [] if self._run.mode is Mode.RESCORE else benches  # judges alone are asked
        without = [bench.plan.id for bench in asking if not self._prices[bench.plan.id]]
        known = [self._prices[bench.plan.id] or {} for bench in asking]
        for bench in benches:
            priced = self._of_judges(bench)
            judges = dict.fromkeys(name for spec in bench.plan.judges for name in spec.services())
            without += [f"the judge {name}" for name in judges if name not in priced]
            known += priced.values()
        if without:
            msg = (
                f"{whose} limits the cost, but what {', '.join(without)} costs is not known: give "
                "its service `prices`, or limit max_tokens instead"
            )
            raise ConfigError(msg)
        found = {str(prices["currency"]) for prices in known}
        if len(found) > 1:
            msg = f"{whose} limits the cost, but prices are in {' and '.join(sorted(found))}"
            raise ConfigError(msg)


def refuse_unpriced(run: Run) -> None:
    """Refuse limits of costs that are unknown, before anything is asked, started or written.

    Raises:
        ConfigError: As :class:`Budgets`, by the prices of the configured services.
    """
    benches = [run.benchmarks[name] for name in run.names or run.benchmarks]
    budgets = Budgets(run, {bench.plan.id: _configured(run, bench) for bench in benches})
    for bench in benches:
        budgets.purse(bench)


def _configured(run: Run, bench: BenchmarkRun) -> Mapping[str, Any] | None:
    """Prices of the service that is configured; whoever else answers has none either."""
    service = run.services.get(bench.service or "")
    prices = None if service is None else service.options.get("prices")
    if prices is None:
        return None
    found: Prices = validated(Prices, prices, f"services.{bench.service}.prices")
    return found.model_dump()
