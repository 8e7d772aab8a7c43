"""One rule for what counts as solved, where two systems have rules of their own."""

from dataclasses import replace

from pytest_nel.gate.evidence import Side
from pytest_nel.gate.metrics import solves


def solved_alike(baseline: Side, candidate: Side, metric: str) -> tuple[Side, Side, list[str]]:
    """Both sides by ``pass_at`` of the one that is ours, and a note where that changed anything.

    For the reference system whatever has a reward above 0 is solved. Where its rewards are
    fractional, ``pass@k`` across the systems would compare two different questions.
    """
    sides = {"baseline": baseline, "candidate": candidate}
    theirs = [name for name, side in sides.items() if not side.bundle.get("fingerprint")]
    if not solves(metric) or len(theirs) != 1:
        return baseline, candidate, []
    [name] = theirs
    side = sides[name]
    if all(row.reward in (None, 0.0, 1.0) for row in side.rows):
        return baseline, candidate, []
    [facts] = [one.bundle["fingerprint"] for one in sides.values() if one.bundle.get("fingerprint")]
    said = facts.get("pass_at")
    pass_at = float(said) if type(said) in (int, float) else 1.0
    rows = [
        row._replace(correct=row.reward is not None and row.reward >= pass_at) for row in side.rows
    ]
    sides[name] = replace(side, rows=rows)
    note = f"the {name} is of the reference system: solved is a reward of {pass_at:g} on both sides"
    return sides["baseline"], sides["candidate"], [note]
