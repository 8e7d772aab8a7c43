"""Ways to answer a problem, one file each."""

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import UnknownName
from pytest_nel.core.protocols import Solver
from pytest_nel.core.registry import Registry

REGISTRY: Registry[Solver] = Registry(
    "solvers",
    {
        "agent": "pytest_nel.solvers.agent:AgentSolver",
        "completion": "pytest_nel.solvers.completion:CompletionSolver",
        "harbor": "pytest_nel.solvers.harbor:HarborSolver",
        "oracle": "pytest_nel.solvers.oracle:OracleSolver",
        "simple": "pytest_nel.solvers.simple:SimpleSolver",
        "tool_calling": "pytest_nel.solvers.tool_calling:ToolCallingSolver",
    },
    refused={
        "container": (
            "is not supported: an image that evaluates by itself is measured by nobody here: run "
            "it, and give its bundles to `nel report`, `nel compare` and `nel gate`"
        ),
        "custom": (
            "names no class here: define a session fixture nel_solver in conftest.py, or register "
            "yours as an entry point of the group pytest_nel.solvers and use its name as the type"
        ),
        "gym_delegation": (
            "is not supported: use type simple, or tool_calling with the server's tools as "
            "`resource_service`, and name the server as the benchmark's `verifier`; or measure its "
            "own problems as benchmark gym://HOST:PORT"
        ),
        "nat": (
            "is not supported: ask the workflow in a session fixture nel_solver, which finds its "
            "URL in nel_services; or, where it speaks chat_completions, use type simple with a "
            "service of type command that runs `nat serve`, or of type api"
        ),
        "openclaw": (
            "is not supported: install and run it as an agent of your own, by type agent with a "
            "folder that has a run.sh.j2"
        ),
    },
)


def asks_model(spec: PluginSpec) -> bool:
    """Whether a solver needs a service; one that cannot be told is taken to."""
    try:
        return bool(getattr(REGISTRY.load(spec.type), "asks_model", True))
    except (UnknownName, ImportError):
        return True
