"""A model server that is an image: whatever it runs, it speaks an OpenAI-compatible protocol."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, ClassVar

from pydantic import Field

from pytest_nel.services._container import INSIDE, Container, in_container
from pytest_nel.services._engine import Contained
from pytest_nel.services._options import ContainerOptions
from pytest_nel.services._server import Launch
from pytest_nel.services._shell import script

_ITS_OWN = "only the image knows how: say it in `extra_args` or `extra_env`"


class DockerModelService(Contained):
    """Containers of any image."""

    class Config(ContainerOptions):
        """Options of a service of type ``docker_model``.

        Attributes:
            image: The container's image.
            model: The model name that requests carry, unless ``served_model_name`` says one; null
                means the service's own name.
            container_port: Where the server listens in its container.
            gpus: Which GPUs it sees, or how many; null means none.
            extra_args: Instead of the image's own command.
        """

        refused: ClassVar[Mapping[str, tuple[object, str]]] = {
            "tensor_parallel_size": (None, _ITS_OWN),
            "pipeline_parallel_size": (None, _ITS_OWN),
            "data_parallel_size": (None, _ITS_OWN),
        }

        image: Annotated[str, Field(min_length=1)]
        model: Annotated[str, Field(min_length=1)] | None = None
        container_port: Annotated[int, Field(ge=1, le=65_535)] = INSIDE

    def __init__(self, name: str, config: Config, *, log_dir: Path) -> None:
        super().__init__(name, config, log_dir=log_dir)
        self._config = config

    @property
    def served(self) -> str:
        """The model name that requests carry."""
        return self._config.served_model_name or self._config.model or self._name

    def _launch(self, port: int, replica: int) -> Launch:
        options = self._config
        container = Container(
            options.image,
            port=options.container_port,
            command=options.extra_args or None,
            mounts=options.container_mounts,
            gpus=options.devices(replica) or (),
            shm_size=options.shm_size,
            script=script(options.setup_commands, options.pre_cmd),
        )
        return in_container(container, self._where, port, self._variables())
