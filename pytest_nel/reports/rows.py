"""Table rows out of bundles: ours, and those of the reference system, which say less."""

import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_nel.core.types import JsonObject
from pytest_nel.reports.bundles import Found
from pytest_nel.reports.table import CheckRow, Counts, Group, Metric, Row, Table, Usage

_TIMINGS = ("gen_seconds", "latency", "duration", "tokens", "time_ms", "_time", "_ms")
"""A metric whose name ends so is no score."""
_MUST_MATCH = ("benchmark", "content_hash", "rows_hash", "prompts", "scorer", "pass_at")
"""Fields of two fingerprints without which their scores measure different things."""


def table_of(
    found: Sequence[Found], baseline: Sequence[Found] = (), *, version: str, notes: Sequence[str]
) -> Table:
    """One row per bundle, beside the baseline's row of the same benchmark.

    Args:
        found: What is reported.
        baseline: What it is compared with; at most one bundle per benchmark.
        version: Of pytest-nel.
        notes: What concerns no single row.
    """
    before = {one.benchmark: row_of(one) for one in baseline}
    order = {name: place for place, name in enumerate(dict.fromkeys(o.benchmark for o in found))}
    rows = [row_of(one, before.get(one.benchmark)) for one in found]
    rows.sort(key=lambda row: order[row.benchmark])
    missing = [name for name in before if name not in order]
    notes = [*notes, *(f"only the baseline has the benchmark {name}" for name in missing)]
    runs = {one.run: one.checks for one in found}
    checks = [check for run, made in runs.items() for check in _checks(run, made)]
    name = baseline[0].run if baseline else None
    return Table(rows, checks, notes, name, version)


def row_of(found: Found, baseline: Row | None = None) -> Row:
    """The row of one bundle."""
    bundle = found.bundle
    benchmark, scores = bundle["benchmark"], bundle["benchmark"].get("scores") or {}
    metrics = list(_metrics(scores))
    headline = _headline(metrics)
    return Row(
        run=found.run,
        run_id=str(bundle.get("run_id") or ""),
        model=_model(bundle),
        benchmark=found.benchmark,
        headline=headline,
        others=[metric for metric in metrics if metric is not headline],
        samples=_int(benchmark.get("samples")),
        repeats=_int(benchmark.get("repeats")),
        counts=_counts(bundle),
        usage=_usage(_object(scores.get("runtime"))),
        groups=[*_groups(benchmark, scores)],
        rates={metric.name: metric for metric in _metrics(_object(scores.get("rates")))},
        notes=[*_notes(found), *_differs(bundle, baseline)],
        failures=_object(_object(scores.get("failures")).get("categories")),
        facts={name: bundle[name] for name in bundle if name != "benchmark"},
        results=found.results,
        baseline=baseline,
    )


def _metrics(scores: Mapping[str, Any]) -> Iterator[Metric]:
    for name, said in scores.items():
        if isinstance(said, Mapping) and "value" in said:
            yield _metric(str(name), said, "value")


def _metric(name: str, said: Mapping[str, Any], value: str) -> Metric:
    n = said.get("n") if said.get("total") is None else said["total"]
    return Metric(
        name=name,
        value=_number(said.get(value)),
        low=_number(said.get("ci_lower")),
        high=_number(said.get("ci_upper")),
        method=str(said.get("ci_method") or ""),
        problems=_int(said.get("n_problems")),
        n=_int(n),
        correct=_int(said.get("correct")),
        reliable=said.get("ci_reliable") is not False,
    )


def _headline(metrics: Sequence[Metric]) -> Metric:
    """mean_reward, else pass@1, else the first that is no time; a bundle without any has none."""
    for name in ("mean_reward", "pass@1"):
        for metric in metrics:
            if metric.name == name:
                return metric
    scores = [metric for metric in metrics if not metric.name.endswith(_TIMINGS)]
    return scores[0] if scores else Metric("none", None)


def _model(bundle: Mapping[str, Any]) -> str:
    fingerprint, config = _object(bundle.get("fingerprint")), _object(bundle.get("config"))
    models = fingerprint.get("models")
    if isinstance(models, list) and any(models):
        return ", ".join(str(model) for model in models if model)
    for said in (fingerprint.get("model"), config.get("model"), bundle.get("model")):
        if isinstance(said, str) and said:
            return said
    return "unknown model"


def _counts(bundle: Mapping[str, Any]) -> Counts:
    def count(name: str) -> int | None:
        return _int(bundle.get(f"n_{name}"))

    attempted = count("attempted")
    return Counts(
        planned=count("planned"),
        attempted=_int(bundle.get("n_results")) if attempted is None else attempted,
        scored=count("scored"),
        correct=count("correct"),
        wrong=count("wrong"),
        unparsed=count("unparsed"),
        unscored=count("unscored"),
        truncated=count("truncated"),
        empty=count("empty"),
        refusals=count("refusals"),
    )


def _usage(runtime: Mapping[str, Any]) -> Usage:
    tokens, unknown = _int(runtime.get("total_tokens")), _int(runtime.get("steps_without_usage"))
    if not tokens and unknown:
        tokens = None
    latency = _object(runtime.get("latency_percentiles_ms"))
    known = {str(name): value for name, at in latency.items() if (value := _number(at)) is not None}
    cost, currency = _cost(runtime.get("cost"))
    said = _object(runtime.get("cost"))
    partial = bool(said.get("n_unknown") or said.get("n_made_again"))
    return Usage(tokens, bool(unknown), known, cost, currency, partial, runtime)


def _cost(said: object) -> tuple[float | None, str]:
    """A number, or an object with a total."""
    if isinstance(said, Mapping):
        for name in ("total", "total_cost", "total_usd", "usd", "value"):
            if (value := _number(said.get(name))) is not None:
                usual = "USD" if name.endswith("usd") else ""
                return value, str(said.get("currency") or usual)
        return None, ""
    return _number(said), ""


def _groups(benchmark: Mapping[str, Any], scores: Mapping[str, Any]) -> Iterator[Group]:
    for name, said in _object(benchmark.get("categories")).items():
        if isinstance(said, Mapping):
            yield Group("category", str(name), _metric("mean_reward", said, "mean_reward"))
    for field, groups in _object(scores.get("breakdowns")).items():
        for said in groups if isinstance(groups, list) else ():
            if isinstance(said, Mapping):
                score = _metric("mean_reward", said, "mean_reward")
                yield Group(str(field), str(said.get("group")), score)


def _notes(found: Found) -> Iterator[str]:
    bundle = found.bundle
    if bundle.get("partial"):
        shard = bundle.get("shard")
        of = f" (shard {shard[0]} of {shard[1]})" if isinstance(shard, list) else ""
        yield f"partial: evaluated {bundle.get('evaluated', 'not all')}{of}"
    if bundle.get("n_unscored"):
        yield f"{bundle['n_unscored']:,} attempts have no score and are in none"
    if again := bundle.get("n_made_again"):
        yield f"{again:,} attempts were made again because of their outcome: no fair sample"
    if overtaken := bundle.get("n_overtaken"):
        yield f"stopped early: {overtaken:,} attempts that took longer have no score"
    if cached := bundle.get("n_cached"):
        yield f"{cached:,} answers came from the cache"
    yield from found.notes


def _differs(bundle: Mapping[str, Any], baseline: Row | None) -> Iterator[str]:
    if baseline is None:
        return
    ours, theirs = (_object(facts.get("fingerprint")) for facts in (bundle, baseline.facts))
    differ = [
        name
        for name in _MUST_MATCH
        if name in ours and name in theirs and ours[name] != theirs[name]
    ]
    if differ:
        yield f"not the same benchmark as the baseline's: {', '.join(differ)} differ"
    if not (ours and theirs):
        yield "one side has no fingerprint: whether both measured the same thing is not known"


def _checks(run: str, content: Mapping[str, Any]) -> Iterator[CheckRow]:
    listed = content.get("checks")
    for said in listed if isinstance(listed, list) else ():
        if isinstance(said, Mapping):
            known = {"id", "status", "reason"}
            numbers = {str(name): said[name] for name in said if name not in known}
            name, status, why = (str(said.get(key) or "") for key in ("id", "status", "reason"))
            yield CheckRow(run, name, status, why, numbers)


def _object(value: object) -> JsonObject:
    return dict(value) if isinstance(value, Mapping) else {}


def _number(value: object) -> float | None:
    """A finite number; what else a file may say is none."""
    if isinstance(value, bool) or not isinstance(value, int | float) or not math.isfinite(value):
        return None
    return float(value)


def _int(value: object) -> int | None:
    number = _number(value)
    return None if number is None else int(number)
