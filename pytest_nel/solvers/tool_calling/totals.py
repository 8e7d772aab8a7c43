"""The calls of one attempt, summed up as if they had been one."""

from collections.abc import Sequence
from dataclasses import replace

from pytest_nel.core.types import ModelResponse


def together(replies: Sequence[ModelResponse], content: str, seconds: float) -> ModelResponse:
    """One reply that stands for all: the last, with the tokens and requests of every one.

    What one of them does not say of its tokens is unknown of the sum.

    Args:
        replies: In order; there is at least one.
        content: The answer.
        seconds: What the whole attempt took.
    """
    return replace(
        replies[-1],
        content=content,
        prompt_tokens=_sum([each.prompt_tokens for each in replies]),
        completion_tokens=_sum([each.completion_tokens for each in replies]),
        total_tokens=_sum([each.total_tokens for each in replies]),
        reasoning_tokens=_sum([each.reasoning_tokens for each in replies]),
        latency_ms=seconds * 1000.0,
        requests=sum(each.requests for each in replies),
        calls=sum(each.requests > 0 for each in replies),
        tool_calls=(),
        logprobs=None,
        raw_response=None,
    )


def _sum(counts: Sequence[int | None]) -> int | None:
    known = [count for count in counts if count is not None]
    return sum(known) if len(known) == len(counts) else None
