"""Chat messages as requests have them: text or parts."""

from typing import Any

from pytest_nel.core.types import JsonObject


def text_of(content: Any) -> str:  # Any: what a request may hold there
    """The text of a message's content; parts without text count as none."""
    if isinstance(content, str):
        return content
    if not isinstance(content, list):
        return ""
    parts = (
        part if isinstance(part, str) else part.get("text") if isinstance(part, dict) else None
        for part in content
    )
    return "".join(part for part in parts if isinstance(part, str))


def messages_of(body: JsonObject) -> list[Any]:
    """The messages of a chat request; an empty list, not in the body, where it has none."""
    messages = body.get("messages")
    return messages if isinstance(messages, list) else []


def is_system(message: object) -> bool:
    """Whether it is a system message; ``developer`` is what newer APIs call one."""
    return isinstance(message, dict) and message.get("role") in ("system", "developer")


def choices_of(body: object) -> list[JsonObject]:
    """The choices of a reply that are objects."""
    choices = body.get("choices") if isinstance(body, dict) else None
    return [each for each in choices if isinstance(each, dict)] if isinstance(choices, list) else []
