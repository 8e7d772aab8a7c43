"""The same attempts of two runs beside each other."""

from collections import Counter
from collections.abc import Hashable, Sequence
from dataclasses import dataclass, field
from typing import Literal, NamedTuple

from pytest_nel.gate.pairs import are_keys
from pytest_nel.reports.samples import Light

Kind = Literal["regression", "improvement", "lower", "higher"]


class Flip(NamedTuple):
    """An attempt that came out otherwise than in the baseline.

    Attributes:
        candidate: Its position among the candidate's rows.
        baseline: Its position among the baseline's.
        kind: ``regression`` where only the baseline's is correct, ``improvement`` where only the
            candidate's is, else how the reward differs.
    """

    candidate: int
    baseline: int
    kind: Kind


@dataclass(frozen=True, slots=True)
class Paired:
    """Two runs of a benchmark, attempt by attempt.

    Attributes:
        by: What identifies a problem: ``problem_id`` or ``problem_idx``.
        pairs: How many attempts both runs have scored.
        flips: Those that differ, in the candidate's order.
        counts: Of the pairs: ``both`` correct, ``neither``, ``regression``, ``improvement``; of the
            others: ``unscored`` on a side.
        only_candidate: Problems that only the candidate has.
        only_baseline: Problems that only the baseline has.
        unmatched: Attempts at common problems that only one side has.
    """

    by: str
    pairs: int
    flips: Sequence[Flip]
    counts: Counter[str] = field(default_factory=Counter)
    only_candidate: int = 0
    only_baseline: int = 0
    unmatched: int = 0


def pair(candidate: Sequence[Light], baseline: Sequence[Light]) -> Paired:
    """Pair attempts by problem and repeat.

    A problem is known as gates and comparisons know it: by its ``problem_id`` where every row of
    both sides has one that no other problem has, else by its index in the dataset.
    """
    by = "problem_id" if _have_ids(candidate) and _have_ids(baseline) else "problem_idx"
    ours, theirs = (_keyed(rows, by) for rows in (candidate, baseline))
    flips: list[Flip] = []
    counts: Counter[str] = Counter()
    for key in ours.keys() & theirs.keys():
        flip = _flip(candidate, ours[key], baseline, theirs[key])
        if isinstance(flip, Flip):
            flips.append(flip)
            if flip.kind in {"regression", "improvement"}:
                counts[flip.kind] += 1
            else:
                counts["neither"] += candidate[flip.candidate].outcome != "correct"
                counts["both"] += candidate[flip.candidate].outcome == "correct"
        else:
            counts[flip] += 1
    ours_problems, their_problems = ({key[0] for key in side} for side in (ours, theirs))
    common = ours_problems & their_problems
    unmatched = sum(key[0] in common for key in ours.keys() ^ theirs.keys())
    return Paired(
        by,
        sum(counts.values()) - counts["unscored"],
        sorted(flips),
        counts,
        len(ours_problems - their_problems),
        len(their_problems - ours_problems),
        unmatched,
    )


def _have_ids(rows: Sequence[Light]) -> bool:
    return are_keys([row.problem_id for row in rows], [row.problem_idx for row in rows])


def _keyed(rows: Sequence[Light], by: str) -> dict[tuple[Hashable, int], int]:
    return {(getattr(row, by), row.repeat): position for position, row in enumerate(rows)}


def _flip(
    candidate: Sequence[Light], ours: int, baseline: Sequence[Light], theirs: int
) -> Flip | str:
    now, before = candidate[ours], baseline[theirs]
    if now.reward is None or before.reward is None:
        return "unscored"
    right, was_right = now.outcome == "correct", before.outcome == "correct"
    if right != was_right:
        return Flip(ours, theirs, "improvement" if right else "regression")
    if now.reward != before.reward:
        return Flip(ours, theirs, "higher" if now.reward > before.reward else "lower")
    return "both" if right else "neither"
