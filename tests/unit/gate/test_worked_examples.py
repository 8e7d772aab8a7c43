"""The reference system's worked examples, through files; where its statistics had a defect, what is
right instead, and why."""

from collections.abc import Sequence
from pathlib import Path

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.gate.policy import parse_policy
from pytest_nel.gate.report import BenchmarkGate
from tests.support.stored import write_reference_run, write_run
from tests.unit.gate.deciding import decided, finding_of, gate, policy_of, reference_gate, status_of

PASSED = ("PASS", "GO")
BREACHED = ("BREACH", "NO-GO")
OPEN = ("INSUFFICIENT_EVIDENCE", "INCONCLUSIVE")


def changed(n: int, worse: int, better: int) -> tuple[list[float], list[float]]:
    """n answers, all right but for those that improve: the first go wrong, the next get right."""
    rest = [1.0] * (n - worse - better)
    return [1.0] * worse + [0.0] * better + rest, [0.0] * worse + [1.0] * better + rest


def only(report_rows: Sequence[BenchmarkGate]) -> BenchmarkGate:
    [row] = report_rows
    return row


# 1 and 2: never zero width. 50 equal differences do not exclude that one problem in 14 went the
# whole way, so they decide nothing; 1,000 do.
@pytest.mark.parametrize(
    ("n", "before", "after", "expected"),
    [
        (50, 0.8, 0.795, OPEN),
        (1000, 0.8, 0.795, PASSED),
        (50, 1.0, 0.95, OPEN),
        (1000, 1.0, 0.95, BREACHED),
    ],
)
def test_example_1_and_2_equal_differences(
    tmp_path: Path, n: int, before: float, after: float, expected: tuple[str, str]
) -> None:
    report = gate(tmp_path, [before] * n, [after] * n)

    row = only(report.rows)
    assert status_of(report) == expected
    assert row.delta == pytest.approx(after - before)
    assert row.interval is not None
    assert row.interval[0] < after - before < row.interval[1]


def test_example_3_half_of_the_problems_fall_a_little(tmp_path: Path) -> None:
    report = gate(tmp_path, [1.0] * 50, [0.98] * 25 + [1.0] * 25)

    row = only(report.rows)
    assert status_of(report) == OPEN
    assert row.delta == pytest.approx(-0.01)
    assert "straddles threshold 0.01" in row.reasons[0]


# 4: Tango's interval, not a t interval: wider, since ten and six are few, and 0.06 is not shown.
@pytest.mark.parametrize(("most", "expected"), [(0.01, OPEN), (0.06, OPEN), (0.065, PASSED)])
def test_example_4_ten_lost_and_six_won_of_200(
    tmp_path: Path, most: float, expected: tuple[str, str]
) -> None:
    report = gate(tmp_path, *changed(200, 10, 6), f"max_drop: {most}")

    row = only(report.rows)
    assert status_of(report) == expected
    assert row.delta == pytest.approx(-0.02)
    assert row.interval == pytest.approx((-0.06402, 0.02124), abs=1e-5)
    assert row.method == "tango"


def test_example_5_two_lost_and_one_won_of_1000(tmp_path: Path) -> None:
    report = gate(tmp_path, *changed(1000, 2, 1))

    row = only(report.rows)
    assert status_of(report) == PASSED
    assert row.delta == pytest.approx(-0.001)
    assert row.interval == pytest.approx((-0.00636, 0.00380), abs=1e-5)  # Tango, not t


def test_example_6_sixty_lost_and_ten_won_of_1000(tmp_path: Path) -> None:
    report = gate(tmp_path, *changed(1000, 60, 10), "max_drop: 0.015")

    row = only(report.rows)
    assert status_of(report) == BREACHED
    assert row.delta == pytest.approx(-0.05)
    assert row.interval == pytest.approx((-0.06743, -0.03474), abs=1e-5)  # Tango, not t


RELATIVE = "max_drop: {}, max_relative_drop: 0.02, relative_guard_below: 0.20"


# 7: the relative check has an interval, too: 50 problems do not show it, by the point alone they do
@pytest.mark.parametrize(
    ("n", "more", "expected"),
    [(50, "", OPEN), (50, ", evidence: point", BREACHED), (50_000, "", BREACHED)],
)
def test_example_7_a_relative_drop_of_a_low_baseline(
    tmp_path: Path, n: int, more: str, expected: tuple[str, str]
) -> None:
    report = gate(tmp_path, [0.10] * n, [0.095] * n, RELATIVE.format(0.015) + more)

    row = only(report.rows)
    assert status_of(report) == expected
    assert row.as_json()["relative_drop_pct"] == -5.0
    assert row.as_json()["relative_breached"] == (expected == BREACHED)
    assert not row.as_json()["absolute_breached"]


# 8: as 1, 50 problems are too few for the interval
@pytest.mark.parametrize(
    ("n", "more", "expected"),
    [(50, "", OPEN), (50, ", evidence: point", PASSED), (5000, "", PASSED)],
)
def test_example_8_the_guard_spares_a_high_baseline(
    tmp_path: Path, n: int, more: str, expected: tuple[str, str]
) -> None:
    report = gate(tmp_path, [0.80] * n, [0.76] * n, RELATIVE.format(0.05) + more)

    relative = finding_of(report, "max_relative_drop")
    assert status_of(report) == expected
    assert relative.status == "PASS"
    assert relative.reason == "baseline 0.8000 is not below relative_guard_below 0.2: not asked"


@pytest.mark.parametrize(("after", "expected"), [(5.5, BREACHED), (4.5, PASSED)])
def test_example_9_lower_is_better(tmp_path: Path, after: float, expected: tuple[str, str]) -> None:
    limits = "max_drop: 0.3, direction: lower_is_better"

    report = gate(tmp_path, [5.0] * 50, [after] * 50, limits)

    assert status_of(report) == expected


# 10: rewards 0.6 and 0.4 of the reference system are both successes; 50 equal answers are too few
@pytest.mark.parametrize(("n", "expected"), [(50, OPEN), (500, PASSED)])
def test_example_10_pass_at_1_counts_what_is_solved(
    tmp_path: Path, n: int, expected: tuple[str, str]
) -> None:
    report = reference_gate(tmp_path, [0.6] * n, [0.4] * n, "metric: pass@1, max_drop: 0.01")

    row = only(report.rows)
    assert (row.baseline, row.candidate) == (1.0, 1.0)
    assert status_of(report) == expected


def test_example_11_five_problems_decide_nothing(tmp_path: Path) -> None:
    report = gate(tmp_path, [1.0] * 5, [1.0] * 5, "max_drop: 0.9")

    assert status_of(report) == OPEN
    assert only(report.rows).reasons == ["Only 5 paired items (minimum 10)"]


def stored(value: float, half: float = 0.0) -> dict[str, dict[str, float]]:
    return {"mean_reward": {"value": value, "ci_lower": value - half, "ci_upper": value + half}}


# 12: the reference system's stored intervals are the spread within problems, or a percentile
# bootstrap, which for equal problems has no width: what so many problems can show stands for it, so
# that 50 problems decide nothing however narrow the stored interval is, and 100,000 do
@pytest.mark.parametrize(
    ("n", "half", "expected"),
    [
        (50, 0.0, OPEN),
        (50, 0.001, OPEN),
        (100_000, 0.0, BREACHED),
        (100_000, 0.001, BREACHED),
        (100_000, 0.02, OPEN),
    ],
)
def test_example_12_without_rows_the_stored_intervals_decide(
    tmp_path: Path, n: int, half: float, expected: tuple[str, str]
) -> None:
    runs = [
        write_reference_run(tmp_path / name, [1.0] * n, rows=False, scores=stored(value, half))
        for name, value in (("base", 0.80), ("cand", 0.78))
    ]

    report = decided(policy_of(), runs[1], runs[0])

    row = only(report.rows)
    assert status_of(report) == expected
    assert (row.baseline, row.candidate, row.n_paired) == (0.80, 0.78, 0)
    assert "results.jsonl) missing or empty" in row.reasons[0]


def test_example_13_an_advisory_benchmark_breaches_and_does_not_count(tmp_path: Path) -> None:
    base = write_run(tmp_path / "base", [1.0] * 50)
    cand = write_run(tmp_path / "cand", [0.5] * 50)
    policy = "version: 1\nbenchmarks:\n  mmlu: {tier: advisory, max_drop: 0.01}\n"

    report = decided(policy, cand, base)

    assert status_of(report) == ("BREACH", "GO")
    assert report.reasons == ["No gated benchmarks evaluated: all are advisory"]


def test_example_14_a_required_benchmark_names_its_metric() -> None:
    with pytest.raises(ConfigError, match=r"p\.yaml:3: benchmarks\.mmlu: .*explicit metric"):
        parse_policy("version: 1\nbenchmarks:\n  mmlu: {max_drop: 0.01}\n", "p.yaml")


def test_example_15_clusters_widen_the_interval(tmp_path: Path) -> None:
    """Clustered by their text, not by category; two clusters are too few for any decision."""
    deltas = [0.1 + 0.001 * at for at in range(-5, 5)] + [-0.05 + 0.001 * at for at in range(-5, 5)]
    after = [0.5 + delta for delta in deltas]
    names = ["A"] * 10 + ["B"] * 10

    plain = only(gate(tmp_path / "plain", [0.5] * 20, after, "max_drop: 0.9").rows)
    report = gate(tmp_path / "clustered", [0.5] * 20, after, "max_drop: 0.9", clusters=names)
    clustered = only(report.rows)

    assert plain.interval is not None
    assert clustered.interval is not None
    assert clustered.interval[0] < plain.interval[0] < plain.interval[1] < clustered.interval[1]
    assert status_of(report) == OPEN
    assert "too few clusters" in clustered.reasons[0]
