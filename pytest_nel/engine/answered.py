"""What a solver returned, as a record has it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_nel.core.errors import FailureKind
from pytest_nel.core.protocols import Solver
from pytest_nel.core.types import ModelResponse, SolveResult
from pytest_nel.records.record import Solved, model_facts
from pytest_nel.scoring.reasoning import split_reasoning

_RESULT_FIELDS: Sequence[tuple[str, Any, str]] = (  # Any: what isinstance takes
    ("response", str, "text"),
    ("model_response", ModelResponse | None, "a ModelResponse or None"),
    ("trajectory", Sequence, "a list"),
    ("scoring_details", Mapping, "a dict"),
    ("no_model", bool, "true or false"),
)


def not_a(kind: type, value: object) -> str | None:
    """What a part of a user's should have returned, or None where it did."""
    if isinstance(value, kind):
        return None
    return f"must return a {kind.__name__}, got {type(value).__name__}"


def of_solver(solver: Solver, result: SolveResult) -> SolveResult:
    """The same, and that no model was asked, where its solver says so of all that it returns.

    A fixture's solver may return something else than it should, which passes as it is.
    """
    asks = getattr(solver, "asks_model", True)
    return replace(result, no_model=True) if asks is False and _says_nothing(result) else result


def _says_nothing(result: object) -> bool:
    return isinstance(result, SolveResult) and result.model_response is None


def answered(solved: Solved, result: object) -> None:
    """Note what a solver returned, or that it is nothing one may return."""
    if not isinstance(result, SolveResult):
        failed(solved, FailureKind.SYSTEM, f"solve() {not_a(SolveResult, result)}")
        return
    for name, kind, wanted in _RESULT_FIELDS:
        value = getattr(result, name)
        if not isinstance(value, kind):
            msg = f"solve() returned a SolveResult with {name}={value!r:.80}; it must be {wanted}"
            failed(solved, FailureKind.SYSTEM, msg)
            return
    reply = result.model_response
    solved.no_model = reply is None and result.no_model
    reward: Any = result.reward  # Any: a solver of a user's may have put anything there
    if reply is not None:
        solved.model, solved.sampling = model_facts(reply), reply.sampling
        solved.cached = reply.requests == 0
    solved.response, solved.reasoning = split_reasoning(
        result.response, reply.reasoning_content if reply is not None else None
    )
    solved.trajectory = result.trajectory
    solved.details = result.scoring_details
    solved.reward = float(reward) if hasattr(reward, "__float__") else reward  # numpy's too


def failed(solved: Solved, kind: FailureKind, text: str) -> Solved:
    """Note why there is no answer."""
    solved.failure, solved.error = str(kind), text
    return solved
