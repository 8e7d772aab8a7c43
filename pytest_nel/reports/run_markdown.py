"""What a run came to, as Markdown for a pull request: scores, checks, and the gate."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_nel.gate.check import Check
from pytest_nel.gate.report import GateReport
from pytest_nel.records.bundle import headline
from pytest_nel.reports.gate_markdown import escaped, gate_markdown

_SIGN = {"passed": "✅", "failed": "❌", "open": "⚠️"}


def run_markdown(
    bundles: Sequence[Mapping[str, Any]], checks: Sequence[Check], gate: GateReport | None = None
) -> str:
    """Scores in a table, then what did not pass, then the gate's own report."""
    text = "\n".join([*_scores(bundles), *_checks(checks)]) + "\n"
    return text if gate is None else f"{gate_markdown(gate)}\n{text}"


def _scores(bundles: Sequence[Mapping[str, Any]]) -> Iterator[str]:
    yield "## Scores"
    yield ""
    yield "| Benchmark | Scored | Score | 95 % CI | Unparsed | Truncated | Unscored |"
    yield "|---|--:|--:|--:|--:|--:|--:|"
    for bundle in bundles:
        metric = headline(bundle)
        value = metric["value"]
        interval = "–"
        if "ci_lower" in metric:
            interval = f"{metric['ci_lower']:.4f} to {metric['ci_upper']:.4f}"
        cells = (
            escaped(str(bundle["benchmark"]["name"])),
            f"{bundle['n_scored']:,} of {bundle['n_planned']:,}",
            "–" if value is None else f"{value:.4f}",
            interval,
            *(f"{bundle[name]:,}" for name in ("n_unparsed", "n_truncated", "n_unscored")),
        )
        yield f"| {' | '.join(cells)} |"
    yield ""


def _checks(checks: Sequence[Check]) -> Iterator[str]:
    passed = sum(check.status == "passed" for check in checks)
    yield f"{passed} of {len(checks)} checks passed."
    yield ""
    for check in checks:
        if check.status != "passed" and "gate" not in check.facts:
            yield f"- {_SIGN[check.status]} {escaped(check.id)}: {escaped(check.reason)}"
