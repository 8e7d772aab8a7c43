"""Holm's correction: with many benchmarks a false NO-GO is as rare as with one."""

import random
from collections.abc import Sequence

import pytest

from pytest_nel.gate.evaluate import Runs, evaluate
from pytest_nel.gate.evidence import Side
from pytest_nel.gate.policy import parse_policy
from pytest_nel.gate.report import GateReport
from tests.unit.gate.deciding import side

MOST = 0.02


def report_of(
    sides: Sequence[tuple[Side, Side]], correction: str, limits: str = f"max_drop: {MOST}"
) -> GateReport:
    text = f"version: 1\ncorrection: {correction}\ndefaults: {{metric: mean_reward, {limits}}}\n"
    base = {f"b{at:02}": one for at, (one, _) in enumerate(sides)}
    cand = {f"b{at:02}": other for at, (_, other) in enumerate(sides)}
    runs = Runs(
        {name: one.bundle for name, one in cand.items()},
        cand.__getitem__,
        {name: one.bundle for name, one in base.items()},
        base.__getitem__,
    )
    return evaluate(parse_policy(text, "p.yaml"), runs)


def at_the_margin(chance: random.Random, n: int) -> tuple[Side, Side]:
    """A candidate that truly loses 2 points: the limit and no more."""
    base, cand = [], []
    for _ in range(n):
        right = chance.random() < 0.6
        flipped = chance.random() < 0.1
        base.append([float(right)])
        cand.append([float(right != flipped)])
    return side(base), side(cand)


def test_with_fifty_benchmarks_at_the_margin_false_no_gos_become_rare() -> None:
    """0.6 · 0.1 lost less 0.4 · 0.1 won is a drop of 2 points, which is allowed."""
    chance = random.Random(5)
    rounds, plain, corrected = 10, 0, 0

    for _ in range(rounds):
        sides = [at_the_margin(chance, 200) for _ in range(50)]
        plain += report_of(sides, "none").verdict == "NO-GO"
        corrected += report_of(sides, "holm").verdict == "NO-GO"

    assert plain >= rounds // 2  # 1 - 0.975 ** 50 is 72 %
    assert corrected <= 1  # 2.5 % of ten is a quarter of one


def answers(n: int, lost: int) -> tuple[Side, Side]:
    return side([[1.0]] * n), side([[0.0]] * lost + [[1.0]] * (n - lost))


def test_a_true_drop_stands_beside_fortynine_others() -> None:
    sides = [answers(1000, 80), *[answers(1000, 0)] * 49]

    report = report_of(sides, "holm")

    assert report.verdict == "NO-GO"
    assert [row.rule.benchmark for row in report.rows if row.status == "BREACH"] == ["b00"]


def test_a_breach_that_does_not_stand_is_open_and_says_so() -> None:
    sides = [answers(400, 19), *[answers(400, 0)] * 49]

    alone, corrected = report_of(sides, "none"), report_of(sides, "holm")

    assert alone.verdict == "NO-GO"
    assert corrected.verdict == "INCONCLUSIVE"
    assert (
        corrected.rows[0]
        .reasons[0]
        .endswith("does not stand after Holm's correction over the benchmarks")
    )


def test_the_correction_is_over_benchmarks_that_gate() -> None:
    """Advisory ones do not count, so they cost nothing."""
    base = side([[1.0]] * 400)
    text = (
        "version: 1\ncorrection: holm\n"
        "defaults: {metric: mean_reward, max_drop: 0.02, tier: advisory}\n"
        "benchmarks: {b00: {tier: critical}}\n"
    )
    cand = {f"b{at:02}": base for at in range(50)} | {"b00": answers(400, 19)[1]}
    runs = Runs(
        {name: one.bundle for name, one in cand.items()},
        cand.__getitem__,
        dict.fromkeys(cand, base.bundle),
        lambda _name: base,
    )

    assert evaluate(parse_policy(text, "p.yaml"), runs).verdict == "NO-GO"


@pytest.mark.parametrize(("lost", "verdict"), [(60, "NO-GO"), (22, "INCONCLUSIVE")])
def test_a_category_counts_in_the_correction(lost: int, verdict: str) -> None:
    """A drop of one category alone is evidence of its own, not that of the mean."""
    names = ["law"] * 100 + ["art"] * 900
    base = side([[1.0]] * 1000, categories=names)
    cand = side([[0.0]] * lost + [[1.0]] * (1000 - lost), categories=names)
    limits = "max_drop: 0.9, per_category: {law: {max_drop: 0.13}}"
    sides = [(base, cand), *[(base, base)] * 49]

    report = report_of(sides, "holm", limits)

    assert report.verdict == verdict


def test_absolute_limits_are_not_corrected() -> None:
    sides = [answers(400, 0)] * 50
    half = side([[1.0]] * 200 + [[0.0]] * 200)

    report = report_of([(half, half), *sides], "holm", "max_drop: 0.1, min_score: 0.9")

    assert report.rows[0].status == "BREACH"


def test_a_single_benchmark_is_decided_as_without_a_correction() -> None:
    """Its categories, too, which share its row."""
    names = [f"c{at % 8}" for at in range(400)]
    lost = [at % 8 == 0 and at < 140 for at in range(400)]
    base = side([[1.0]] * 400, categories=names)
    cand = side([[0.0] if gone else [1.0] for gone in lost], categories=names)
    limits = "max_drop: 0.5, per_category: {'*': {max_drop: 0.2}}"

    plain, corrected = (report_of([(base, cand)], how, limits) for how in ("none", "holm"))

    assert plain.verdict == "NO-GO"
    assert corrected.as_json() == plain.as_json()


@pytest.mark.parametrize("correction", ["none", "holm"])
def test_a_score_alone_is_not_corrected(correction: str) -> None:
    """``evidence: point`` asks for no chance that a correction could keep."""
    report = report_of([answers(100, 3)] * 2, correction, "max_drop: 0.02, evidence: point")

    assert [row.status for row in report.rows] == ["BREACH", "BREACH"]


def test_what_the_correction_does_not_ask_about_stays_as_it_is() -> None:
    base, cand = answers(400, 80)
    text = (
        "version: 1\ncorrection: holm\ndefaults: {metric: mean_reward, max_drop: 0.02}\n"
        "benchmarks: {b00: {tier: advisory}, b01: {}}\n"
    )
    runs = Runs(
        {"b00": cand.bundle, "b01": base.bundle},
        {"b00": cand, "b01": base}.__getitem__,
        dict.fromkeys(("b00", "b01"), base.bundle),
        lambda _name: base,
    )

    report = evaluate(parse_policy(text, "p.yaml"), runs)

    assert report.rows[0].status == "BREACH"
    assert report.verdict == "GO"


def stored(value: float, low: float, high: float) -> Side:
    said = {"value": value, "ci_lower": low, "ci_upper": high, "ci_method": "score"}
    about = {"name": "b", "samples": 1000, "repeats": 1, "scores": {"mean_reward": said}}
    return Side({"benchmark": about, "fingerprint": {"pass_at": 1.0}})


@pytest.mark.parametrize(
    ("after", "others", "verdict"),
    [(0.70, 49, "NO-GO"), (0.765, 49, "INCONCLUSIVE"), (0.765, 0, "NO-GO")],
)
def test_stored_scores_count_in_the_correction_by_their_interval(
    after: float, others: int, verdict: str
) -> None:
    """A drop of 10 points is evidence enough beside 49 others, one of 3.5 points is alone."""
    base, cand = stored(0.80, 0.79, 0.81), stored(after, after - 0.01, after + 0.01)

    report = report_of([(base, cand), *[answers(400, 0)] * others], "holm")

    assert report.verdict == verdict
