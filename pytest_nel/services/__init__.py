"""Where models run, one file a kind of deployment."""

from pytest_nel.core.protocols import Service
from pytest_nel.core.registry import Registry

REGISTRY: Registry[Service] = Registry(
    "services",
    {
        "api": "pytest_nel.services.api:ApiService",
        "command": "pytest_nel.services.command:CommandService",
        "docker_model": "pytest_nel.services.docker_model:DockerModelService",
        "gym": "pytest_nel.services.gym:GymService",
        "llama_cpp": "pytest_nel.services.llama_cpp:LlamaCppService",
        "nat": "pytest_nel.services.nat:NatService",
        "nim": "pytest_nel.services.nim:NimService",
        "sglang": "pytest_nel.services.sglang:SglangService",
        "trt_llm": "pytest_nel.services.trt_llm:TrtLlmService",
        "vllm": "pytest_nel.services.vllm:VllmService",
    },
    refused={
        "dynamo": (
            "is NATS, etcd, a frontend and workers on several machines, which needs a cluster: "
            "start it there and use type api with its URL, or type command for one that a script "
            "starts"
        ),
        "custom": (
            "names no class here: register yours as an entry point of the group "
            "pytest_nel.services and use its name as the type, or use type command"
        ),
    },
)
