"""Takes the API key out of what a server says, however it is written there."""

import mmap
import re
from collections.abc import Iterable
from dataclasses import replace
from pathlib import Path
from typing import Any

from pytest_nel.core.types import ModelResponse

_SHOWN = "[API key]"
REAL_KEY = 16
"""Characters; a shorter one (EMPTY, none, test) is a word that an answer may hold."""
_HALF_A_KEY = 8
_DEEPEST = 50
_ESCAPES = (b"\\u", b"\\/")
_FIELDS = (
    "content",
    "model",
    "finish_reason",
    "reasoning_content",
    "refusal",
    "tool_calls",
    "raw_response",
)


class Secret:
    """One key and the ways in which it may be echoed.

    Args:
        key: The key; empty when there is none.
    """

    def __init__(self, key: str) -> None:
        self._key = key
        self._raw = key.encode()
        self._written = re.compile("".join(map(_ways_to_write, key)))

    def out_of_text(self, text: str) -> str:
        """The text without the key, and without a beginning of it where the text was cut."""
        if not self._key:
            return text
        text = self._written.sub(_SHOWN, text)
        for length in range(len(self._key) - 1, 3, -1):
            if text.endswith(self._key[:length]):
                return text[:-length] + _SHOWN
        return text

    def out_of_line(self, text: str) -> str:
        """The text without the whole key: what merely ends like its beginning stays."""
        return self._written.sub(_SHOWN, text) if self._key else text

    def out_of_reply(self, reply: ModelResponse, body: bytes) -> ModelResponse:
        """A reply is recorded: one that echoes the request must not carry the key along.

        Args:
            reply: What was read.
            body: What it was read from: where the key cannot be in it, nothing is looked through.
        """
        if len(self._key) < REAL_KEY or not self._may_hold(body):
            return reply
        changes = {name: self._out_of(getattr(reply, name), 0) for name in _FIELDS}
        return replace(reply, **changes)

    def out_of_body(self, body: Any, content: bytes) -> Any:  # Any: JSON values or bytes
        """A reply's body without the key; ``content`` is what it was read from."""
        if len(self._key) < REAL_KEY or not self._may_hold(content):
            return body
        if not isinstance(body, bytes):
            return self._out_of(body, 0)
        text = body.decode("utf-8", "surrogateescape")
        return self._written.sub(_SHOWN, text).encode("utf-8", "surrogateescape")

    def out_of_bytes(self, content: mmap.mmap) -> None:
        """Overwrite it with stars, in place."""
        at = content.find(self._raw)
        while at >= 0:
            end = at + len(self._raw)
            content[at:end] = b"*" * len(self._raw)
            at = content.find(self._raw, end)

    def _may_hold(self, body: bytes) -> bool:
        if self._raw in body or any(escape in body for escape in _ESCAPES):
            return True
        in_pieces = not body.lstrip().startswith(b"{")  # a stream: the key may be cut in two
        return in_pieces or '"' in self._key or "\\" in self._key

    def _out_of(self, value: Any, depth: int) -> Any:  # Any: walks JSON values
        if isinstance(value, str):
            return self._written.sub(_SHOWN, value)
        if depth > _DEEPEST:
            return None
        if isinstance(value, dict):
            return {
                self._out_of(name, depth): self._out_of(item, depth + 1)
                for name, item in value.items()
            }
        if isinstance(value, list | tuple):
            return type(value)(self._out_of(item, depth + 1) for item in value)
        return value


class Secrets:
    """Several of them: the API key, and what headers carry.

    Args:
        values: Them; empty ones do not count.
    """

    def __init__(self, values: Iterable[str]) -> None:
        known = sorted({value for value in values if value}, key=len, reverse=True)
        self._all = [Secret(value) for value in known]
        self._real = [Secret(value) for value in known if len(value) >= _HALF_A_KEY]

    def out_of_text(self, text: str) -> str:
        """As :meth:`Secret.out_of_text`."""
        for secret in self._all:
            text = secret.out_of_text(text)
        return text

    def out_of_json(self, text: str) -> str:
        """JSON text without them; one of a few characters is a word that any text may hold."""
        for secret in self._real:
            text = secret.out_of_text(text)
        return text

    def out_of_line(self, text: str) -> str:
        """As :meth:`Secret.out_of_line`; one of a few characters is a word like others."""
        for secret in self._real:
            text = secret.out_of_line(text)
        return text

    def out_of_file(self, path: Path) -> None:
        """Overwrite them with stars where they stand in a file, as they are; its size stays.

        Raises:
            OSError: It cannot be read or written.
        """
        if not self._real or not path.stat().st_size:
            return
        with path.open("r+b") as file, mmap.mmap(file.fileno(), 0) as content:
            for secret in self._real:
                secret.out_of_bytes(content)

    def out_of_body(self, body: Any, content: bytes) -> Any:  # Any: JSON values or bytes
        """As :meth:`Secret.out_of_body`."""
        for secret in self._all:
            body = secret.out_of_body(body, content)
        return body

    def out_of_reply(self, reply: ModelResponse, body: bytes) -> ModelResponse:
        """As :meth:`Secret.out_of_reply`."""
        for secret in self._all:
            reply = secret.out_of_reply(reply, body)
        return reply


def _ways_to_write(character: str) -> str:
    """A character as it is, or as JSON escapes it; JSON within JSON doubles the backslashes."""
    plain = re.escape(character)
    if character in '/"\\':
        plain = rf"\\*{plain}"
    return rf"(?:{plain}|\\+u00(?i:{ord(character):02x}))"
