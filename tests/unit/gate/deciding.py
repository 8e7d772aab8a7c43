"""Two runs on the disk, a policy as text, and what the gate says."""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from pytest_nel.gate.evaluate import evaluate
from pytest_nel.gate.evidence import Row, Side
from pytest_nel.gate.policy import parse_policy
from pytest_nel.gate.report import GateReport
from pytest_nel.records.sides import runs_of
from tests.support.stored import Rewards, write_reference_run, write_run


def policy_of(limits: str = "max_drop: 0.01", *, top: str = "") -> str:
    """A policy for mmlu, critical, on mean_reward unless another is named, with these keys."""
    keys = limits if "metric:" in limits else f"metric: mean_reward, {limits}"
    return f"version: 1\n{top}benchmarks:\n  mmlu: {{tier: critical, {keys}}}\n"


def decided(
    policy: str, candidate: Path, baseline: Path | None = None, allow: Sequence[str] = ()
) -> GateReport:
    """What ``nel gate`` decides."""
    return evaluate(parse_policy(policy, "policy.yaml"), runs_of(candidate, baseline), allow)


def gate(
    folder: Path,
    baseline: Rewards | None,
    candidate: Rewards,
    limits: str = "max_drop: 0.01",
    **more: Any,
) -> GateReport:
    """Write both runs of mmlu in our layout, decide."""
    other = None if baseline is None else write_run(folder / "base", baseline, **more)
    return decided(policy_of(limits), write_run(folder / "cand", candidate, **more), other)


def reference_gate(
    folder: Path,
    baseline: Sequence[float],
    candidate: Sequence[float],
    limits: str = "max_drop: 0.01",
    **more: Any,
) -> GateReport:
    """As :func:`gate`, in the layout of the reference system."""
    other = write_reference_run(folder / "base", baseline, **more)
    return decided(
        policy_of(limits), write_reference_run(folder / "cand", candidate, **more), other
    )


def status_of(report: GateReport, name: str = "mmlu") -> tuple[str, str]:
    """(status of the benchmark, verdict)."""
    [row] = [row for row in report.rows if row.rule.benchmark == name]
    return row.status, report.verdict


def finding_of(report: GateReport, rule: str) -> Any:
    """The finding of a rule of the only benchmark."""
    [found] = [one for row in report.rows for one in row.findings if one.rule == rule]
    return found


def side(
    rewards: Sequence[Sequence[float | None]],
    *,
    ids: Sequence[str] | None = None,
    categories: Sequence[str] | None = None,
    clusters: Sequence[str] | None = None,
    pass_at: float = 1.0,
) -> Side:
    """A side in memory, whole: a list of rewards for each problem."""
    repeats = max((len(one) for one in rewards), default=1)
    rows = [
        Row(
            at,
            repeat,
            reward,
            reward is not None and reward >= pass_at,
            ids[at] if ids else f"p{at}",
            categories[at] if categories else "",
            clusters[at] if clusters else "",
            {},
            "unscored" if reward is None else "correct" if reward >= pass_at else "wrong",
        )
        for at, tries in enumerate(rewards)
        for repeat, reward in enumerate(tries)
    ]
    count, scored = len(rewards) * repeats, sum(row.reward is not None for row in rows)
    bundle = {
        "benchmark": {"name": "b", "repeats": repeats, "samples": len(rewards)},
        "n_planned": count,
        "n_total": count,
        "n_attempted": len(rows),
        "n_scored": scored,
        "n_unparsed": 0,
    }
    return Side(bundle, rows)
