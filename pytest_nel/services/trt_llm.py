"""Weights served by TensorRT-LLM: ``trtllm-serve`` on this machine, or in its image."""

from collections.abc import Mapping
from typing import ClassVar

from pytest_nel.services._engine import Engine, sizes
from pytest_nel.services._options import EngineOptions

_SIZES = {"tensor_parallel_size": "--tp_size", "pipeline_parallel_size": "--pp_size"}


class TrtLlmService(Engine):
    """Servers of TensorRT-LLM."""

    class Config(EngineOptions):
        """Options of a service of type ``trt_llm``.

        Attributes:
            served_model_name: The model name that requests carry; null means ``model``, as the
                server has it: releases before 1.1 know no other.
        """

        refused: ClassVar[Mapping[str, tuple[object, str]]] = {
            "data_parallel_size": (1, "trtllm-serve has no such argument: use `replicas`"),
        }
        ours: ClassVar[Mapping[str, str]] = {
            **{flag: option for option, flag in _SIZES.items()},
            "--host": "port",
            "--port": "port",
            "--served_model_name": "served_model_name",
        }

    @property
    def served(self) -> str:
        """The model name that requests carry."""
        return self._engine.served_model_name or self._engine.model

    def _command(self, host: str, port: int) -> list[str]:
        named = self._engine.served_model_name
        return [
            *("trtllm-serve", self._engine.model, "--host", host, "--port", str(port)),
            *(() if named is None else ("--served_model_name", named)),
            *sizes(self._engine, _SIZES),
        ]
