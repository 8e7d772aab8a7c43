r"""Edits of a file's text that keep every byte they are not asked to change.

Text is the file's bytes as UTF-8; what is none is kept as surrogates, which go back as the bytes
they were. Lines end at ``\n`` alone; a file whose every line ends in ``\r\n`` stays one.
"""

from collections.abc import Sequence

from pytest_nel.core.text import storable


class CannotEdit(Exception):
    """An edit that is not possible; the message is for the model."""


def text_of(data: bytes) -> str:
    """The text of a file."""
    return data.decode("utf-8", "surrogateescape")


def bytes_of(text: str) -> bytes:
    """The bytes of a text; the inverse of :func:`text_of`."""
    return text.encode("utf-8", "surrogateescape")


def replaced(text: str, old: str, new: str, path: str) -> str:
    r"""The text with the one place of ``old`` replaced.

    Where ``old`` is not there as it stands, its line ends are tried as ``\r\n``.

    Raises:
        CannotEdit: It is empty, not there, or there more than once.
    """
    if not old:
        msg = "old_str must not be empty: to add text use the command insert"
        raise CannotEdit(msg)
    if _all_crlf(text):
        old, new = _crlf(old), _crlf(new)
    places = _places(text, old)
    if not places and "\n" in old:
        old, new = _crlf(old), _crlf(new)
        places = _places(text, old)
    if not places:
        msg = f"old_str not found in {path}."
        raise CannotEdit(msg)
    if len(places) > 1:
        msg = f"old_str found {len(places)} times in {path}. Must be unique."
        raise CannotEdit(msg)
    return text[: places[0]] + new + text[places[0] + len(old) :]


def inserted(text: str, after: int, new: str) -> str:
    """The text with lines put in after line ``after``; 0 is before the first.

    Raises:
        CannotEdit: There is no such line.
    """
    lines = _lines(text)
    if not 0 <= after <= len(lines):
        msg = f"insert_line must be between 0 and {len(lines)}, got {after}"
        raise CannotEdit(msg)
    end = "\r\n" if _all_crlf(text) else "\n"
    new = _crlf(new) if end == "\r\n" else new
    new = new if new.endswith("\n") else new + end
    before = "".join(lines[:after])
    if before and not before.endswith("\n"):
        before += end
    return before + new + "".join(lines[after:])


def numbered(text: str, view_range: Sequence[int] | None = None) -> str:
    """The lines with their numbers, six wide, and a tab.

    Args:
        text: The file's.
        view_range: First and last line, from 1, clipped to the file; a last of -1 is its end.

    Raises:
        CannotEdit: The range is empty.
    """
    lines = [line.removesuffix("\n").removesuffix("\r") for line in _lines(text)]
    first, last = 1, len(lines)
    if view_range is not None:
        first = max(1, view_range[0])
        last = len(lines) if view_range[1] == -1 else min(len(lines), view_range[1])
        if first > last:
            msg = f"view_range {list(view_range)} holds no line: the file has {len(lines)}"
            raise CannotEdit(msg)
    shown = (f"{at:6}\t{lines[at - 1]}" for at in range(first, last + 1))
    return storable_bytes("\n".join(shown))


def storable_bytes(text: str) -> str:
    """The text with a replacement character for each byte that is no UTF-8."""
    return storable("".join("\ufffd" if "\udc80" <= c <= "\udcff" else c for c in text))


def _lines(text: str) -> list[str]:
    parts = text.split("\n")
    whole = [part + "\n" for part in parts[:-1]]
    return [*whole, parts[-1]] if parts[-1] else whole


def _places(text: str, old: str) -> list[int]:
    """Where it is, overlapping places as well."""
    found: list[int] = []
    at = text.find(old)
    while at >= 0:
        found.append(at)
        at = text.find(old, at + 1)
    return found


def _all_crlf(text: str) -> bool:
    return "\n" in text and text.count("\r\n") == text.count("\n")


def _crlf(text: str) -> str:
    return text.replace("\r\n", "\n").replace("\n", "\r\n")
