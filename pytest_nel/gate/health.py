"""The check every benchmark has: were its attempts measured at all?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, Literal

from pytest_nel.gate.verdict import Exit


@dataclass(frozen=True, slots=True)
class Check:
    """One decision about a benchmark.

    Attributes:
        id: ``<suite>::<benchmark>::health``.
        status: Whether it holds; ``open`` when the run ended before it could be decided.
        reason: One line.
        code: The exit code this check asks for.
    """

    id: str
    status: Literal["passed", "failed", "open"]
    reason: str
    code: Exit

    def as_json(self) -> dict[str, Any]:
        """For checks.json."""
        return {
            "id": self.id,
            "status": self.status,
            "reason": self.reason,
            "exit_code": int(self.code),
        }


def health(
    check_id: str, bundle: Mapping[str, Any], *, limit: int, ended: bool, selected: int
) -> Check:
    """Unscored attempts are at most ``limit``, and all that were selected have been recorded.

    Args:
        check_id: ``<suite>::<benchmark>::health``.
        bundle: The benchmark's bundle.
        limit: ``max_unscored``.
        ended: Whether the run came to its end; an early one leaves the question open.
        selected: Attempts that were to be made.
    """
    unscored, attempted = bundle["n_unscored"], bundle["n_attempted"]
    if unscored > limit:
        reason = f"{unscored} of {attempted} attempts have no score (allowed: {limit})"
        return Check(check_id, "failed", reason, Exit.INCOMPLETE)
    if not ended:
        reason = f"the run ended after {attempted} of {bundle['n_planned']} attempts"
        return Check(check_id, "open", reason, Exit.INCOMPLETE)
    if attempted < selected:
        reason = f"only {attempted} of {selected} selected attempts were recorded"
        return Check(check_id, "open", reason, Exit.INCOMPLETE)
    if again := bundle.get("n_made_again"):
        reason = f"{again} attempts were made again because of their outcome: no fair sample"
        return Check(check_id, "open", reason, Exit.INCONCLUSIVE)
    reason = f"{attempted - unscored} of {attempted} scored"
    if bundle.get("partial"):
        reason += f"; evaluated {bundle['evaluated']}"
    return Check(check_id, "passed", reason, Exit.GO)
