"""A comparison for machines."""

import json

from pytest_nel.core.text import storable
from pytest_nel.gate.comparison import RunComparison


def compare_json(report: RunComparison) -> str:
    """The whole of it as strict JSON with a line end: NaN is not in it, nor a lone surrogate."""
    text = json.dumps(report.as_json(), ensure_ascii=False, indent=2, allow_nan=False)
    return storable(text) + "\n"
