"""Events passed on to a client while they come from the endpoint."""

import json
from collections.abc import AsyncIterator, Callable, Mapping
from typing import Any

from starlette.types import Send

from pytest_nel.core.exchange import Reply
from pytest_nel.core.types import JsonObject
from pytest_nel.interceptors._messages import choices_of
from pytest_nel.interceptors._stream import END, event, object_of, payloads


async def event_blocks(pieces: AsyncIterator[bytes]) -> AsyncIterator[str]:
    """Whole events, or comments, from the pieces of a stream; all line ends are made one."""
    waiting = b""
    async for piece in pieces:
        waiting = waiting + piece
        whole, ended, rest = waiting.replace(b"\r\n", b"\n").rpartition(b"\n\n")
        if ended:
            waiting = rest
            for block in whole.split(b"\n\n"):
                yield block.decode("utf-8", "replace")
    if waiting.strip():
        yield waiting.decode("utf-8", "replace")


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
