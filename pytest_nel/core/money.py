"""What tokens cost."""

from collections.abc import Mapping
from typing import Any

_MILLION = 1_000_000


def costs(prompt: float, completion: float, prices: Mapping[str, Any]) -> tuple[float, float]:
    """What prompt and completion tokens cost.

    Args:
        prompt: Prompt tokens.
        completion: Completion tokens, reasoning included.
        prices: Money per million of each, under ``prompt`` and ``completion``.
    """
    return (
        prompt * float(prices["prompt"]) / _MILLION,
        completion * float(prices["completion"]) / _MILLION,
    )
