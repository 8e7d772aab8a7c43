"""What a verifier said, or why it said nothing, as a judgement."""

import time
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any

from pytest_nel.core.errors import InfraError, ScorerError
from pytest_nel.core.types import Outcome, VerifyResult
from pytest_nel.records.record import Scored, Solved
from pytest_nel.scoring.result import to_verify_result


def without_scorer(solved: Solved, pass_at: float) -> Scored | None:
    """The judgement of an attempt that needs no scorer, or None."""
    if solved.failure is not None and solved.graceful:
        details = {"method": "solver", "error": solved.error}
        return Scored("wrong", 0.0, None, details, failure=solved.failure, error=solved.error)
    if solved.failure is not None:
        return Scored("unscored", None, failure=solved.failure, error=solved.error)
    if solved.reward is not None:
        try:
            judged = to_verify_result(
                solved.reward, method="solver", where="the solver", response=solved.response
            )
        except ScorerError as error:
            return no_score(error, time.perf_counter())
        return judgement(solved, judged, pass_at, time.perf_counter())
    return None


def for_verifier(solved: Solved) -> Mapping[str, Any]:
    """The seed's metadata as keyword arguments; reserved names never shadow the arguments."""
    reserved = {"self", "response", "expected", "sandbox"}
    return {name: value for name, value in solved.metadata.items() if name not in reserved}


def judgement(solved: Solved, judged: VerifyResult, pass_at: float, began: float) -> Scored:
    """By what a verifier returned; ``began`` is when it was asked (perf_counter)."""
    missed: Outcome = "wrong" if judged.parsed else "unparsed"
    return Scored(
        "correct" if judged.reward >= pass_at else missed,
        judged.reward,
        judged.extracted_answer,
        {**solved.details, **judged.scoring_details},
        judged.metadata,
        verify_ms=(time.perf_counter() - began) * 1000,
    )


def no_score(error: InfraError, began: float) -> Scored:
    """Missing, since the verifier failed."""
    millis = (time.perf_counter() - began) * 1000
    return Scored("unscored", None, failure=str(error.kind), error=str(error), verify_ms=millis)


def without_secrets(scored: Scored, redact: Callable[[str], str]) -> Scored:
    """The same with every error masked: that of the verifier and those of further scorers."""
    said = {name: _masked(name, value, redact) for name, value in scored.details.items()}
    changes: dict[str, Any] = {"details": said} if said != scored.details else {}
    if scored.error is not None:
        changes["error"] = redact(scored.error)
    return replace(scored, **changes) if changes else scored


def _masked(name: str, value: Any, redact: Callable[[str], str]) -> Any:  # Any: JSON
    if name == "error" and isinstance(value, str):
        return redact(value)
    if isinstance(value, Mapping):
        return {key: _masked(str(key), inner, redact) for key, inner in value.items()}
    return value
