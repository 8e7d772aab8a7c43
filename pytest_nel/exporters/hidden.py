"""Takes the values of secrets out of what leaves the machine."""

import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from pytest_nel.core.types import JsonObject
from pytest_nel.http.secret import Secrets
from pytest_nel.records.record import dumps

_SHORTEST = 8  # characters; a shorter one is a word that any text may hold
_NO_JSON = (ValueError, RecursionError)
_ESCAPES = ("\\u", "\\/")


class Hidden:
    """Texts and files without certain values.

    Args:
        values: The secrets; those of fewer than 8 characters do not count.
    """

    def __init__(self, values: Iterable[str] = ()) -> None:
        known = {value for value in values if len(value) >= _SHORTEST}
        self._secrets = Secrets(known)
        self._written = {form for value in known for form in (value, json.dumps(value)[1:-1])}

    def text(self, text: str) -> str:
        """The text without them."""
        if not self._may_be_in(text):
            return text
        return self._secrets.out_of_line(text)

    def json(self, value: JsonObject) -> JsonObject:
        """The object without them."""
        found: JsonObject = self._out_of(value)
        return found

    def line(self, text: str) -> Any:  # Any: JSON
        """The value of a line of JSON without them.

        Raises:
            ValueError: It is no JSON.
            RecursionError: It is nested too deeply.
        """
        value = json.loads(text)
        return self._out_of(value) if self._may_be_in(text) else value

    def copy(self, source: Path, target: Path) -> None:
        """Write a file of JSON lines again without them.

        Raises:
            OSError: One of the files cannot be read or written.
        """
        with (
            source.open(encoding="utf-8", errors="replace", newline="\n") as lines,
            target.open("w", encoding="utf-8", newline="\n") as file,
        ):
            file.writelines(map(self._copied, lines))

    def _copied(self, text: str) -> str:
        if not self._may_be_in(text):
            return text
        try:
            return dumps(self.line(text)) + "\n"
        except _NO_JSON:
            return self.text(text)

    def _out_of(self, value: Any) -> Any:  # Any: JSON
        """Of values, since JSON in which texts are replaced may be none any more."""
        if isinstance(value, str):
            return self._secrets.out_of_line(value)
        if isinstance(value, Mapping):
            return {self._out_of(name): self._out_of(inner) for name, inner in value.items()}
        if isinstance(value, list):
            return [self._out_of(inner) for inner in value]
        return value

    def _may_be_in(self, text: str) -> bool:
        """Looked at first, since patterns that know every way to write a secret are slow."""
        if not self._written:
            return False
        return any(form in text for form in (*self._written, *_ESCAPES))
