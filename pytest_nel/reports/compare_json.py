"""A comparison for machines."""

from pytest_nel.gate.comparison import RunComparison
from pytest_nel.records.record import indented


def compare_json(report: RunComparison) -> str:
    """The whole of it as strict JSON with a line end: NaN is not in it, nor a lone surrogate."""
    return indented(report.as_json())
