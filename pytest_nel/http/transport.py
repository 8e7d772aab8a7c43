"""Which transport carries the requests to an endpoint."""

import importlib.util
import urllib.request

import httpx

from pytest_nel.core.errors import ConfigError
from pytest_nel.http.fast import MAX_BODY, FastTransport, Verify
from pytest_nel.http.slots import SlotTransport

_HEADERS = {
    "user-agent": "pytest-nel",
    # Not compressed: replies are small, and a size limit on compressed bytes bounds no memory.
    "accept-encoding": "identity",
}


def proxy_for(endpoint_url: str) -> str | None:
    """The proxy that the environment names for a URL (``HTTP_PROXY``, ``NO_PROXY`` …)."""
    url = httpx.URL(endpoint_url)
    proxies = urllib.request.getproxies()
    proxy = proxies.get(url.scheme) or proxies.get("all")
    if not proxy:
        return None
    host = f"{url.host}:{url.port}" if url.port else url.host
    if urllib.request.proxy_bypass(host):
        return None
    return proxy if "://" in proxy else f"http://{proxy}"


def make_http_client(  # the switches of a transport, all by keyword
    endpoint_url: str,
    *,
    connections: int,
    transport: httpx.AsyncBaseTransport | None = None,
    verify: Verify = True,
    http2: bool = False,
    max_body: int = MAX_BODY,
) -> httpx.AsyncClient:
    """Build the httpx client for one endpoint; the environment is not read again by httpx.

    Args:
        endpoint_url: The URL that will be asked.
        connections: Requests in flight at most.
        transport: The caller's own transport; None makes one by :func:`make_transport`.
        verify: As for httpx.
        http2: Offer HTTP/2 (needs the ``h2`` package).
        max_body: Bytes of body from which a reply is refused.

    Raises:
        ConfigError: The proxy or HTTP/2 needs a package that is not installed.
    """
    if transport is None:
        transport = make_transport(
            endpoint_url, connections=connections, verify=verify, http2=http2, max_body=max_body
        )
    return httpx.AsyncClient(transport=transport, trust_env=False, headers=_HEADERS)


def make_transport(
    endpoint_url: str,
    *,
    connections: int,
    verify: Verify = True,
    http2: bool = False,
    max_body: int = MAX_BODY,
) -> httpx.AsyncBaseTransport:
    """The transport for one endpoint: slots for a proxy or ``http2``, the fast one for the rest.

    The environment is read here, once. Arguments and errors as of :func:`make_http_client`.
    """
    proxy = proxy_for(endpoint_url)
    if proxy is None and not http2:
        return FastTransport(connections=connections, verify=verify, max_body=max_body)
    return _slots(
        connections=connections, proxy=proxy, verify=verify, http2=http2, max_body=max_body
    )


def _slots(
    *, connections: int, proxy: str | None, verify: Verify, http2: bool, max_body: int
) -> SlotTransport:
    # httpcore would look for it only when a request is sent.
    if http2 and importlib.util.find_spec("h2") is None:
        msg = "HTTP/2 needs the package h2, which is not installed: pip install 'httpx[http2]'"
        raise ConfigError(msg)
    try:
        return SlotTransport(
            connections=connections, proxy=proxy, verify=verify, http2=http2, max_body=max_body
        )
    except ImportError as exc:  # httpx names the extra to install
        msg = f"the endpoint's proxy needs a package that is not installed: {exc}"
        raise ConfigError(msg) from exc
    except ValueError as exc:  # the URL may hold a password: not shown
        msg = "the proxy in the environment is no URL that httpx supports: check HTTP_PROXY etc."
        raise ConfigError(msg) from exc
