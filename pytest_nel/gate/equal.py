"""Whether a candidate with the baseline's own answers could pass: no limit should ask for more."""

from collections.abc import Iterator
from dataclasses import replace

from pytest_nel.gate.drop import judge_drop
from pytest_nel.gate.evidence import Row, Side
from pytest_nel.gate.findings import Finding
from pytest_nel.gate.pairs import pair
from pytest_nel.gate.policy import Rule


def refused_to_equal(rule: Rule, baseline: Side) -> Iterator[Finding]:
    """What limits on a drop would say of equal answers, where that is not that they hold.

    What the baseline lacks the candidate is taken to get right. Few problems, few clusters and
    a baseline with gaps all show here, by the interval that will decide.
    """
    limits = rule.limits
    if limits.evidence != "ci" or not baseline.rows:
        return
    if limits.max_drop is None and limits.max_relative_drop is None:
        return
    twin = replace(baseline, rows=[_answered(row) for row in baseline.rows])
    found = judge_drop(pair(baseline, twin, rule.metric), limits)
    yield from (finding for finding in found.findings if finding.status != "PASS")


def _answered(row: Row) -> Row:
    if row.reward is not None:
        return row
    return row._replace(reward=1.0, correct=True, outcome="correct")
