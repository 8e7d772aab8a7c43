"""What the fixture ``nel_solver`` returns when nobody overrides it."""

from pytest_nel.core.errors import InfraError
from pytest_nel.core.protocols import Solver
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import SeedResult, SolveResult
from pytest_nel.engine.answered import of_solver
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.engine.runtime import Parts
from pytest_nel.hooks.models import NO_MODEL


class ConfiguredSolvers:
    """The default ``nel_solver``: gives each attempt to the solver its benchmark configures."""

    def __init__(self) -> None:
        self._solvers: dict[str, Solver] = {}

    def prepare(self, plan: BenchmarkPlan, endpoint_type: str, parts: Parts) -> None:
        """Build a benchmark's solver, so that what is wrong with it is said before any call."""
        solver = parts.solver(plan.config, endpoint_type)
        refuses = getattr(solver, "refuse_environment", None)
        if refuses is not None:
            refuses(plan.environment)
        self._solvers[plan.id] = solver

    def knows(self, plan: BenchmarkPlan) -> bool:
        """Whether the benchmark has a configured solver."""
        return plan.id in self._solvers

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        """Ask the solver of the attempt's benchmark."""
        assert seed.attempt is not None
        solver = self._solvers.get(seed.attempt.benchmark)
        if solver is None:
            raise InfraError(NO_MODEL, retryable=False)
        return of_solver(solver, await solver.solve(seed, sandbox))
