"""The two verdicts of a scorer: judged, or no answer found."""

from pytest_nel.core.types import VerifyResult

_EXTRACTED_LIMIT = 2000


def judged(
    method: str, extracted: str, *, correct: bool, rule: str, hint: str | None = None
) -> VerifyResult:
    """An answer was found; ``rule`` says how, ``hint`` why it may be wrong only by form."""
    details: dict[str, object] = {"method": method, "rule": rule, "correct": correct}
    if hint is not None:
        details["hint"] = hint
    return VerifyResult(
        reward=1.0 if correct else 0.0,
        extracted_answer=extracted[:_EXTRACTED_LIMIT],
        scoring_details=details,
    )


def unparsed(method: str, reason: str, *, rule: str = "none") -> VerifyResult:
    """No answer was found: reward 0, counted apart from wrong answers."""
    details = {"method": method, "rule": rule, "correct": False, "reason": reason}
    return VerifyResult(reward=0.0, scoring_details=details, parsed=False)
