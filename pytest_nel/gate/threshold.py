"""The check that a benchmark's score is high enough, whatever any other run had."""

from pytest_nel.gate.check import Check
from pytest_nel.gate.evidence import Side
from pytest_nel.gate.feasible import needed_for_score
from pytest_nel.gate.limits import min_score
from pytest_nel.gate.metrics import METRIC
from pytest_nel.gate.score import score_of
from pytest_nel.gate.verdict import Exit


def threshold(check_id: str, side: Side, least: float, evidence: str) -> Check:
    """Decide it on the 95 % interval, or on the score alone.

    What is missing counts both ways. A part of a dataset (``max_problems``, a shard), and one whose
    wrong answers were asked for again, can fall short and cannot pass; so it is in a gate.

    Args:
        check_id: ``<suite>::<benchmark>::threshold``.
        side: The benchmark with its rows.
        least: ``min_score``.
        evidence: ``ci`` or ``point``.
    """
    found = min_score("min_score", least, score_of(side, METRIC), evidence)
    status, reason = found.status, found.reason
    why = side.biased or side.incomplete or _limited(side)
    if why is not None and status == "PASS":
        status, reason = "INSUFFICIENT_EVIDENCE", f"{reason}; but {why}"
    if status == "PASS":
        return Check(check_id, "passed", reason, Exit.GO, found.numbers)
    if status == "BREACH":
        return Check(check_id, "failed", reason, Exit.NO_GO, found.numbers)
    return Check(check_id, "open", reason, Exit.INCONCLUSIVE, found.numbers)


def _limited(side: Side) -> str | None:
    planned, total = side.planned, side.total
    if planned is None or total is None or planned >= total:
        return None
    return f"only {planned:,} of {total:,} problems were measured (max_problems)"


def cannot_reach(least: float, problems: int, evidence: str) -> str | None:
    """Why even a perfect score could not pass, or None."""
    if evidence != "ci":
        return None
    needed = needed_for_score(least)
    if needed is not None and problems >= needed:
        return None
    how = "no number is enough" if needed is None else f"at least {needed:,} are needed"
    return (
        f"min_score {least:g} cannot be shown with {problems:,} problems, even by a perfect score: "
        f"{how}; lower it, or say `evidence: point`"
    )
