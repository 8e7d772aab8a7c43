"""Reasoning that a server leaves in its answers, by a pattern of the service's."""

import re
from dataclasses import replace

from pytest_nel.core.types import ModelResponse


def without(pattern: re.Pattern[str] | None, reply: ModelResponse) -> ModelResponse:
    """The reply with its reasoning out of the answer, and kept where it was not apart already."""
    found = [] if pattern is None else [match[0] for match in pattern.finditer(reply.content)]
    if pattern is None or not any(found):
        return reply
    return replace(
        reply,
        content=pattern.sub("", reply.content).strip(),
        reasoning_content=reply.reasoning_content or "\n".join(filter(None, found)),
    )
