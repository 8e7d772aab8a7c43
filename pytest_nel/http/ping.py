"""Whether a model endpoint answers: its list of models, then one token of one of them."""

import time
from typing import NamedTuple

import httpx

from pytest_nel.config.quick import model_url
from pytest_nel.core.text import showable
from pytest_nel.core.types import Protocol
from pytest_nel.http.upstream import PATHS

_PATIENCE = 30.0
_ASKED: dict[Protocol, dict[str, object]] = {
    "chat_completions": {"messages": [{"role": "user", "content": "Hi"}], "max_tokens": 1},
    "completions": {"prompt": "Hi", "max_tokens": 1},
    "responses": {"input": "Hi", "max_output_tokens": 16, "store": False},
}


class Pinged(NamedTuple):
    """What came of it.

    Attributes:
        models: What the list said; never fails the whole, since not every server has one.
        completion: What one token took, or why there was none.
        works: Whether there was one.
    """

    models: str
    completion: str
    works: bool


def silent(url: str, patience: float) -> str | None:
    """Why nobody answers at an address within ``patience`` seconds; None where somebody does."""
    try:
        httpx.get(url, timeout=patience)
    except httpx.TransportError as error:
        return str(error) or type(error).__name__
    return None


def ping(url: str, model: str | None, key: str | None) -> Pinged:
    """Ask an endpoint (blocking, for a minute at most); no message shows the key.

    Args:
        url: As ``--model-url``.
        model: The name to ask for; None takes the first of the endpoint's list.
        key: Sent as a bearer token.

    Raises:
        ConfigError: It is no URL of a model endpoint.
    """
    full, protocol = model_url(url)
    headers = {} if key is None else {"Authorization": f"Bearer {key}"}
    with httpx.Client(headers=headers, timeout=_PATIENCE) as http:
        said, first = _models(http, full.replace(PATHS[protocol], "/models"))
        name = model or first
        if name is None:
            return Pinged(said, "not asked: name a model by --model-id", works=False)
        completion, works = _complete(http, full, protocol, name)
    return Pinged(said, completion if key is None else completion.replace(key, "***"), works)


def _models(http: httpx.Client, url: str) -> tuple[str, str | None]:
    try:
        reply = http.get(url)
        names = [str(row["id"]) for row in reply.json()["data"]] if reply.is_success else []
    except httpx.HTTPError as error:
        return f"no answer ({type(error).__name__})", None
    except (ValueError, KeyError, TypeError):
        return "an answer that lists none", None
    if not reply.is_success:
        return f"no list (status {reply.status_code})", None
    shown = ", ".join(names[:5]) + (", …" if len(names) > 5 else "")
    return f"{len(names)}: {showable(shown, 300)}", names[0] if names else None


def _complete(http: httpx.Client, url: str, protocol: Protocol, name: str) -> tuple[str, bool]:
    began = time.monotonic()
    try:
        reply = http.post(url, json={"model": name, **_ASKED[protocol]})
        if reply.is_success:
            reply.json()["output" if protocol == "responses" else "choices"][0]
    except httpx.HTTPError as error:
        return f"no answer ({type(error).__name__}: {showable(str(error), 200)})", False
    except (ValueError, KeyError, TypeError, IndexError):
        return f"{name}: an answer that is no completion", False
    if not reply.is_success:
        return f"{name}: refused with {reply.status_code}: {showable(reply.text, 300)}", False
    return f"{name}: one token in {time.monotonic() - began:.2f} s", True
