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
)


def asks_model(spec: PluginSpec) -> bool:
    """Whether a solver needs a service; one that cannot be told is taken to."""
    try:
        return bool(getattr(REGISTRY.load(spec.type), "asks_model", True))
    except (UnknownName, ImportError):
        return True
