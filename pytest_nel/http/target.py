"""Where a client sends to, and as whom: checked before anything is sent."""

import httpx

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import Endpoint


def pointed(endpoint: Endpoint) -> tuple[httpx.URL, str]:
    """The URL to ask, and how messages show it.

    Raises:
        ConfigError: As :func:`checked_url`.
    """
    url = checked_url(endpoint)
    return url, str(url.copy_with(userinfo=b"", query=None, fragment=None))


def checked_url(endpoint: Endpoint) -> httpx.URL:
    """The URL to ask.

    Raises:
        ConfigError: It is none, or none of HTTP.
    """
    try:
        url = httpx.URL(endpoint.url)
    except httpx.InvalidURL as exc:
        msg = f"service {endpoint.name!r}: the URL cannot be read: {exc}"
        raise ConfigError(msg) from exc
    if url.scheme not in ("http", "https") or not url.host:
        shown = f"{url.scheme}:…" if url.scheme else "one without a scheme"
        msg = f"service {endpoint.name!r}: expected http(s)://host/…, got {shown}"
        raise ConfigError(msg)
    return url


def patience(endpoint: Endpoint) -> httpx.Timeout:
    """Seconds for connecting and between two bytes; the whole has a clock of its own."""
    return httpx.Timeout(None, connect=endpoint.connect_timeout, read=endpoint.read_timeout)


def checked_key(endpoint: Endpoint) -> str:
    """The API key, empty where there is none.

    Raises:
        ConfigError: No header may carry it; it is not shown.
    """
    key = (endpoint.api_key or "").strip()
    if not key.isascii() or not key.isprintable():
        msg = (
            f"service {endpoint.name!r}: its API key holds characters that no header may carry: "
            "was it copied whole, and nothing else?"
        )
        raise ConfigError(msg)
    return key
