"""Small plots that need no script: a score with its interval, and what became of attempts.

Places are per cent of the width, so that a plot is as wide as there is room for, and never blurred.
"""

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from pytest_nel.reports import _words
from pytest_nel.reports._markup import Markup, tag
from pytest_nel.reports.table import Counts, Metric

_HEIGHT = 22
_OUTCOMES = ("correct", "wrong", "unparsed", "unscored")


@dataclass(frozen=True, slots=True)
class Scale:
    """From ``low`` to ``high``, with marks at ``ticks``."""

    low: float
    high: float
    ticks: Sequence[float]

    def at(self, value: float) -> str:
        """A place, in per cent of the width; what lies outside is at the edge."""
        share = (value - self.low) / (self.high - self.low)
        return f"{100 * min(max(share, 0.0), 1.0):.3f}%"


def scale(metrics: Iterable[Metric | None]) -> Scale:
    """0 to 1 where all scores lie there, as most do; else whatever holds them all."""
    bounds = [
        value
        for metric in metrics
        if metric is not None
        for value in (metric.value, metric.low, metric.high)
        if value is not None
    ]
    low, high = min([0.0, *bounds]), max([1.0, *bounds])
    if (low, high) == (0.0, 1.0):
        return Scale(0.0, 1.0, (0.0, 0.25, 0.5, 0.75, 1.0))
    step = _nice((high - low) / 4)
    low, high = step * math.floor(low / step), step * math.ceil(high / step)
    return Scale(low, high, [low + step * n for n in range(round((high - low) / step) + 1)])


def _nice(step: float) -> float:
    power = 10.0 ** math.floor(math.log10(step))
    return next(power * by for by in (1, 2, 5, 10) if power * by >= step * 0.999)


def whisker(metric: Metric, over: Scale, before: Metric | None = None) -> Markup:
    """A point with its interval; the baseline's, hollow, below it."""
    parts = [_grid(over)]
    if before is not None and before.value is not None:
        parts.append(_point(before, over, 16, "before"))
    if metric.value is not None:
        parts.append(_point(metric, over, 11 if before is None else 6, "now"))
    said = f"{_words.score(metric.value)} {_words.interval(metric)}"
    if before is not None:
        said += f"; baseline {_words.score(before.value)} {_words.interval(before)}"
    return tag("svg", *parts, class_="strip", height=_HEIGHT, role="img", aria_label=said)


def _grid(over: Scale) -> Markup:
    lines = [
        tag("line", x1=over.at(tick), x2=over.at(tick), y1=0, y2=_HEIGHT, class_="grid")
        for tick in over.ticks
    ]
    return tag("g", *lines)


def _point(metric: Metric, over: Scale, y: int, name: str) -> Markup:
    parts = []
    if metric.low is not None and metric.high is not None:
        ends = {"y1": y - 4, "y2": y + 4}
        low, high = over.at(metric.low), over.at(metric.high)
        parts += [
            tag("line", x1=low, x2=high, y1=y, y2=y),
            tag("line", x1=low, x2=low, **ends),
            tag("line", x1=high, x2=high, **ends),
        ]
    parts.append(tag("circle", cx=over.at(metric.value or 0.0), cy=y, r=4))
    return tag("g", *parts, class_=name)


def axis(over: Scale) -> Markup:
    """The numbers below the plots."""
    last = len(over.ticks) - 1
    anchors = {0: "start", last: "end"}
    texts = [
        tag("text", f"{tick:g}", x=over.at(tick), y=12, text_anchor=anchors.get(place, "middle"))
        for place, tick in enumerate(over.ticks)
    ]
    return tag("svg", *texts, class_="strip axis", height=16, aria_hidden="true")


def outcomes(counts: Counts) -> Markup | None:
    """A bar of what became of the planned attempts; None where the bundle does not say."""
    numbers = [getattr(counts, name) for name in _OUTCOMES]
    if any(number is None for number in numbers):
        return None
    total = max(counts.planned or 0, sum(numbers))
    if not total:
        return None
    parts, begun, said = [], 0, []
    for name, number in zip([*_OUTCOMES, "missing"], [*numbers, total - sum(numbers)], strict=True):
        if number:
            x, width = 100 * begun / total, 100 * number / total
            bar = {"x": f"{x:.3f}%", "width": f"{width:.3f}%", "y": 2, "height": 12}
            parts.append(tag("rect", class_=f"o-{name}", **bar))
            said.append(f"{number:,} {'not made' if name == 'missing' else name}")
            begun += number
    label = ", ".join(said)
    title = tag("title", label)
    return tag("svg", title, *parts, class_="bar", height=16, role="img", aria_label=label)
