"""The way from a solver to an endpoint: what the ``proxy:`` block of a service makes of it."""

from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from pytest_nel.config.interpolate import expand, values_in
from pytest_nel.config.proxy import Proxy, contradictions, secret_header
from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.keys import digest
from pytest_nel.core.types import Endpoint
from pytest_nel.engine.fingerprint import answering
from pytest_nel.http.client import ModelClient
from pytest_nel.http.secret import Secrets
from pytest_nel.interceptors.pipeline import Chain, build, plan
from pytest_nel.interceptors.place import Place
from pytest_nel.services import REGISTRY as SERVICES

_SHORT = 8  # characters: what a header that is no secret says may be a word


@dataclass(frozen=True, slots=True)
class Route:
    """What a service's ``proxy:`` block asks for.

    Attributes:
        name: The service's name.
        spec: The service as configured, or None where it is not.
        proxy: The block, checked; None where there is none.
    """

    name: str
    spec: PluginSpec | None
    proxy: Proxy | None

    @classmethod
    def of(cls, name: str, spec: PluginSpec | None) -> "Route":
        """Check the block of a service, interceptors included.

        Raises:
            ConfigError: Something in it is wrong, each with its place.
        """
        raw = None if spec is None else spec.options.get("proxy")
        if spec is None or raw is None:
            return cls(name, spec, None)
        where = f"services.{name}"
        try:
            proxy = Proxy(**raw)
        except (ValidationError, TypeError):  # the service's own Config says what is wrong
            msg = f"{where}.proxy: not understood: it is checked where the service is made"
            raise ConfigError(msg) from None
        if problems := contradictions(spec.options, where):
            raise ConfigError("\n".join(problems))
        plan(proxy, f"{where}.proxy")
        return cls(name, spec, proxy)

    def endpoint(self, endpoint: Endpoint) -> Endpoint:
        """The endpoint with the block's limits, and its parameters below all others."""
        proxy = self.proxy
        if proxy is None:
            return endpoint
        changes: dict[str, Any] = {
            "timeout": proxy.request_timeout,
            "max_retries": proxy.max_retries,
            "max_concurrent": proxy.max_concurrent_upstream,
        }
        given = {name: value for name, value in changes.items() if value is not None}
        sampling = {**proxy.extra_body, **endpoint.generation}
        return replace(endpoint, generation=sampling, **given)

    def equip(self, client: ModelClient, run_dir: Path, *, always: bool = False) -> Chain | None:
        """Give a client its interceptors and headers; a service without a block costs nothing.

        Args:
            client: Not opened yet.
            run_dir: Where interceptors write.
            always: Mend finish reasons on the way even where the client does it itself: for an
                adapter proxy, whose clients see the replies.

        Returns:
            The interceptors, or None where there are none.

        Raises:
            ConfigError: A variable is missing or cannot be sent.
        """
        proxy = self.proxy
        if proxy is None and not always:
            return None
        proxy = proxy or Proxy()
        headers = self._headers(proxy)
        hidden = self._hidden(proxy)
        secrets = Secrets([client.endpoint.api_key or "", *hidden])
        place = Place(
            run_dir=run_dir,
            service=self.name,
            model=client.endpoint.model,
            tenant=self._tenant(client.endpoint),
            redact=secrets.out_of_json,
        )
        chain = build(proxy, place, always=always)
        client.equip(
            chain,
            headers=headers,
            hidden=hidden,
            statuses=proxy.retry_on_status,
        )
        return chain

    def _headers(self, proxy: Proxy) -> dict[str, str]:
        headers: dict[str, str] = {}
        for name, text in proxy.extra_headers.items():
            where = f"services.{self.name}.proxy.extra_headers.{name}"
            try:
                value: str = expand(text)
            except ConfigError as error:
                msg = f"{where}: {str(error).removeprefix('value: ')}"
                raise ConfigError(msg) from None
            if not value.isascii() or not value.isprintable():
                msg = f"{where}: its value (not shown) holds characters that no header may carry"
                raise ConfigError(msg)
            headers[name] = value
        return headers

    def _hidden(self, proxy: Proxy) -> list[str]:
        texts = [*proxy.extra_headers.items()]
        for spec in proxy.interceptors:
            added = spec.config.get("headers_to_add")
            texts += added.items() if isinstance(added, dict) else ()
        return [
            value
            for name, text in texts
            for value in values_in(str(text))
            if secret_header(name) or len(value) >= _SHORT
        ]

    def _tenant(self, endpoint: Endpoint) -> str:
        """Whose answers they are: an address, or what is served where the port is any."""
        if self.spec is None:
            return endpoint.url
        kind: Any = SERVICES.load(self.spec.type)  # Any: a plugin's class
        facts = answering(None, None, self.spec)
        named = {name: value for name, value in facts.items() if name.startswith("service.")}
        place = endpoint.weights or self.spec.type if kind.deploys else endpoint.url
        return digest([place, named])
