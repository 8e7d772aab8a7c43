"""A client of the proxy, and events passed on to it while they come from the endpoint."""

import asyncio
import contextlib
import json
from collections.abc import Callable, Mapping
from typing import Any

from starlette.types import Message, Send

from pytest_nel.core.exchange import Reply
from pytest_nel.core.types import JsonObject
from pytest_nel.http import faults
from pytest_nel.http.retry import Fault
from pytest_nel.http.sse import END, event, object_of, payloads
from pytest_nel.interceptors._messages import choices_of

_SOON = 1.0  # seconds
_NO_MORE = '{"error": {"message": "the session is over", "type": "session_over"}}'


class Client:
    """A client's end of a request, which may be let go while the request goes on.

    Args:
        send: What is sent to it.

    Attributes:
        begun: Whether it has been sent anything.
        let_go: Whether nothing is sent to it any more.
    """

    def __init__(self, send: Send) -> None:
        self._send = send
        self._sending: asyncio.Task[Any] | None = None
        self._interrupted = False
        self._amid = False  # in an answer whose length it has not been told
        self.begun = False
        self.let_go = False

    async def send(self, message: Message) -> None:
        """Send it on, unless the client was let go."""
        if self.let_go:
            return
        self.begun = True
        self._sending = task = asyncio.current_task()
        assert task is not None
        try:
            await self._send(message)
            if message["type"] == "http.response.start":
                self._amid = all(name != b"content-length" for name, _ in message["headers"])
            else:
                self._amid = self._amid and message.get("more_body", False)
        except asyncio.CancelledError:
            if not self._interrupted or task.uncancel():
                raise
        finally:
            self._sending = None

    def leave(self) -> None:
        """Let it go; who waits for it to take something waits no more."""
        self.let_go = True
        if self._sending is not None:
            self._interrupted = True
            self._sending.cancel()

    async def dismiss(self) -> None:
        """Tell one that was let go amid a stream that no more comes, if it reads that soon."""
        if not self._amid:
            return
        last = {"type": "http.response.body", "body": event(_NO_MORE), "more_body": False}
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(_SOON):
                await self._send(last)

    def asks_again(self, fault: Fault) -> bool:
        """Whether a request is sent once more that has failed so.

        Without its client not one that had all of the service's time: how the service does is
        known then, and nobody reads what would come.
        """
        return not (self.let_go and fault.reason == faults.DEADLINE)


class Outlet:
    """One streamed reply to a client.

    Args:
        send: The client's end.
        hold: Whether to hold back the events from the first finish reason on: it may be mended
            by what is known at the end only.
        redact: Takes secrets out of a text.

    Attributes:
        begun: Whether the client has been sent anything.
        shows_usage: Whether the client asked for the event with the usage.
    """

    def __init__(self, send: Send, *, hold: bool, redact: Callable[[str], str]) -> None:
        self._send = send
        self._hold = hold
        self._redact = redact
        self._held: list[str] = []
        self._failed = False
        self.begun = False
        self.shows_usage = True

    async def begin(self, status: int, headers: dict[str, str]) -> None:
        """Send the head."""
        self.begun = True
        raw = [(name.encode("latin-1"), value.encode("latin-1")) for name, value in headers.items()]
        await self._send({"type": "http.response.start", "status": status, "headers": raw})

    async def block(self, block: str) -> list[str]:
        """Send an event on as it is, or hold it back; comments keep the connection alive and pass.

        Returns:
            The data in it.
        """
        if not block.strip():
            return []
        found = list(payloads(block))
        last = any(payload == END or _is_last(object_of(payload)) for payload in found)
        if found and (self._held or (self._hold and last)):
            self._held.append(block)
        else:
            await self._pass(block)
        return found

    async def fail(self, reply: Reply) -> None:
        """Say that no more comes, and why; without an end mark, so that nobody takes it for one."""
        if not self.begun or self._failed:
            return
        self._failed = True
        held, self._held = self._held, []
        for block in held:
            if END not in payloads(block):
                await self._pass(block)
        await self._write(event(self._redact(json.dumps(reply.body))))

    async def finish(self, reply: Reply) -> None:
        """Send what was held back, with the finish reasons of the reply, and the end."""
        reasons = {
            str(choice.get("index", 0)): choice.get("finish_reason")
            for choice in choices_of(reply.body)
        }
        for block in self._held:
            mended = _mended(block, reasons)
            await self._pass(block if mended is None else f"data: {json.dumps(mended)}")
        await self._send({"type": "http.response.body", "body": b"", "more_body": False})

    async def _pass(self, block: str) -> None:
        if not self.shows_usage and any(_is_usage(object_of(each)) for each in payloads(block)):
            return
        await self._write(self._redact(block).encode() + b"\n\n")

    async def _write(self, content: bytes) -> None:
        await self._send({"type": "http.response.body", "body": content, "more_body": True})


def _is_last(chunk: JsonObject | None) -> bool:
    return any(choice.get("finish_reason") for choice in choices_of(chunk))


def _is_usage(chunk: JsonObject | None) -> bool:
    return chunk is not None and chunk.get("choices") == [] and bool(chunk.get("usage"))


def _mended(block: str, reasons: Mapping[str, Any]) -> JsonObject | None:
    """The event's object with the finish reasons that hold; None when it has them."""
    chunk = next(map(object_of, payloads(block)), None)
    changed = False
    for choice in choices_of(chunk):
        reason = reasons.get(str(choice.get("index", 0)))
        if choice.get("finish_reason") and reason and choice["finish_reason"] != reason:
            choice["finish_reason"] = reason
            changed = True
    return chunk if changed else None
