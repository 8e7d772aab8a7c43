"""``{port}`` and ``{host}`` in what a suite says about a command."""

import re
from collections.abc import Iterator, Mapping

#: What a shell or a doubled brace says comes first, so that it is never read as a placeholder.
_PLACEHOLDER = re.compile(
    r"(?P<shell>\$\{)|\{\{(?P<literal>[A-Za-z_]\w*)\}\}|\{(?P<name>[A-Za-z_]\w*)\}"
)
_KNOWN = ("host", "port")


def words(command: str | list[str]) -> list[str]:
    """A line, or a program and its arguments, as a list."""
    return [command] if isinstance(command, str) else command


def check(text: str) -> None:
    """Refuse what cannot be filled in; the text itself is not quoted, it may hold a secret."""
    if "\0" in text:
        msg = "expected text without NUL characters"
        raise ValueError(msg)
    for name in named(text):
        if name not in _KNOWN:
            msg = (
                f"unknown placeholder {{{name}}}: known are {{host}} and {{port}}; "
                f"write {{{{{name}}}}} for the literal text"
            )
            raise ValueError(msg)


def named(text: str) -> Iterator[str]:
    """The placeholders of a text."""
    return (match["name"] for match in _PLACEHOLDER.finditer(text) if match["name"])


def fill(text: str, facts: Mapping[str, str]) -> str:
    """The text with placeholders replaced."""

    def filled(match: re.Match[str]) -> str:
        if match["shell"]:
            return match["shell"]
        return f"{{{match['literal']}}}" if match["literal"] else facts[match["name"]]

    return _PLACEHOLDER.sub(filled, text)
