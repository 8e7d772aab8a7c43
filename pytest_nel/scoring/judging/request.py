"""How a benchmark's scorer hands an answer to a judge."""

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

from pytest_nel.core.types import JsonObject, VerifyResult

NEEDS_JUDGE = "needs_judge"
"""Key of ``scoring_details`` that asks for a judge; true, or what the judge is to see."""


class Request(NamedTuple):
    """What a judge is to see; None means what the attempt has.

    Attributes:
        response: The answer.
        reference: The right answer.
        criteria: Criteria with points.
    """

    response: str | None = None
    reference: str | None = None
    criteria: object = None


def needs_judge(
    *,
    response: str | None = None,
    reference: str | None = None,
    criteria: Sequence[Mapping[str, Any]] | None = None,
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
        extracted: What the scorer took as the answer.
        details: Further ``scoring_details``.
    """
    said: JsonObject = {"response": response, "reference": reference, "criteria": criteria}
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
    response, reference = asks.get("response"), asks.get("reference")
    return Request(
        None if response is None else str(response),
        None if reference is None else str(reference),
        asks.get("criteria"),
    )
