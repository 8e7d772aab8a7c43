"""A model that is an NVIDIA NIM: an image with its engine and, once it is there, its weights."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from pytest_nel.config.interpolate import resolve_secret
from pytest_nel.services._container import INSIDE, Container, in_container
from pytest_nel.services._engine import Contained
from pytest_nel.services._options import ContainerOptions
from pytest_nel.services._server import Launch
from pytest_nel.services._shell import script

_BY_PROFILE = "a NIM chooses it by its profile: set NIM_MODEL_PROFILE in `extra_env`"
_KEY = "NGC_API_KEY"


class NimService(Contained):
    """Containers of a NIM."""

    class Config(ContainerOptions):
        """Options of a service of type ``nim``.

        Attributes:
            image: The NIM's image, with a tag.
            model: The model name that requests carry, unless ``served_model_name`` says one; null
                means the service's own name. The NIM is told it.
            ngc_key_env: The variable with the NGC key, which the container gets as NGC_API_KEY;
                null gives it none, for weights that are there.
            gpus: Which GPUs it sees, or how many; null means all.
            health_path: Answers 2xx when the server is up; null asks for a completion alone.
        """

        refused: ClassVar[Mapping[str, tuple[object, str]]] = {
            "tensor_parallel_size": (None, _BY_PROFILE),
            "pipeline_parallel_size": (None, _BY_PROFILE),
            "data_parallel_size": (None, _BY_PROFILE),
        }

        image: Annotated[str, Field(min_length=1)]
        model: Annotated[str, Field(min_length=1)] | None = None
        ngc_key_env: Annotated[str, Field(pattern=r"^[A-Za-z_]\w*$")] | None = _KEY
        health_path: Annotated[str, Field(pattern=r"^/[!-~]*$")] | None = "/v1/health/ready"
        health_interval: Annotated[float, Field(gt=0)] | None = 30.0

    def __init__(self, name: str, config: Config, *, log_dir: Path) -> None:
        super().__init__(name, config, log_dir=log_dir)
        self._config = config

    @property
    def served(self) -> str:
        """The model name that requests carry."""
        return self._config.served_model_name or self._config.model or self._name

    def _variables(self) -> dict[str, str]:
        variables = {"NIM_SERVED_MODEL_NAME": self.served}
        named = self._config.ngc_key_env
        if named is not None and _KEY not in self._config.extra_env:
            where = f"{self._where}.ngc_key_env"
            variables[_KEY] = resolve_secret(f"${{{named}}}", where=where)
        return variables | super()._variables()

    def _hidden(self) -> dict[str, str]:
        variables = self._variables()
        key = {_KEY: variables[_KEY]} if _KEY in variables else {}
        return super()._hidden() | key

    def _launch(self, port: int, replica: int) -> Launch:
        options = self._config
        container = Container(
            options.image,
            port=INSIDE,
            command=options.extra_args or None,
            mounts=options.container_mounts,
            gpus=options.devices(replica),
            shm_size=options.shm_size,
            script=script(options.setup_commands, options.pre_cmd),
        )
        return in_container(container, self._where, port, self._variables())
