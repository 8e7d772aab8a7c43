"""What services have in common in a suite: how an endpoint is asked, how a server is run."""

import re
from collections.abc import Mapping, Sequence
from typing import Annotated, Any, ClassVar, TypeAlias

from pydantic import AfterValidator, ConfigDict, Field, field_validator, model_validator

from pytest_nel.config.env_map import EnvMap
from pytest_nel.config.proxy import Proxy
from pytest_nel.config.schema import MAX_CONCURRENT, Generation, Model, Prices
from pytest_nel.core.types import Endpoint, Protocol

MAX_REPLICAS = 64
_NO_CLUSTER = "needs a cluster, and this run has none: it deploys on this machine alone"
#: Option → what it may say all the same, and why nothing else.
_OF_A_CLUSTER: Mapping[str, tuple[object, str]] = {
    "num_nodes": (1, f"a server over several machines {_NO_CLUSTER}"),
    "node_pool": (None, _NO_CLUSTER),
    "ray_binary": ("ray", f"Ray joins several machines, which {_NO_CLUSTER}"),
    "haproxy": (None, "requests are spread over `replicas` in this process, so no HAProxy is run"),
}
_DEVICE = re.compile(r"(GPU|MIG)-[\w/-]+")
_MOUNT = re.compile(r"/[^:\0]*:/[^:\0]*(:[a-z,]+)?")


def _a_regex(pattern: str) -> str:
    try:
        re.compile(pattern)
    except re.error as error:
        msg = f"expected a regular expression, but {error}"
        raise ValueError(msg) from None
    return pattern


class ModelOptions(Model):
    """How the endpoint of any model service is asked.

    Attributes:
        generation: Sampling parameters of every request, unless the solver sets its own.
        reasoning_pattern: Regular expression (``.`` matches line breaks) of what is reasoning and
            no answer: it is taken out of every reply before that is judged.
        max_input_tokens: Of a prompt; told to solvers, not enforced here.
        max_output_tokens: Of an answer; told to solvers, not enforced here.
        tokenizer: Name or path of the model's tokenizer; told to solvers.
        max_concurrent: Requests in flight at most, over all replicas; null leaves it to the
            benchmarks.
        connect_timeout: Seconds to open a connection.
        read_timeout: Seconds without a byte; null leaves it to ``timeout``.
        timeout: Seconds for one request in all.
        max_retries: Further requests after the first.
        prices: What tokens cost; null where that is not known.
        stream: Whether replies come in pieces, for gateways that end a connection on which
            nothing comes for a while; ``read_timeout`` then counts between pieces.
        proxy: What happens to requests on their way; null changes nothing.
    """

    generation: Generation = Generation()
    reasoning_pattern: Annotated[str, Field(min_length=1), AfterValidator(_a_regex)] | None = None
    max_input_tokens: Annotated[int, Field(gt=0)] | None = None
    max_output_tokens: Annotated[int, Field(gt=0)] | None = None
    tokenizer: str | None = None
    max_concurrent: Annotated[int, Field(ge=1, le=MAX_CONCURRENT)] | None = None
    connect_timeout: Annotated[float, Field(gt=0)] = 10.0
    read_timeout: Annotated[float, Field(gt=0)] | None = None
    timeout: Annotated[float, Field(gt=0)] = 600.0
    max_retries: Annotated[int, Field(ge=0)] = 5
    prices: Prices | None = None
    stream: bool = False
    proxy: Proxy | None = None


def _a_device(device: int | str) -> int | str:
    if isinstance(device, str) and not _DEVICE.fullmatch(device):
        msg = f"expected numbers of GPUs or names such as GPU-8f1c…, got {device!r}"
        raise ValueError(msg)
    return device


Device: TypeAlias = Annotated[Annotated[int, Field(ge=0)] | str, AfterValidator(_a_device)]
Gpus: TypeAlias = list[Device] | Annotated[int, Field(ge=0)] | None


class RunOptions(Model):
    """How any server that a run starts is run.

    Attributes:
        port: Where it listens on 127.0.0.1; null takes a free one. Replicas take the numbers
            that follow.
        startup_timeout: Seconds until it is ready, ``setup_commands`` and pulling included.
        setup_commands: Lines for ``sh -c``, in order, each time before the server starts and
            where it runs; one that fails keeps it from starting.
        depends_on: Services that are started before, and ended after.
        max_restarts: How often one that died is started again.
    """

    # A wrong value of a variable may be a secret: no error may quote it.
    model_config = ConfigDict(hide_input_in_errors=True)
    refused: ClassVar[Mapping[str, tuple[object, str]]] = {}

    port: Annotated[int, Field(ge=1, le=65_535)] | None = None
    startup_timeout: Annotated[float, Field(gt=0)] = 600.0
    setup_commands: list[Annotated[str, Field(min_length=1)]] = Field(default_factory=list)
    depends_on: list[str] = Field(default_factory=list)
    max_restarts: Annotated[int, Field(ge=0)] = 3

    @model_validator(mode="before")
    @classmethod
    def _not_here(cls, given: Any) -> Any:  # Any: pydantic's
        """Refuse by name what the option of another tool would mean here."""
        if not isinstance(given, Mapping):
            return given
        left = dict(given)
        for name, (harmless, reason) in {**_OF_A_CLUSTER, **cls.refused}.items():
            if left.pop(name, harmless) not in (None, harmless):
                msg = f"{name}: {reason}"
                raise ValueError(msg)
        return left


class DeployedOptions(ModelOptions, RunOptions):
    """How a model server that a run starts is run and asked.

    Attributes:
        protocol: The wire format behind it.
        replicas: How many of it run; requests go to the one with the fewest in flight.
        gpus: Which GPUs it sees, or how many; they are divided among the replicas.
        share_gpus: Whether others may have the same ones.
        health_path: Answers 2xx when the server is up; null asks for a completion alone.
        health_interval: Seconds between looks at it while the server serves; one that does not
            answer three times in a row is started again. null looks at nothing.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    protocol: Protocol
    replicas: Annotated[int, Field(ge=1, le=MAX_REPLICAS)] = 1
    gpus: Gpus = None
    share_gpus: bool = False
    health_path: Annotated[str, Field(pattern=r"^/[!-~]*$")] | None = "/health"
    health_interval: Annotated[float, Field(gt=0)] | None = None

    @property
    def look_every(self) -> float | None:
        """Seconds between looks at the health page; None where there are none."""
        return None if self.health_path is None else self.health_interval

    @model_validator(mode="after")
    def _divisible(self) -> "DeployedOptions":
        if (self.gpu_count or 0) % self.replicas:
            msg = f"gpus: {self.gpu_count} cannot be divided among {self.replicas} replicas"
            raise ValueError(msg)
        if self.port is not None and self.port + self.replicas - 1 > 65_535:
            msg = f"port: {self.replicas} replicas from {self.port} on go beyond 65535"
            raise ValueError(msg)
        return self

    @property
    def gpu_count(self) -> int | None:
        """How many GPUs in all; None where nothing is said."""
        return len(self.gpus) if isinstance(self.gpus, list) else self.gpus

    def devices(self, replica: int) -> list[str] | None:
        """The GPUs of one replica; None where nothing is said."""
        if self.gpus is None:
            return None
        everything = self.gpus if isinstance(self.gpus, list) else list(range(self.gpus))
        each = len(everything) // self.replicas
        return [str(gpu) for gpu in everything[replica * each : (replica + 1) * each]]


def _a_mount(mount: str) -> str:
    if not _MOUNT.fullmatch(mount):
        msg = f"expected host:container[:options] with absolute paths, got {mount!r}"
        raise ValueError(msg)
    return mount


class ContainerOptions(DeployedOptions):
    """How a model server that may run in a container is run and asked.

    Attributes:
        served_model_name: The model name that requests carry; null means the service's own name.
        image: The container's image; null runs the program of this machine.
        container_mounts: ``host:container[:options]``, absolute paths.
        shm_size: Shared memory of a container, as docker writes it.
        extra_env: Variables, ``host:VAR``, ``runtime:VAR`` or ``lit:text``.
        extra_args: Further arguments of the server.
        pre_cmd: A line of shell before the server, in the shell that then becomes the server.
    """

    model_config = ConfigDict(hide_input_in_errors=True)
    ours: ClassVar[Mapping[str, str]] = {}
    """Argument → the option that sets it."""

    served_model_name: Annotated[str, Field(min_length=1)] | None = None
    image: Annotated[str, Field(min_length=1)] | None = None
    container_mounts: list[Annotated[str, AfterValidator(_a_mount)]] = Field(default_factory=list)
    shm_size: Annotated[str, Field(pattern=r"^[0-9]+[bkmgBKMG]?$")] = "16g"
    extra_env: EnvMap = Field(default_factory=dict)
    extra_args: list[str] = Field(default_factory=list)
    pre_cmd: Annotated[str, Field(min_length=1)] | None = None

    @field_validator("extra_args")
    @classmethod
    def _not_ours(cls, words: list[str]) -> list[str]:
        for word in words:
            option = cls.ours.get(word.partition("=")[0])
            if option is not None:
                msg = f"{word.partition('=')[0]} is set by the option {option}: use that"
                raise ValueError(msg)
            if "\0" in word:
                msg = "expected text without NUL characters"
                raise ValueError(msg)
        return words

    @model_validator(mode="after")
    def _mounts_want_an_image(self) -> "ContainerOptions":
        if self.container_mounts and self.image is None:
            msg = "container_mounts: there is no container without `image`"
            raise ValueError(msg)
        return self


class EngineOptions(ContainerOptions):
    """How an engine that serves weights is run and asked.

    Attributes:
        model: Name or folder of the weights.
        tensor_parallel_size: GPUs that share each layer.
        pipeline_parallel_size: Groups of layers, each on GPUs of its own.
        data_parallel_size: Copies of the model behind the server's one port.
    """

    model_config = ConfigDict(hide_input_in_errors=True)

    model: Annotated[str, Field(min_length=1)]
    tensor_parallel_size: Annotated[int, Field(ge=1)] | None = None
    pipeline_parallel_size: Annotated[int, Field(ge=1)] | None = None
    data_parallel_size: Annotated[int, Field(ge=1)] | None = None
    health_interval: Annotated[float, Field(gt=0)] | None = 30.0

    @model_validator(mode="after")
    def _enough_gpus(self) -> "EngineOptions":
        sizes = (self.tensor_parallel_size, self.pipeline_parallel_size, self.data_parallel_size)
        tensor, pipeline, data = (size or 1 for size in sizes)
        wanted = tensor * pipeline * data
        has = None if self.gpu_count is None else self.gpu_count // self.replicas
        if has and wanted > has:
            msg = (
                f"gpus: tensor, pipeline and data parallel sizes want {tensor} x {pipeline} x "
                f"{data} = {wanted} GPUs for a server, which gets {has}"
            )
            raise ValueError(msg)
        return self


def endpoint_of(
    name: str,
    options: ModelOptions,
    *,
    urls: Sequence[str],
    protocol: Protocol,
    model: str,
    **more: Any,  # Any: further fields of the endpoint
) -> Endpoint:
    """The endpoint that a service's options describe, at these request URLs."""
    facts: dict[str, Any] = {
        "generation": options.generation.given(),
        "replicas": tuple(urls) if len(urls) > 1 else (),
        **{field: getattr(options, field) for field in _OF_AN_ENDPOINT},
    }
    return Endpoint(name=name, url=urls[0], protocol=protocol, model=model, **{**facts, **more})


_OF_AN_ENDPOINT = (
    *("max_concurrent", "connect_timeout", "read_timeout", "timeout", "max_retries"),
    *("stream", "reasoning_pattern", "max_input_tokens", "max_output_tokens", "tokenizer"),
)
