"""What a row of results.jsonl came to: one answer for gates, comparisons and reports.

Rows of the reference system have no outcome, and reward 0 for whatever went wrong.
"""

from collections.abc import Mapping
from typing import Any

_LARGEST = 1e100  # a reward beyond it has no square
_OUTCOMES = frozenset({"correct", "wrong", "unparsed", "unscored"})
_THE_MODEL = frozenset(
    {
        *("turn_budget_exhausted", "context_window_exceeded", "budget_exceeded"),
        *("graceful", "refusal", "format_error"),
    }
)
"""Error categories of the reference system that are an answer, though a bad one."""
_NOT_THE_MODEL = frozenset(
    {
        *("system", "infra_error", "tool_infra", "rate_limit", "server_error", "solve_timeout"),
        *("model_timeout", "model_error", "auth_error", "protocol_error", "scorer_error"),
        "judge_error",
    }
)
"""Those that leave a problem without a score, with or without an error in words."""


def judged(row: Mapping[str, Any]) -> tuple[float | None, str] | None:
    """Reward and outcome of a row; the reward is None where it is missing.

    Returns:
        None for a row whose outcome is none.
    """
    outcome = row.get("outcome")
    if outcome is None:
        return _theirs(row)
    if type(outcome) is not str or outcome not in _OUTCOMES:
        return None
    return (None if outcome == "unscored" else number(row.get("reward"))), outcome


def _theirs(row: Mapping[str, Any]) -> tuple[float | None, str]:
    """What did not come from the model has reward 0 there; here it is missing."""
    value, details = number(row.get("reward")), row.get("scoring_details")
    if value is None or (type(details) is dict and _lost(details)):
        return None, "unscored"
    return value, "correct" if value > 0 else "wrong"


def _lost(details: Mapping[str, Any]) -> bool:
    """Whether a failure of anything but the model is what the details tell of.

    A failure in words that names no category of the model's, or none at all, is of one that is not
    known: whatever the reward, nothing says that the model deserved it.
    """
    category = details.get("error_category")
    if not isinstance(category, str):
        category = ""
    if category in _NOT_THE_MODEL or details.get("needs_judge") is True:
        return True
    return (bool(details.get("error")) and category not in _THE_MODEL) or _unjudged(details)


def _unjudged(details: Mapping[str, Any]) -> bool:
    """Whether a judge was asked, and gave no points or none that could be read."""
    judge = details.get("judge")
    if not isinstance(judge, dict):
        return False
    failed = bool(judge.get("error")) and judge.get("total") is None
    return failed or bool(judge.get("parse_error"))


def number(value: object) -> float | None:
    """A reward; None for what is none: text, NaN, a number too large for arithmetic."""
    if type(value) is not float and type(value) is not int:
        return None
    return float(value) if -_LARGEST < value < _LARGEST else None
