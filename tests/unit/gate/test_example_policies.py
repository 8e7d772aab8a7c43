"""The policies that come along are valid, can be met, and decide as their comments say."""

from pathlib import Path
from typing import Any

import pytest

from pytest_nel.gate.catalog import policies
from pytest_nel.gate.evaluate import evaluate
from pytest_nel.gate.feasible import Planned, unmeetable
from pytest_nel.gate.policy import load_policy
from pytest_nel.gate.report import GateReport
from pytest_nel.records.sides import runs_of
from tests.support.stored import write_run

SIZES = {"mmlu_pro": 12_032, "gsm8k": 1_319, "ifeval": 541, "gpqa_diamond": 198, "simpleqa": 4_326}
SUBJECTS = [f"subject {at}" for at in range(14)]
ALL = ("per-commit", "release", "thresholds")


def test_these_are_all() -> None:
    assert tuple(policies()) == ALL


@pytest.mark.parametrize("name", ALL)
def test_each_can_be_met_by_the_benchmarks_it_names(name: str) -> None:
    policy = load_policy(name)
    accepts = policy.defaults.subset == "accept"
    plans = {
        rule.benchmark: Planned(
            problems=500 if accepts else SIZES[rule.benchmark],
            total=SIZES[rule.benchmark],
            repeats=1,
            categories=dict.fromkeys(SUBJECTS, 381) if rule.benchmark == "mmlu_pro" else {},
        )
        for rule in policy.rules()
    }

    assert unmeetable(policy, plans, baseline=name != "thresholds") == []


def run(folder: Path, lost: dict[str, int], *, size: int | None = None, **more: Any) -> Path:
    """All benchmarks of the policies; of each so many of those that were right are lost."""
    for name, total in SIZES.items():
        n = size or min(total, 1400)  # the first problems of a large one are enough here
        right = int(0.8 * n)
        rewards = [0.0] * lost.get(name, 0) + [1.0] * (right - lost.get(name, 0))
        write_run(
            folder,
            [*rewards, *[0.0] * (n - right)],
            name=name,
            categories=[SUBJECTS[at % 14] for at in range(n)] if name == "mmlu_pro" else (),
            bundle={
                "benchmark": {"name": name, "repeats": 1, "samples": n, "scores": STATS},
                **({"n_total": max(total, n)} if size else {}),
                **more,
            },
        )
    return folder


STATS = {"runtime": {"total_tokens": 10_000, "latency_percentiles_ms": {"p95": 9_000.0}}}


def decide(policy: str, candidate: Path, baseline: Path | None = None) -> GateReport:
    return evaluate(load_policy(policy), runs_of(candidate, baseline))


@pytest.mark.parametrize(
    ("lost", "verdict", "said"),
    [
        ({}, "GO", "All 4 gated benchmark(s) passed"),
        ({"gsm8k": 120}, "NO-GO", "BREACH: gsm8k [critical]"),
        ({"mmlu_pro": 200}, "NO-GO", "BREACH: mmlu_pro [critical]"),
        ({"simpleqa": 900}, "GO", "All 4 gated benchmark(s) passed"),  # advisory
    ],
)
def test_the_release_policy(tmp_path: Path, lost: dict[str, int], verdict: str, said: str) -> None:
    report = decide("release", run(tmp_path / "cand", lost), run(tmp_path / "base", {}))

    assert report.verdict == verdict
    assert said in report.reasons[0]


def test_the_release_policy_guards_a_low_baseline(tmp_path: Path) -> None:
    """A tenth of the problems right, a third of them lost: 3 points, allowed if that were all."""
    for side, right in (("base", 2000), ("cand", 1300)):
        write_run(tmp_path / side, [1.0] * right + [0.0] * (20_000 - right), name="gpqa_diamond")

    report = decide("release", tmp_path / "cand", tmp_path / "base")

    [row] = [row for row in report.rows if row.rule.benchmark == "gpqa_diamond"]
    assert {one.rule: one.status for one in row.findings if "drop" in one.rule} == {
        "max_drop": "PASS",
        "max_relative_drop": "BREACH",
    }


@pytest.mark.parametrize(
    ("lost", "facts", "verdict"),
    [
        ({}, {}, "GO"),
        ({"gsm8k": 50}, {}, "NO-GO"),
        ({}, {"n_truncated": 40}, "NO-GO"),
        ({"simpleqa": 60}, {}, "NO-GO"),  # not listed: the defaults gate it
    ],
)
def test_the_per_commit_policy_on_500_problems_each(
    tmp_path: Path, lost: dict[str, int], facts: dict[str, int], verdict: str
) -> None:
    base = run(tmp_path / "base", {}, size=500)
    cand = run(tmp_path / "cand", lost, size=500, **facts)

    assert decide("per-commit", cand, base).verdict == verdict


@pytest.mark.parametrize(
    ("name", "lost", "verdict"),
    [
        ("gsm8k", 0, "NO-GO"),  # 80 % where 85 are asked
        ("ifeval", 0, "GO"),
        ("ifeval", 120, "NO-GO"),
        ("mmlu_pro", 0, "GO"),
    ],
)
def test_the_thresholds_need_no_baseline(
    tmp_path: Path, name: str, lost: int, verdict: str
) -> None:
    report = decide("thresholds", run(tmp_path / "cand", {name: lost}))

    [row] = [row for row in report.rows if row.rule.benchmark == name]
    assert row.status == {"GO": "PASS", "NO-GO": "BREACH"}[verdict]
