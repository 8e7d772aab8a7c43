"""Ways to answer a problem, one file each."""

from pytest_nel.core.protocols import Solver
from pytest_nel.core.registry import Registry

REGISTRY: Registry[Solver] = Registry(
    "solvers",
    {
        "completion": "pytest_nel.solvers.completion:CompletionSolver",
        "simple": "pytest_nel.solvers.simple:SimpleSolver",
    },
)
