"""Where models run, one file a kind of deployment."""

from pytest_nel.core.protocols import Service
from pytest_nel.core.registry import Registry

REGISTRY: Registry[Service] = Registry(
    "services",
    {
        "api": "pytest_nel.services.api:ApiService",
        "command": "pytest_nel.services.command:CommandService",
        "llama_cpp": "pytest_nel.services.llama_cpp:LlamaCppService",
    },
)
