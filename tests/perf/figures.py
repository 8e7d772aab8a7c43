"""A measured figure, its target and its verdict; the table and the JSON of a run."""

import json
import os
import platform
import time
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, field
from typing import Any, Literal

from tests.perf.machine import QUIET, Calibration

Better = Literal["lower", "higher"]
Adjust = Literal["none", "cpu", "rate"]


@dataclass(frozen=True, slots=True)
class Figure:
    """A figure as measured.

    Attributes:
        name: What it is, unique in a run.
        value: In ``unit``, before calibration.
        unit: ``s``, ``us``, ``MB``, ``/s``, ``ratio`` …
        target: What ``value`` is held to; None only reports it.
        busy_target: The target where the machine was not quiet; None means the same.
        better: Which side of the target is good.
        adjust: ``cpu`` divides a time by the slowdown, ``rate`` multiplies a rate by it.
        span: The numbers of the calibration readings around it.
        detail: Further numbers, for the JSON and the note.
        note: A few words beside the verdict.
    """

    name: str
    value: float
    unit: str
    target: float | None = None
    busy_target: float | None = None
    better: Better = "lower"
    adjust: Adjust = "none"
    span: tuple[int, int] = (0, 0)
    detail: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON
    note: str = ""


@dataclass(frozen=True, slots=True)
class Judged:
    """A figure after calibration: ``applied`` is the slowdown that was taken off ``raw``."""

    name: str
    value: float
    unit: str
    raw: float
    target: float | None
    ratio: float | None
    verdict: str
    k: float
    applied: float
    note: str
    detail: Mapping[str, Any]


def judge(figure: Figure, calibration: Calibration) -> Judged:
    """Calibrate a figure and hold it against its target."""
    k = calibration.k(*figure.span)
    value = figure.value
    # contention slows the clock alone, the loop's luck with caches CPU time alone; what is taken
    # off a figure must show in both
    applied = 1.0 if figure.adjust == "none" else min(k)
    if figure.adjust == "cpu":
        value /= applied
    elif figure.adjust == "rate":
        value *= applied
    target = figure.target
    if k.wall > QUIET and figure.busy_target is not None:
        target = figure.busy_target
    return Judged(
        name=figure.name,
        value=value,
        unit=figure.unit,
        raw=figure.value,
        target=target,
        ratio=value / target if target else None,
        verdict=_verdict(value, target, figure.better),
        k=k.wall,
        applied=applied,
        note=figure.note,
        detail=figure.detail,
    )


def _verdict(value: float, target: float | None, better: Better) -> str:
    if value != value:  # noqa: PLR0124 - NaN: the case broke
        return "ERROR"
    if target is None:
        return "-"
    met = value <= target if better == "lower" else value >= target
    return "met" if met else "MISSED"


def number(value: float | None) -> str:
    """Three or four figures, no exponent."""
    if value is None:
        return ""
    if abs(value) >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if abs(value) >= 10 else f"{value:.3g}"


_HEADS = ("name", "figure", "unit", "target", "ratio", "verdict", "k", "note")


def _cells(judged: Judged) -> tuple[str, ...]:
    return (
        judged.name,
        number(judged.value),
        judged.unit,
        number(judged.target),
        number(judged.ratio),
        judged.verdict,
        f"{judged.k:.2f}",
        judged.note,
    )


def table(rows: Iterable[Judged]) -> str:
    """Columns for a terminal."""
    lines = [_HEADS, *map(_cells, rows)]
    widths = [max(len(line[i]) for line in lines) for i in range(len(_HEADS))]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def markdown(rows: Iterable[Judged]) -> str:
    """The same for a document."""
    lines = ["| " + " | ".join(_HEADS) + " |", "| " + " | ".join("---" for _ in _HEADS) + " |"]
    lines += ["| " + " | ".join(_cells(row)) + " |" for row in rows]
    return "\n".join(lines)


def document(rows: Iterable[Judged], calibration: Calibration) -> str:
    """Everything as JSON; a figure that could not be measured is null."""
    figures = [asdict(row) for row in rows]
    for figure in figures:
        for key in ("value", "raw", "ratio"):
            if figure[key] is not None and figure[key] != figure[key]:
                figure[key] = None
    return json.dumps(
        {
            "created": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
            "python": platform.python_version(),
            "machine": platform.machine(),
            "cores": os.cpu_count(),
            "load": os.getloadavg(),
            "fastest_loop_s": min((s.wall for s in calibration.speeds), default=None),
            "loops_s": [tuple(s) for s in calibration.speeds],
            "figures": figures,
        },
        indent=1,
        default=str,
    )
