"""What is missing counts both ways: only what holds in the worst case passes, and only what fails
in the best case breaches."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_nel.gate.drop import judge_drop
from pytest_nel.gate.pairs import pair
from pytest_nel.gate.policy import Thresholds
from tests.unit.gate.deciding import finding_of, gate, side, status_of

OPEN = ("INSUFFICIENT_EVIDENCE", "INCONCLUSIVE")
Rewards = Sequence[float | None]


def with_gaps(values: Sequence[float], gaps: int) -> list[float | None]:
    """The same, the last ones unscored."""
    return [*values[: len(values) - gaps], *[None] * gaps]


RIGHT = [1.0] * 1000


@pytest.mark.parametrize(
    ("base", "cand", "limits", "expected"),
    [
        # ten of a thousand unscored: 1 % more drop in the worst case
        (RIGHT, with_gaps(RIGHT, 10), "max_drop: 0.03", ("PASS", "GO")),
        (RIGHT, with_gaps(RIGHT, 10), "max_drop: 0.01", OPEN),
        (with_gaps(RIGHT, 10), RIGHT, "max_drop: 0.03", ("PASS", "GO")),
        # a drop of 30 points: ten that might have been right do not save it
        (RIGHT, with_gaps([0.0] * 300 + [1.0] * 700, 10), "max_drop: 0.2", ("BREACH", "NO-GO")),
        (RIGHT, with_gaps([0.0] * 100 + [1.0] * 900, 200), "max_drop: 0.2", OPEN),
        (with_gaps(RIGHT, 200), [1.0] * 700 + [0.0] * 300, "max_drop: 0.2", OPEN),
    ],
)
def test_a_drop_is_decided_only_where_both_ways_agree(
    tmp_path: Path, base: Rewards, cand: Rewards, limits: str, expected: tuple[str, str]
) -> None:
    report = gate(tmp_path, base, cand, limits)

    assert status_of(report) == expected
    assert report.rows[0].n_missing == max(list(base).count(None), list(cand).count(None))


def test_both_bounds_are_shown(tmp_path: Path) -> None:
    report = gate(tmp_path, RIGHT, with_gaps(RIGHT, 100), "max_drop: 0.05")

    found = finding_of(report, "max_drop")
    worst, best = found.numbers["damage_ci"], found.numbers["damage_ci_best_case"]
    assert found.reason == (
        f"100 attempts have no score: damage [{worst[0]:.4f}, {worst[1]:.4f}] in the worst case, "
        f"[{best[0]:.4f}, {best[1]:.4f}] in the best, straddles threshold 0.05"
    )
    assert worst[0] < 0.1 < worst[1]
    assert best[0] < 0.0 < best[1]
    assert found.numbers["n_missing"] == 100


def errors(base: Rewards, cand: Rewards, most: float) -> str:
    """The status of a rate of errors in [0, 1] that may rise by so much."""
    limits = Thresholds(direction="lower_is_better", max_drop=most)
    pairs = pair(side([[one] for one in base]), side([[one] for one in cand]))
    [found] = judge_drop(pairs, limits).findings
    return found.status


WRONG = [0.0] * 1000


@pytest.mark.parametrize(
    ("cand", "most", "status"),
    [
        (with_gaps(WRONG, 10), 0.03, "PASS"),
        (with_gaps(WRONG, 100), 0.03, "INSUFFICIENT_EVIDENCE"),
        (with_gaps([1.0] * 300 + [0.0] * 700, 10), 0.2, "BREACH"),
        (with_gaps([1.0] * 100 + [0.0] * 900, 200), 0.2, "INSUFFICIENT_EVIDENCE"),
    ],
)
def test_where_lower_is_better_the_worst_case_is_the_high_one(
    cand: Rewards, most: float, status: str
) -> None:
    assert errors(WRONG, cand, most) == status


def test_rewards_outside_0_and_1_have_no_bounds(tmp_path: Path) -> None:
    limits = "max_drop: 3, direction: lower_is_better"
    perplexities = [5.0] * 100

    whole = gate(tmp_path / "whole", perplexities, perplexities, limits)
    gaps = gate(tmp_path / "gaps", perplexities, with_gaps(perplexities, 1), limits)

    assert status_of(whole) == ("PASS", "GO")
    assert status_of(gaps) == OPEN
    assert "rewards outside [0, 1] have no bounds" in gaps.rows[0].reasons[0]


def test_the_bounds_of_another_scorer_are_looked_at_in_its_own_rewards() -> None:
    one = side([[1.0]] * 20)
    rows = [row._replace(others={"f1": 7.0}) for row in one.rows]
    scored = type(one)(one.bundle, rows)

    assert not pair(scored, scored, "scorer:f1").bounded
    assert pair(scored, scored).bounded


def test_nine_scored_of_many_are_decided_by_the_rest() -> None:
    """Fewer than ten measured problems do not hide what the best case already shows."""
    base, cand = side([[1.0]] * 10), side([*[[0.0]] * 9, [None]])

    [found] = judge_drop(pair(base, cand), Thresholds(max_drop=0.1)).findings

    assert found.status == "BREACH"


def test_nothing_measured_passes_nothing() -> None:
    base, cand = side([[1.0]] * 50), side([[None]] * 50)

    [found] = judge_drop(pair(base, cand), Thresholds(max_drop=1.0)).findings

    assert (found.status, found.reason) == (
        "INSUFFICIENT_EVIDENCE",
        "Only 0 paired items (minimum 10)",
    )


@pytest.mark.parametrize(
    ("gaps", "least", "expected"),
    [(10, 0.9, ("PASS", "GO")), (10, 0.985, OPEN), (0, 0.985, ("PASS", "GO"))],
)
def test_min_score_counts_both_ways(
    tmp_path: Path, gaps: int, least: float, expected: tuple[str, str]
) -> None:
    report = gate(tmp_path, None, with_gaps(RIGHT, gaps), f"max_drop: null, min_score: {least}")

    assert status_of(report) == expected


def test_min_score_breaches_only_where_the_best_case_does(tmp_path: Path) -> None:
    limits = "max_drop: null, min_score: 0.5"

    few = gate(tmp_path / "few", None, with_gaps(WRONG, 10), limits)
    many = gate(tmp_path / "many", None, with_gaps(WRONG, 600), limits)

    assert status_of(few) == ("BREACH", "NO-GO")
    assert status_of(many) == OPEN
    numbers = finding_of(many, "min_score").numbers
    assert (numbers["score_worst_case"], numbers["score_best_case"]) == (0.0, 0.6)
    assert (
        "600 attempts have no score, 0.0000 in the worst case and 0.6000 in the best"
        in (many.rows[0].reasons[0])
    )


def test_a_score_outside_0_and_1_is_decided_by_its_value_or_not_at_all(tmp_path: Path) -> None:
    limits = "max_drop: null, min_score: 1.0"
    points = [3.0] * 100

    ci = gate(tmp_path / "ci", None, points, limits)
    point = gate(tmp_path / "point", None, points, f"{limits}, evidence: point")
    gaps = gate(tmp_path / "gaps", None, with_gaps(points, 1), f"{limits}, evidence: point")

    assert status_of(ci) == OPEN
    assert status_of(point) == ("PASS", "GO")
    assert status_of(gaps) == OPEN
    assert "has no interval: rewards outside [0, 1]" in ci.rows[0].reasons[0]


def test_a_gap_in_one_category_is_no_gap_in_another(tmp_path: Path) -> None:
    names = ["law"] * 500 + ["art"] * 500
    limits = "max_drop: null, per_category: {'*': {max_drop: 0.05}}"

    report = gate(tmp_path, RIGHT, with_gaps(RIGHT, 100), limits, categories=names)

    assert finding_of(report, "per_category.law.max_drop").status == "PASS"
    assert finding_of(report, "per_category.art.max_drop").status == "INSUFFICIENT_EVIDENCE"


def test_problems_nobody_knows_may_be_of_any_category(tmp_path: Path) -> None:
    """400 planned ones left no row: all of them could be law, and right."""
    names = ["law"] * 500 + ["art"] * 500
    facts = {"n_planned": 1400, "n_total": 1400}
    limits = "max_drop: null, per_category: {law: {min_score: 0.3}}"

    report = gate(tmp_path, None, WRONG, limits, categories=names, bundle=facts)

    found = finding_of(report, "per_category.law.min_score")
    assert found.status == "INSUFFICIENT_EVIDENCE"
    assert found.numbers["n_missing"] == 400


def test_a_gap_leaves_the_other_problems_in_their_clusters() -> None:
    """A problem without a cluster stands alone; it does not make the others independent."""
    names = [f"text {at // 10}" for at in range(200)]
    deltas = [float(at // 10 % 2) for at in range(200)]
    base, cand = [[0.5]] * 200, [[0.4 + 0.2 * delta] for delta in deltas]
    lonely = [*names[:-1], ""]

    whole, gap = (
        judge_drop(
            pair(side(base, clusters=labels), side(cand, clusters=labels)), Thresholds(max_drop=0.1)
        ).difference
        for labels in (names, lonely)
    )

    assert whole is not None
    assert gap is not None
    assert {whole.method, gap.method} == {"score_clustered_t"}
    assert gap.high - gap.low == pytest.approx(whole.high - whole.low, rel=0.1)


@pytest.mark.parametrize(
    "limits", ["max_drop: 0.9", "max_drop: null, min_score: 0.01", "max_drop: 0.9, min_score: 0.01"]
)
def test_losing_a_problem_makes_no_cluster(tmp_path: Path, limits: str) -> None:
    """Four clusters are too few; a fifth of which nothing is known is none."""
    names = [f"text {at % 4}" for at in range(400)]
    right, facts = [1.0] * 400, {"n_planned": 401, "n_total": 401, "n_attempted": 401}

    whole = gate(tmp_path / "whole", right, right, limits, clusters=names)
    lost = gate(tmp_path / "lost", right, right, limits, clusters=names, bundle=facts)

    assert status_of(whole) == OPEN
    assert status_of(lost) == OPEN


def test_five_clusters_of_which_one_has_no_score_are_five(tmp_path: Path) -> None:
    """Where the rows name it, both ways that it may have gone are ways of five clusters."""
    names = [f"text {at % 5}" for at in range(1000)]
    gaps = [None if at % 5 == 4 else 1.0 for at in range(1000)]

    report = gate(tmp_path, [1.0] * 1000, gaps, "max_drop: 0.99", clusters=names)

    assert status_of(report) == ("PASS", "GO")
