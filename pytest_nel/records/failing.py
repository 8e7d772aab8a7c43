"""What went wrong in an attempt, as failure_analysis.json names it."""

import re
from collections.abc import Mapping
from typing import Any

REFUSAL = "refusal"
FORMAT_ERROR = "format_error"

_BEGINNING = 300
_REFUSES = re.compile(
    r"\b(?:I (?:cannot|can not|will not)|I (?:can|won)['’]t|I(?:['’]m| am) (?:unable|not able)"
    r"|as an AI|I do(?: not|n['’]t) have|I apologi[sz]e)\b",
    re.IGNORECASE,
)


def refused(solved: Mapping[str, Any], scored: Mapping[str, Any]) -> bool:
    """Whether the model declined to answer.

    The reply's own ``refusal`` field decides, or a solver's flag of that name. Without one it is
    a guess by words, which is made only where the scorer has found no answer, and only of how the
    response begins: "I cannot determine x exactly, but the answer is 5" declines nothing.
    """
    if solved.get("refusal") or (scored.get("details") or {}).get("refusal"):
        return True
    if scored["outcome"] != "unparsed":
        return False
    return bool(_REFUSES.search(str(solved.get("response", "")).lstrip()[:_BEGINNING]))


def truncated(solved: Mapping[str, Any]) -> bool:
    """Whether the reply was cut off: the server says so, or it used up all tokens allowed.

    Some servers say ``stop`` where reasoning has eaten the budget.
    """
    if solved.get("finish_reason") == "length":
        return True
    allowed, used = (
        (solved.get("sampling") or {}).get("max_tokens"),
        solved.get("completion_tokens"),
    )
    return isinstance(allowed, int) and isinstance(used, int) and 0 < allowed <= used


def failure_of(solved: Mapping[str, Any], scored: Mapping[str, Any]) -> str | None:
    """The failure category of an attempt, or None.

    First what the engine recorded: why there is no score, or how the model failed. Of the rest
    ``refusal`` is a reply that declines, and is not correct, ``format_error`` one without an
    answer in it that could be judged. An empty response is an observation, not a failure.
    """
    if recorded := scored.get("failure"):
        return str(recorded)
    if scored["outcome"] not in {"wrong", "unparsed"}:
        return None
    if refused(solved, scored):
        return REFUSAL
    blank = not str(solved.get("response", "")).strip()
    return FORMAT_ERROR if scored["outcome"] == "unparsed" and not blank else None
