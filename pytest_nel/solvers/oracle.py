"""Replays the gold solution of a task: what it does not solve, no agent can be blamed for."""

from typing import Annotated

from pydantic import Field

from pytest_nel.config.schema import Model
from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.core.exchange import seconds_left
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import JsonObject, SeedResult, SolveResult
from pytest_nel.datasets.harbor_task import task_of
from pytest_nel.solvers._atif import two_steps
from pytest_nel.solvers._times import Strategy, agent_seconds
from pytest_nel.solvers.around import Around

_KEPT = 16_384  # characters of what it says
_SHOWN = 5


class OracleSolver:
    """Uploads a task's ``solution/`` and runs its ``solve.sh``; it asks no model."""

    class Config(Model):
        """Options of ``solver: {type: oracle}``.

        Attributes:
            run_timeout: Seconds for the solution; null: what there is.
            timeout_strategy: ``override``, ``task`` (the task's own time where it has one) or
                ``max`` (the greater).
            max_agent_timeout: The most, in any case.
        """

        run_timeout: Annotated[float, Field(gt=0)] | None = None
        timeout_strategy: Strategy = "override"
        max_agent_timeout: Annotated[float, Field(gt=0)] | None = None

    version = 1
    """Raised when it works otherwise than before: stored answers are then not its own."""
    reads_row = True
    uses_sandbox = True
    asks_model = False

    def __init__(self, around: Around, config: Config) -> None:
        self._around = around
        self._config = config

    def refuse_environment(self, environment: EvalEnvironment) -> None:
        """Refuse benchmarks that have no solutions to replay.

        Raises:
            ConfigError: This is one.
        """
        says = getattr(environment, "lacks_solution", None)
        if says is None:
            msg = (
                f"solver oracle: {environment.name} brings no solutions: it replays those of "
                "Harbor tasks (harbor://…)"
            )
            raise ConfigError(msg)
        lacks: list[str] = says()
        if lacks:
            more = f" and {len(lacks) - _SHOWN} more" if len(lacks) > _SHOWN else ""
            msg = (
                f"solver oracle: {environment.name}: there is no solution/solve.sh that a shell "
                f"can run in {', '.join(lacks[:_SHOWN])}{more}: leave them out (params: task_names)"
            )
            raise ConfigError(msg)

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        """Run the solution.

        Raises:
            InfraError: The problem is no task that has one.
            SandboxError: The sandbox failed.
        """
        task = task_of(str(seed.metadata.get("task_digest")))
        if task is None or task.solution is None:
            msg = "solver oracle: this problem has no solution to replay"
            raise InfraError(msg, retryable=False)
        await sandbox.upload(task.solution, "/solution")
        config = self._config
        limit = agent_seconds(
            config.timeout_strategy,
            config.run_timeout,
            task.settings.agent_timeout,
            config.max_agent_timeout,
            self._around.timeout,
            seconds_left(),
        )
        env = dict(task.settings.solution_env)
        ran = await sandbox.exec(["/bin/bash", "/solution/solve.sh"], limit, env=env)
        said = "\n".join(filter(None, [ran.stdout.strip(), ran.stderr.strip()]))[-_KEPT:]
        details: JsonObject = {"solution_exit_code": ran.return_code}
        if ran.timed_out:
            details |= {"timed_out": True, "error_category": "solve_timeout"}
        return SolveResult(
            response=said or f"solve.sh ended with {ran.return_code}",
            trajectory=two_steps("oracle", seed.prompt, said),
            scoring_details=details,
        )
