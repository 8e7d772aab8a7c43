"""An OpenAI-compatible endpoint that runs elsewhere: nothing to start, much to get right."""

from collections.abc import Mapping
from pathlib import Path
from typing import Annotated, Any, ClassVar
from urllib.parse import urlsplit, urlunsplit

import httpx
from pydantic import ConfigDict, Field, field_validator, model_validator

from pytest_nel.config.interpolate import resolve_secret
from pytest_nel.config.schema import KeyReference
from pytest_nel.config.urls import secret_in, split_url
from pytest_nel.core.errors import InfraError
from pytest_nel.core.types import Endpoint, Protocol
from pytest_nel.services._identity import given
from pytest_nel.services._options import ModelOptions, endpoint_of

_HEALTH_PATIENCE = 10.0
_BY_PATH = {
    "/chat/completions": "chat_completions",  # before its own suffix
    "/completions": "completions",
    "/responses": "responses",
}


class ApiService:
    """Describes the endpoint to the engine; ``start`` asks its health page at most."""

    deploys: ClassVar[bool] = False
    answers_by: ClassVar[tuple[str, ...]] = ("protocol", "model", "generation")

    class Config(ModelOptions):
        """Options of a service of type ``api``.

        Attributes:
            url: The full request URL, path included.
            protocol: The wire format behind it.
            model: The model name to send; null means the service's own name.
            api_key: ``${NAME}`` of the environment variable with the key; null sends none.
            health_path: Asked once before the run, which a reply outside 2xx stops; null asks
                nothing.
        """

        # An invalid api_key may be a real key: no error may quote it.
        model_config = ConfigDict(hide_input_in_errors=True)

        url: str
        protocol: Protocol
        model: str | None = None
        api_key: KeyReference | None = None
        health_path: Annotated[str, Field(pattern=r"^/[!-~]*$")] | None = None

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

    @staticmethod
    def identity(options: Mapping[str, Any]) -> Mapping[str, object]:
        """What determines answers only where it is said.

        Args:
            options: As written in the suite.
        """
        return given(options)

    def start(self) -> Endpoint:
        """Resolve the key and return the endpoint.

        Raises:
            ConfigError: The variable with the key is not set.
            InfraError: The health page, where there is one, does not answer 2xx.
        """
        config = self._config
        where = f"services.{self._name}.api_key"
        key = None if config.api_key is None else resolve_secret(config.api_key, where=where)
        if config.health_path is not None:
            self._look(config.health_path, key)
        return endpoint_of(
            self._name,
            config,
            urls=[config.url],
            protocol=config.protocol,
            model=config.model or self._name,
            api_key=key,
        )

    def _look(self, path: str, key: str | None) -> None:
        """Ask the health page, so that a run does not begin without its model."""
        url = urlunsplit((*urlsplit(self._config.url)[:2], path, "", ""))
        headers = {} if key is None else {"Authorization": f"Bearer {key}"}
        try:
            reply = httpx.get(url, headers=headers, timeout=_HEALTH_PATIENCE)
        except httpx.TransportError as error:
            what = f"does not answer: {str(error) or type(error).__name__}"
        else:
            if reply.is_success:
                return
            what = f"answers {reply.status_code}"
        msg = f"services.{self._name}.health_path: {url} {what}, so nothing is measured"
        raise InfraError(msg, retryable=False)

    def stop(self) -> None:
        """Do nothing: the endpoint is not ours."""
