"""A gate's rows as checks, for exit codes, JUnit and checks.json."""

from collections.abc import Iterator, Mapping
from typing import Literal

from pytest_nel.gate.check import Check
from pytest_nel.gate.findings import Status
from pytest_nel.gate.report import BenchmarkGate, GateReport
from pytest_nel.gate.verdict import Exit

_SAID: Mapping[Status, tuple[Literal["passed", "failed", "open"], Exit]] = {
    "PASS": ("passed", Exit.GO),
    "BREACH": ("failed", Exit.NO_GO),
    "MISSING": ("failed", Exit.NO_GO),
    "INSUFFICIENT_EVIDENCE": ("open", Exit.INCONCLUSIVE),
}


def gate_checks(report: GateReport) -> Iterator[Check]:
    """One check per benchmark: ``<policy>::<benchmark>``; one more where none decides.

    An advisory benchmark asks for no exit code: what it misses is shown as open.
    """
    for row in report.rows:
        yield _check(report, row)
    gated = [row for row in report.rows if row.rule.gates]
    if report.verdict == "INCONCLUSIVE" and all(row.status == "PASS" for row in gated):
        yield Check(report.policy, "open", "; ".join(report.reasons), Exit.INCONCLUSIVE)


def _check(report: GateReport, row: BenchmarkGate) -> Check:
    status, code = _SAID[row.status]
    reason = f"{row.status}: {'; '.join(row.reasons)}"
    if not row.rule.gates and code is not Exit.GO:
        status, code, reason = "open", Exit.GO, f"advisory, does not count: {reason}"
    if row.status == "INSUFFICIENT_EVIDENCE" and row.rule.gates:
        reason = f"INCONCLUSIVE: {'; '.join(row.reasons)}"
    name = f"{report.policy}::{row.rule.benchmark}"
    facts = {key: value for key, value in row.as_json().items() if key not in {"status", "reasons"}}
    return Check(name, status, reason, code, {"gate": row.status, **facts})
