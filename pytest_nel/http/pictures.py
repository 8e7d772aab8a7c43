"""Pictures of a problem as parts of the message that asks about them."""

import asyncio
import base64
import mimetypes
from collections.abc import Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from pytest_nel.core.errors import DataError
from pytest_nel.core.types import JsonObject, Message

Detail: TypeAlias = Literal["auto", "low", "high"]
_ELSEWHERE = ("http://", "https://", "data:")


async def with_images(
    messages: Sequence[Message], images: Sequence[str], detail: Detail
) -> list[Message]:
    """The conversation with the pictures after the text of its last user message.

    Files are read in a thread and sent as data URLs; URLs are sent as they are.

    Args:
        messages: The conversation; it is not changed.
        images: Paths or URLs.
        detail: How closely the model is to look.

    Raises:
        DataError: A file cannot be read, is no picture, or no user message is there.
    """
    at = max((i for i, one in enumerate(messages) if one.get("role") == "user"), default=None)
    if at is None:
        msg = "the problem has pictures and no user message that they could belong to"
        raise DataError(msg)
    urls = await as_urls(images)
    content = messages[at].get("content")
    text = [{"type": "text", "text": content}] if isinstance(content, str) else list(content or ())
    asked = {**messages[at], "content": [*text, *(_part(url, detail) for url in urls)]}
    return [*messages[:at], asked, *messages[at + 1 :]]


async def as_urls(images: Sequence[str]) -> list[str]:
    """Pictures as URLs that mean the same anywhere: files as data URLs.

    Raises:
        DataError: A file cannot be read, or is no picture.
    """
    return [image if image.startswith(_ELSEWHERE) else await _data_url(image) for image in images]


def _part(url: str, detail: Detail) -> JsonObject:
    return {"type": "image_url", "image_url": {"url": url, "detail": detail}}


async def _data_url(path: str) -> str:
    kind = mimetypes.guess_type(path)[0] or ""
    if not kind.startswith("image/"):
        msg = f"{path}: the name of a picture ends in .png, .jpg, .webp or .gif"
        raise DataError(msg)
    try:
        data = await asyncio.to_thread(Path(path).read_bytes)
    except OSError as error:
        msg = f"{path}: this picture cannot be read: {error.strerror or error}"
        raise DataError(msg) from error
    return f"data:{kind};base64,{base64.b64encode(data).decode('ascii')}"
