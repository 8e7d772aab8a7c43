"""The model that every report is made from: one row per run and benchmark, none overwritten."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Protocol

from pytest_nel.core.types import JsonObject


@dataclass(frozen=True, slots=True)
class Metric:
    """A score with its interval.

    Attributes:
        name: As in the bundle: ``mean_reward``, ``pass@4``, ``scorer:f1``.
        value: None where nothing could be scored.
        low: Lower end of the 95 % interval; None where the bundle has none. 0 is a bound.
        high: Its upper end.
        method: How the interval was made, as the bundle says; empty where it does not.
        reliable: Whether the bundle lets the interval pass for one of 95 %.
        problems: On how many problems it was counted, where that is known.
        n: On how many attempts, where the bundle says that.
        correct: How many of ``n`` were correct, where the metric counts.
    """

    name: str
    value: float | None
    low: float | None = None
    high: float | None = None
    method: str = ""
    problems: int | None = None
    n: int | None = None
    correct: int | None = None
    reliable: bool = True

    @property
    def has_interval(self) -> bool:
        """Whether both bounds are known."""
        return self.low is not None and self.high is not None


@dataclass(frozen=True, slots=True)
class Group:
    """A part of a benchmark: a category, or what else its details divide it by.

    Attributes:
        field: ``category``, or the field of the breakdown.
        name: The group's.
        score: Its mean reward.
        unparsed: Attempts in which no answer was found; None where the bundle does not say.
    """

    field: str
    name: str
    score: Metric
    unparsed: int | None = None


@dataclass(frozen=True, slots=True)
class Counts:
    """Attempts by what became of them; None where the bundle does not say.

    ``planned`` holds those that were never made, ``attempted`` the rest; a reward have the
    ``scored``. Unparsed, truncated, empty and refused ones are among the scored.
    """

    planned: int | None = None
    attempted: int | None = None
    scored: int | None = None
    correct: int | None = None
    wrong: int | None = None
    unparsed: int | None = None
    unscored: int | None = None
    truncated: int | None = None
    empty: int | None = None
    refusals: int | None = None


@dataclass(frozen=True, slots=True)
class Usage:
    """What it took.

    Attributes:
        tokens: Of all attempts that reported them; None where none did.
        tokens_partial: Whether some attempts reported none.
        latency_ms: Percentiles of the model's latency by name (``p50``).
        cost: In ``currency``, where prices were given.
        currency: Of ``cost``.
        cost_partial: Whether it is a lower bound: what some attempts took is not known.
        facts: The bundle's whole ``runtime``.
    """

    tokens: int | None = None
    tokens_partial: bool = False
    latency_ms: Mapping[str, float] = field(default_factory=dict)
    cost: float | None = None
    currency: str = ""
    cost_partial: bool = False
    facts: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON

    @property
    def p50(self) -> float | None:
        """Median latency in milliseconds."""
        return self.latency_ms.get("p50")


@dataclass(frozen=True, slots=True)
class Row:
    """One benchmark of one run.

    Attributes:
        run: The run's name in this report, different for different runs.
        run_id: The bundle's.
        model: What was measured.
        benchmark: Its name.
        headline: The metric that stands for it.
        others: All further metrics, in the bundle's order.
        samples: How many problems were scored.
        repeats: Attempts per problem.
        rates: Shares of attempts (``unparsed``), where the bundle has their intervals.
        notes: What a reader must know about these numbers.
        failures: The bundle's failure categories with their examples.
        facts: timestamp, sdk_version, fingerprint and what else the bundle's top level says.
        results: results.jsonl of exactly this benchmark, where it is there.
        baseline: The row that this one is compared with, where there is one.
    """

    run: str
    run_id: str
    model: str
    benchmark: str
    headline: Metric
    others: Sequence[Metric] = ()
    samples: int | None = None
    repeats: int | None = None
    counts: Counts = Counts()
    usage: Usage = field(default_factory=Usage)
    groups: Sequence[Group] = ()
    rates: Mapping[str, Metric] = field(default_factory=dict)
    notes: Sequence[str] = ()
    failures: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON
    facts: Mapping[str, Any] = field(default_factory=dict)  # Any: JSON
    results: Path | None = None
    baseline: "Row | None" = None

    @property
    def metrics(self) -> Sequence[Metric]:
        """The headline and all others."""
        return [self.headline, *self.others]


@dataclass(frozen=True, slots=True)
class CheckRow:
    """A decision of checks.json.

    Attributes:
        run: The name of its run in this report.
        id: The check's.
        status: ``passed``, ``failed``, ``open``, or what else is said there.
        reason: One line.
        numbers: What else it says: the gate's scores, difference, limits.
    """

    run: str
    id: str
    status: str
    reason: str
    numbers: JsonObject = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Table:
    """All that a report shows.

    Attributes:
        rows: In the order of benchmarks, then of runs as they were named.
        checks: Of all runs.
        notes: What concerns no single row.
        baseline: The name of the run that the rows are compared with.
        version: Of pytest-nel, which made the report.
    """

    rows: Sequence[Row]
    checks: Sequence[CheckRow] = ()
    notes: Sequence[str] = ()
    baseline: str | None = None
    version: str = ""

    @property
    def runs(self) -> Sequence[str]:
        """Names of the runs, in the order in which they were named."""
        return list(dict.fromkeys(row.run for row in self.rows))

    @property
    def models(self) -> Sequence[str]:
        """The models, each once."""
        return list(dict.fromkeys(row.model for row in self.rows))

    @property
    def title(self) -> str:
        """``Evaluation report``, with the model where there is one only."""
        return "Evaluation report" + (f": {self.models[0]}" if len(self.models) == 1 else "")


class Format(Protocol):
    """A way to write a report down.

    Attributes:
        suffix: Of its files, without the dot.
    """

    suffix: str

    def pieces(self, table: Table) -> Iterator[str]:
        """The text of the report, in pieces."""
        ...


def against(row: Row, metric: Metric) -> Metric | None:
    """The baseline's metric of the same name."""
    found = () if row.baseline is None else row.baseline.metrics
    return next((other for other in found if other.name == metric.name), None)


def difference(row: Row, metric: Metric) -> float | None:
    """This score minus the baseline's; the interval of it is the business of a comparison."""
    other = against(row, metric)
    if other is None or other.value is None or metric.value is None:
        return None
    return metric.value - other.value
