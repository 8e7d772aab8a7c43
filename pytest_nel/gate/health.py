"""The check every benchmark has: were its attempts measured at all?"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from pytest_nel.gate.check import Check
from pytest_nel.gate.verdict import Exit


@dataclass(frozen=True, slots=True)
class Session:
    """What became of a benchmark in one session; an earlier one may have recorded more.

    Attributes:
        ended: Whether the session came to its end; an early one leaves the question open.
        selected: Attempts that were to be made or taken as recorded.
        recorded: How many of them were.
        unscored: How many of these have no score.
    """

    ended: bool
    selected: int
    recorded: int
    unscored: int = 0


def health(
    check_id: str,
    bundle: Mapping[str, Any],
    *,
    limit: int,
    session: Session,
    judges: int | None = None,
) -> Check:
    """Unscored attempts are at most ``limit``, and all that were selected have been recorded.

    Args:
        check_id: ``<suite>::<benchmark>::health``.
        bundle: The benchmark's bundle.
        limit: ``max_unscored``.
        session: What became of it just now.
        judges: ``max_judge_failures``; None for any number.
    """
    unscored, attempted = bundle["n_unscored"], bundle["n_attempted"]
    scored = f"{attempted - unscored} of {attempted} scored"
    if bundle.get("partial"):
        scored += f"; evaluated {bundle['evaluated']}"
    if lost := bundle.get("n_judge_failures"):
        scored += f"; {_lost(bundle, lost)}"
    why = _failure(bundle, limit, session) or _silent(bundle, judges)
    if why is not None:
        return Check(check_id, "failed", why, Exit.INCOMPLETE)
    why = _open(bundle, session)
    if why is not None:
        return Check(check_id, "open", why, Exit.INCOMPLETE)
    if again := bundle.get("n_made_again"):
        why = f"{again} attempts were made again because of their outcome: no fair sample"
        return Check(check_id, "open", why, Exit.INCONCLUSIVE)
    return Check(check_id, "passed", scored, Exit.GO)


def _silent(bundle: Mapping[str, Any], most: int | None) -> str | None:
    lost = bundle.get("n_judge_failures", 0)
    if most is None or lost <= most:
        return None
    return f"{_lost(bundle, lost)} (allowed: {most})"


def _lost(bundle: Mapping[str, Any], lost: int) -> str:
    unreadable = bundle.get("n_judge_unreadable", 0)
    return f"judges gave no verdict {lost} times, {unreadable} of them in unreadable replies"


def _failure(bundle: Mapping[str, Any], limit: int, session: Session) -> str | None:
    unscored, attempted = bundle["n_unscored"], bundle["n_attempted"]
    if unscored > limit or (unscored and unscored == attempted):
        text = f"{unscored} of {attempted} attempts have no score (allowed: {limit})"
        if unscored == attempted:
            text = f"none of {attempted} attempts has a score"
        lost = bundle.get("n_judge_failures")
        return f"{text}; {_lost(bundle, lost)}" if lost else text
    if session.unscored > limit:
        return f"{session.unscored} were made again and have no score; the earlier ones stand"
    return None


def _open(bundle: Mapping[str, Any], session: Session) -> str | None:
    if not session.ended:
        return f"the run ended after {bundle['n_attempted']} of {bundle['n_planned']} attempts"
    if session.recorded < session.selected:
        return f"only {session.recorded} of {session.selected} selected attempts were recorded"
    return None
