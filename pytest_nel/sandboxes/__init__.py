"""Where untrusted code runs, one file a kind of sandbox; ``none`` has no class."""

from pytest_nel.core.registry import Registry
from pytest_nel.core.sandbox import SandboxBackend

_LATER = "is not there yet: use docker where a daemon runs, or local for code that you trust"

REGISTRY: Registry[SandboxBackend] = Registry(
    "sandboxes",
    {
        "docker": "pytest_nel.sandboxes.docker:DockerBackend",
        "local": "pytest_nel.sandboxes.local:LocalBackend",
    },
    refused={
        "apptainer": _LATER,
        "custom": (
            "names no class here: register yours as an entry point of the group "
            "pytest_nel.sandboxes and use its name as the type"
        ),
        "ecs_fargate": _LATER,
        "slurm": f"{_LATER}; the suite itself may run inside a Slurm job",
    },
)
