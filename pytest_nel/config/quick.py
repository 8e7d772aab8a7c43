"""Quick mode: a few options become the suite that the user did not write."""

import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

from pytest_nel.config.interpolate import escape
from pytest_nel.config.urls import secret_in, split_url
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import Protocol

_PATHS: Mapping[Protocol, str] = {
    "chat_completions": "/chat/completions",
    "completions": "/completions",
    "responses": "/responses",
}
_SOLVERS: Mapping[Protocol, str] = {
    "chat_completions": "simple",
    "completions": "completion",
    "responses": "simple",
}
_BENCHMARK_FILE = re.compile(r"(?P<file>.+\.py)(?P<name>:.+)?")


def quick_suite(
    *,
    bench: str | Sequence[str],
    model: str | None,
    url: str | None = None,
    protocol: str | None = None,
    key_env: str | None = None,
    temperature: float | None = 0.0,
) -> dict[str, Any]:
    """Build the raw suite (as a file would say it) for one model and some benchmarks.

    Args:
        bench: Names of built-ins, or paths of benchmark files, which become absolute so that
            the suite means the same wherever it is written to.
        model: The model's name at the endpoint. Without a URL: ``demo`` or a ``.gguf`` file,
            which is then served here.
        url: The endpoint, with or without its last path parts.
        protocol: ``chat_completions``, ``completions`` or ``responses``; None means what the URL
            says, and chat completions when it says nothing.
        key_env: The *name* of the variable that holds the API key.
        temperature: Sent with every request; None leaves it to the server.

    Raises:
        ConfigError: The URL or model is missing or unusable.
    """
    wire: Protocol
    if url is None:
        wire, service = "chat_completions", _served_here(model, protocol, key_env)
    else:
        wire, service = _endpoint(url, protocol, model, key_env)
    if temperature is not None:
        service["generation"] = {"temperature": temperature}
    solver = {"type": _SOLVERS[wire], "service": "model"}
    names = [bench] if isinstance(bench, str) else list(bench)
    return {
        "services": {"model": service},
        "benchmarks": [
            {"name": escape(anchored(name, Path())), "solver": dict(solver)} for name in names
        ],
    }


def model_url(url: str, protocol: str | None = None) -> tuple[str, Protocol]:
    """Complete a base URL to the full request URL, and say which protocol is behind it.

    A URL that ends in ``/chat/completions``, ``/completions`` or ``/responses`` is complete; to any
    other the path of the protocol is appended.

    Raises:
        ConfigError: It is no http(s) URL, carries a key, or is at odds with the protocol.
    """
    try:
        parts = split_url(url.strip())
    except ValueError as error:
        msg = f"model URL: {error}"
        raise ConfigError(msg) from None
    if what := secret_in(parts):
        msg = (
            f"model URL: the {what} would be written to the run directory; export the key and "
            "name the variable with --nel-api-key-env"
        )
        raise ConfigError(msg)
    if parts.scheme not in {"http", "https"} or not parts.hostname:
        msg = f"model URL: expected http(s)://…, got {url!r}"
        raise ConfigError(msg)
    wanted = _known_protocol(protocol)
    path = parts.path.rstrip("/")
    said = next((wire for wire, tail in _PATHS.items() if path.endswith(tail)), None)
    if said and wanted and said != wanted:
        msg = f"model URL {url!r} is one of protocol {said}, but the protocol given is {wanted}"
        raise ConfigError(msg)
    wire: Protocol = said or wanted or "chat_completions"
    full = path if said else path + _PATHS[wire]
    return urlunsplit((parts.scheme, parts.netloc, full, parts.query, "")), wire


def has_protocol(url: str) -> bool:
    """Whether the path of a URL says which protocol is behind it."""
    return urlsplit(url.strip()).path.rstrip("/").endswith(tuple(_PATHS.values()))


def key_reference(key_env: str) -> str:
    """``${NAME}`` of the variable that holds the API key.

    Raises:
        ConfigError: It is no variable's name.
    """
    if not re.fullmatch(r"[A-Za-z_]\w*", key_env, re.ASCII):
        # Somebody may have passed the key itself: it is not shown.
        msg = "--nel-api-key-env wants the name of an environment variable, got something else"
        raise ConfigError(msg)
    return f"${{{key_env}}}"


def _known_protocol(protocol: str | None) -> Protocol | None:
    if protocol is None:
        return None
    for wire in _PATHS:
        if protocol == wire:
            return wire
    msg = f"protocol: expected {' or '.join(_PATHS)}, got {protocol!r}"
    raise ConfigError(msg)


def _endpoint(
    url: str, protocol: str | None, model: str | None, key_env: str | None
) -> tuple[Protocol, dict[str, Any]]:
    full, wire = model_url(url, protocol)
    if not model:
        msg = "quick mode needs the model's name at the endpoint: --nel-model-id NAME"
        raise ConfigError(msg)
    key = {} if key_env is None else {"api_key": key_reference(key_env)}
    service = {"type": "api", "url": escape(full), "protocol": wire, "model": escape(model)}
    return wire, {**service, **key}


def _served_here(model: str | None, protocol: str | None, key_env: str | None) -> dict[str, Any]:
    if model is None or not (model == "demo" or model.endswith(".gguf")):
        got = (
            ""
            if model is None
            else f" (a model served here is demo or a .gguf file, not {model!r})"
        )
        msg = f"quick mode needs an endpoint: --nel-model-url http(s)://…, or --nel-model demo{got}"
        raise ConfigError(msg)
    if protocol not in {None, "chat_completions"} or key_env is not None:
        msg = "a model that is served here speaks chat_completions and needs no API key"
        raise ConfigError(msg)
    path = model if model == "demo" else str(Path(model).absolute())
    return {"type": "llama_cpp", "model": escape(path)}


def anchored(name: str, base: Path) -> str:
    """A benchmark's name with its file, if it has one, made absolute; others stay."""
    match = _BENCHMARK_FILE.fullmatch(name)
    if match is None or "://" in name:
        return name
    return f"{Path(base, match['file']).absolute()}{match['name'] or ''}"
