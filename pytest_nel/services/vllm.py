"""Weights served by vLLM: ``vllm serve`` on this machine, or in its image."""

from collections.abc import Mapping
from typing import ClassVar

from pytest_nel.services._engine import Engine, sizes
from pytest_nel.services._options import EngineOptions

_SIZES = {
    "tensor_parallel_size": "--tensor-parallel-size",
    "pipeline_parallel_size": "--pipeline-parallel-size",
    "data_parallel_size": "--data-parallel-size",
}


class VllmService(Engine):
    """Servers of vLLM."""

    class Config(EngineOptions):
        """Options of a service of type ``vllm``."""

        ours: ClassVar[Mapping[str, str]] = {
            **{flag: option for option, flag in _SIZES.items()},
            "-tp": "tensor_parallel_size",
            "-pp": "pipeline_parallel_size",
            "-dp": "data_parallel_size",
            "--model": "model",
            "--port": "port",
            "--host": "port",
            "--served-model-name": "served_model_name",
        }

    def _command(self, host: str, port: int) -> list[str]:
        return [
            *("vllm", "serve", self._engine.model, "--port", str(port), "--host", host),
            *("--served-model-name", self.served),
            *sizes(self._engine, _SIZES),
        ]
