"""JSON: the whole table, for programs."""

from collections.abc import Iterator
from dataclasses import asdict

from pytest_nel.core.types import JsonObject
from pytest_nel.records.record import indented
from pytest_nel.reports.table import Group, Metric, Row, Table, against, difference

VERSION = 1


class JsonReport:
    """Strict JSON: what is unknown is null, and no number is NaN."""

    suffix = "json"

    def pieces(self, table: Table) -> Iterator[str]:
        """One object."""
        content = {
            "report_version": VERSION,
            "made_by": f"pytest-nel {table.version}".strip(),
            "model": table.models[0] if len(table.models) == 1 else None,
            "models": [*table.models],
            "runs": [*table.runs],
            "baseline": table.baseline,
            "n_benchmarks": len({row.benchmark for row in table.rows}),
            "rows": [_row(row) for row in table.rows],
            "checks": [_flat(asdict(check)) for check in table.checks],
            "notes": [*table.notes],
        }
        yield indented(content)


def _row(row: Row) -> JsonObject:
    usage = row.usage
    return {
        "run": row.run,
        "run_id": row.run_id,
        "timestamp": row.facts.get("timestamp"),
        "sdk_version": row.facts.get("sdk_version"),
        "model": row.model,
        "benchmark": row.benchmark,
        "samples": row.samples,
        "repeats": row.repeats,
        "headline": row.headline.name,
        "metrics": {metric.name: _metric(row, metric) for metric in row.metrics},
        "counts": asdict(row.counts),
        "partial": row.facts.get("partial"),
        "tokens": usage.tokens,
        "latency_ms": dict(usage.latency_ms),
        "cost": usage.cost,
        "currency": usage.currency or None,
        "groups": [_group(group) for group in row.groups],
        "failures": dict(row.failures),
        "fingerprint": row.facts.get("fingerprint"),
        "notes": [*row.notes],
    }


def _metric(row: Row, metric: Metric) -> JsonObject:
    made = _score(metric)
    other = against(row, metric)
    if row.baseline is not None:
        gap = difference(row, metric)
        made["baseline"] = None if other is None else _score(other)
        made["difference"] = None if gap is None else round(gap, 6)
    return made


def _score(metric: Metric) -> JsonObject:
    return {
        "value": metric.value,
        "ci_lower": metric.low,
        "ci_upper": metric.high,
        "ci_method": metric.method or None,
        "ci_reliable": metric.reliable if metric.has_interval else None,
        "n_problems": metric.problems,
        "n": metric.n,
        "correct": metric.correct,
    }


def _group(group: Group) -> JsonObject:
    said = {"field": group.field, "name": group.name, **_score(group.score)}
    return said if group.unparsed is None else said | {"n_unparsed": group.unparsed}


def _flat(check: JsonObject) -> JsonObject:
    numbers: JsonObject = check.pop("numbers")
    return numbers | check
