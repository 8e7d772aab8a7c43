"""An OpenAI-compatible endpoint that runs elsewhere: nothing to start, much to get right."""

from pathlib import Path
from typing import Annotated, ClassVar
from urllib.parse import urlsplit

from pydantic import ConfigDict, Field, field_validator, model_validator

from pytest_nel.config.interpolate import resolve_secret
from pytest_nel.config.proxy import Proxy
from pytest_nel.config.schema import MAX_CONCURRENT, Generation, KeyReference, Model, Prices
from pytest_nel.config.urls import secret_in, split_url
from pytest_nel.core.types import Endpoint, Protocol

_BY_PATH = {
    "/chat/completions": "chat_completions",  # before its own suffix
    "/completions": "completions",
    "/responses": "responses",
}


class ApiService:
    """Describes the endpoint to the engine; ``start`` makes no call."""

    deploys: ClassVar[bool] = False
    answers_by: ClassVar[tuple[str, ...]] = ("protocol", "model", "generation")

    class Config(Model):
        """Options of a service of type ``api``.

        Attributes:
            url: The full request URL, path included.
            protocol: The wire format behind it.
            model: The model name to send; null means the service's own name.
            api_key: ``${NAME}`` of the environment variable with the key; null sends none.
            generation: Sampling parameters of every request, unless the solver sets its own.
            max_concurrent: Requests in flight at most; null leaves it to the benchmarks.
            connect_timeout: Seconds to open a connection.
            read_timeout: Seconds without a byte; null leaves it to ``timeout``.
            timeout: Seconds for one request in all.
            max_retries: Further requests after the first.
            prices: What tokens cost; null where that is not known.
            stream: Whether replies come in pieces, for gateways that end a connection on which
                nothing comes for a while; ``read_timeout`` then counts between pieces.
            proxy: What happens to requests on their way; null changes nothing.
        """

        # An invalid api_key may be a real key: no error may quote it.
        model_config = ConfigDict(hide_input_in_errors=True)

        url: str
        protocol: Protocol
        model: str | None = None
        api_key: KeyReference | None = None
        generation: Generation = Generation()
        max_concurrent: Annotated[int, Field(ge=1, le=MAX_CONCURRENT)] | None = None
        connect_timeout: Annotated[float, Field(gt=0)] = 10.0
        read_timeout: Annotated[float, Field(gt=0)] | None = None
        timeout: Annotated[float, Field(gt=0)] = 600.0
        max_retries: Annotated[int, Field(ge=0)] = 5
        prices: Prices | None = None
        stream: bool = False
        proxy: Proxy | None = None

        @field_validator("url")
        @classmethod
        def _full_url(cls, url: str) -> str:
            parts = split_url(url)
            if secret_in(parts):
                msg = (
                    "expected a URL without credentials, which would be written to the run "
                    "directory: use api_key: ${NAME}"
                )
                raise ValueError(msg)
            if parts.scheme not in ("http", "https") or not parts.hostname:
                msg = f"expected http(s)://host/…/chat/completions, got {url!r}"
                raise ValueError(msg)
            return url

        @model_validator(mode="after")
        def _path_fits_protocol(self) -> "ApiService.Config":
            path = urlsplit(self.url).path.rstrip("/")
            spoken = next((name for end, name in _BY_PATH.items() if path.endswith(end)), None)
            if spoken not in (None, self.protocol):
                msg = (
                    f"url ends in {path!r}, which speaks {spoken}, but protocol is {self.protocol}"
                )
                raise ValueError(msg)
            if path.endswith("/v1"):
                msg = (
                    f"url must be the full request URL, such as …/v1/chat/completions, got {path!r}"
                )
                raise ValueError(msg)
            return self

    def __init__(self, name: str, config: Config, *, log_dir: Path) -> None:
        """Remember what to describe; there is no process, so nothing goes to ``log_dir``."""
        self._name = name
        self._config = config
        self._log_dir = log_dir

    def start(self) -> Endpoint:
        """Resolve the key and return the endpoint.

        Raises:
            ConfigError: The variable with the key is not set.
        """
        config = self._config
        where = f"services.{self._name}.api_key"
        key = None if config.api_key is None else resolve_secret(config.api_key, where=where)
        return Endpoint(
            name=self._name,
            url=config.url,
            protocol=config.protocol,
            model=config.model or self._name,
            api_key=key,
            generation=config.generation.given(),
            max_concurrent=config.max_concurrent,
            connect_timeout=config.connect_timeout,
            read_timeout=config.read_timeout,
            timeout=config.timeout,
            max_retries=config.max_retries,
            stream=config.stream,
        )

    def stop(self) -> None:
        """Do nothing: the endpoint is not ours."""
