"""The adapter proxy: interceptors for agents that need a URL, one secret URL a session."""

import asyncio
import contextlib
import ipaddress
import secrets
import socket
from typing import TYPE_CHECKING

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.exchange import Usage
from pytest_nel.core.types import AttemptKey
from pytest_nel.core.under_way import Served
from pytest_nel.http.client import ModelClient
from pytest_nel.interceptors.pipeline import Chain

if TYPE_CHECKING:
    from pytest_nel.interceptors._asgi import App, Server

_START = 10.0  # seconds
_STOP = 10.0
_GRACE = 3  # seconds for requests under way


class AdapterProxy:
    """An HTTP server before one service: started and stopped on the loop that its client uses.

    Only who knows a session's URL is served, with the service's key and within its limit; what
    the session says of a key is left out.

    Args:
        client: Asks the service.
        chain: What requests and replies pass.
        host: A loopback address, or that of a sandbox network's gateway; never all interfaces.
        port: 0 takes a free one.

    Raises:
        ConfigError: The address is none to listen on.
    """

    def __init__(
        self, client: ModelClient, chain: Chain, *, host: str = "127.0.0.1", port: int = 0
    ) -> None:
        self._client = client
        self._chain = chain
        self._host = _checked(host)
        self._port = port
        self._sessions: dict[str, Served] = {}
        self._server: Server | None = None
        self._app: App | None = None
        self._task: asyncio.Task[None] | None = None

    async def start(self) -> None:
        """Listen.

        Raises:
            ConfigError: The extra ``serve`` is not installed, or nobody can listen there.
        """
        if self._task is not None:
            return
        try:
            from pytest_nel.http.serving import settings  # noqa: PLC0415
            from pytest_nel.interceptors._asgi import App, Server  # noqa: PLC0415  # an extra
        except ImportError as error:
            msg = (
                "the adapter proxy needs starlette and uvicorn, which are not installed: "
                "pip install 'pytest-nel[serve]'"
            )
            raise ConfigError(msg) from error
        listener = self._listener()  # first: where there is none, nothing is left open
        try:
            await self._client.open()
            await self._chain.open()
        except BaseException:
            listener.close()
            raise
        self._app = App(self._client, self._chain, self._sessions)
        self._server = Server(settings(self._app, grace=_GRACE))
        self._task = asyncio.create_task(self._server.serve(sockets=[listener]))
        async with asyncio.timeout(_START):
            while not self._server.started:
                if self._task.done():
                    await self._task
                await asyncio.sleep(0.005)

    def url_for(self, session: str | AttemptKey, *, keeps: bool = False) -> str:
        """A new URL for one session, ``http://host:port/s/<token>/v1``; known until :meth:`end`.

        Args:
            session: The attempt, or a name that is the same in every run.
            keeps: Whether a request goes on when its client has left, until the session's next one
                or its :meth:`end`; for :meth:`settled`.

        Raises:
            ConfigError: The proxy is not started.
        """
        if self._task is None:
            msg = "the adapter proxy is not started: it has no URL yet"
            raise ConfigError(msg)
        token = secrets.token_hex(16)
        if isinstance(session, str):
            self._sessions[token] = Served(session, keeps=keeps)
        else:
            self._sessions[token] = Served(attempt=session, keeps=keeps)
        host = f"[{self._host}]" if ":" in self._host else self._host
        return f"http://{host}:{self._port}/s/{token}/v1"

    def usage(self, url: str) -> Usage:
        """What has been asked at a session's URL so far; it goes on counting."""
        return self._sessions[_token(url)].usage

    async def settled(self, url: str) -> None:
        """Serve a session's URL no more, and wait for what its last requests come to.

        Their clients are told nothing any more. That takes as long as the service's own limits
        allow: its retries, but none after a request that took all of its time-out. Where that
        follows on answers, one small request of ours tells whether the service hangs; its tokens
        are counted nowhere.

        Args:
            url: That of a session which keeps requests.
        """
        await self._sessions[_token(url)].settled()

    def end(self, url: str) -> None:
        """Serve a session's URL no more; requests under way are answered, if anybody is there."""
        session = self._sessions.pop(_token(url), None)
        if session is not None:
            session.ends()

    async def stop(self) -> None:
        """End what is under way and listen no more; safe to call twice."""
        task, self._task = self._task, None
        dropped = [each for session in self._sessions.values() for each in session.ends()]
        self._sessions.clear()
        if dropped:
            await asyncio.wait(dropped)
        if task is not None and self._server is not None:
            self._server.should_exit = True
            done, _ = await asyncio.wait([task], timeout=_STOP)
            if not done:
                task.cancel()
                with contextlib.suppress(asyncio.CancelledError):
                    await task
        if self._app is not None:
            await self._app.close()
        await self._chain.close()
        await self._client.close()

    def _listener(self) -> socket.socket:
        family = socket.AF_INET6 if ":" in self._host else socket.AF_INET
        try:
            listener = socket.create_server((self._host, self._port), family=family, backlog=512)
        except OSError as error:
            msg = (
                f"the adapter proxy cannot listen on {self._host} port {self._port}: "
                f"{error.strerror or error}"
            )
            raise ConfigError(msg) from error
        self._port = int(listener.getsockname()[1])
        return listener


def _token(url: str) -> str:
    return url.partition("/s/")[2].partition("/")[0]


def _checked(host: str) -> str:
    """The address, when only this machine or a sandbox network can reach it."""
    text = "127.0.0.1" if host == "localhost" else host
    try:
        address = ipaddress.ip_address(text)
    except ValueError:
        msg = f"expected an IP address to listen on, got {host!r}"
        raise ConfigError(msg) from None
    if address.is_unspecified or not (address.is_loopback or address.is_private):
        msg = (
            f"the adapter proxy adds the service's key to what it is sent, so it does not listen "
            f"on {host}: expected a loopback address or that of a sandbox network's gateway"
        )
        raise ConfigError(msg)
    return text
