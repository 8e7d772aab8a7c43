"""How a benchmark's scorer hands an answer to a judge."""

import math
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_nel.core.errors import ScorerError
from pytest_nel.core.types import JsonObject, VerifyResult

NEEDS_JUDGE = "needs_judge"
"""Key of ``scoring_details`` that asks for a judge; true, or what the judge is to see."""


class Request(NamedTuple):
    """What a judge is to see; None means what the attempt has.

    Attributes:
        response: The answer.
        reference: The right answer.
        criteria: Criteria with points.
        rubric: By what it is to judge this problem.
        beside: What is known already: a reward, and its weight in the attempt's.
    """

    response: str | None = None
    reference: str | None = None
    criteria: object = None
    rubric: str | None = None
    beside: tuple[float, float] | None = None

    def joined(self, share: float) -> float:
        """The attempt's reward, where a judge's is ``share``."""
        if self.beside is None:
            return share
        known, weight = self.beside
        return min(1.0, max(0.0, known * weight + share * (1 - weight)))


def needs_judge(
    *,
    response: str | None = None,
    reference: str | None = None,
    criteria: Sequence[Mapping[str, Any]] | None = None,
    rubric: str | None = None,
    beside: tuple[float, float] | None = None,
    extracted: str | None = None,
    **details: Any,
) -> VerifyResult:
    """Return this from a scorer that leaves the verdict to a judge.

    The benchmark says so with ``judge=``, and the suite names the judge. A scorer that can decide
    by itself returns its reward, and nobody is asked.

    Args:
        response: What the judge sees in place of the response.
        reference: What it sees in place of the gold answer.
        criteria: For preset ``healthbench``: mappings with ``criterion`` and ``points``.
        rubric: For preset ``rubric``: by what it is to judge this problem.
        beside: A reward that the scorer has found itself, and its weight in the attempt's: with
            ``(1.0, 0.6)`` the judge's verdict is worth 0.4.
        extracted: What the scorer took as the answer.
        details: Further ``scoring_details``.

    Raises:
        ScorerError: ``beside`` is no reward with a weight below 1.
    """
    said: JsonObject = {"response": response, "reference": reference, "criteria": criteria}
    said |= {"rubric": rubric, "beside": None if beside is None else list(beside)}
    if beside is not None and _beside(beside) is None:
        msg = f"needs_judge: beside: expected a reward and its weight, below 1, got {beside!r}"
        raise ScorerError(msg)
    asks = {name: value for name, value in said.items() if value is not None}
    return VerifyResult(
        reward=0.0, extracted_answer=extracted, scoring_details={**details, NEEDS_JUDGE: asks}
    )


def wants_judge(details: Mapping[str, Any]) -> bool:
    """Whether a scorer's details ask for a judge."""
    asks = details.get(NEEDS_JUDGE)
    return asks is True or isinstance(asks, Mapping)


def request_of(details: Mapping[str, Any]) -> Request:
    """What a scorer's details ask of a judge."""
    asks = details.get(NEEDS_JUDGE)
    if not isinstance(asks, Mapping):
        return Request()
    texts = {
        name: None if (value := asks.get(name)) is None else str(value)
        for name in ("response", "reference", "rubric")
    }
    return Request(**texts, criteria=asks.get("criteria"), beside=_beside(asks.get("beside")))


def _beside(value: object) -> tuple[float, float] | None:
    """A reward and its weight; None for anything else."""
    if not isinstance(value, Sequence) or isinstance(value, str) or len(value) != 2:
        return None
    if not all(isinstance(part, int | float) and math.isfinite(part) for part in value):
        return None
    reward, weight = (float(part) for part in value)
    return (reward, weight) if 0 <= reward <= 1 and 0 <= weight < 1 else None
