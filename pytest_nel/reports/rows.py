"""Table rows out of bundles: ours, and those of the reference system, which say less."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_nel.core.types import JsonObject
from pytest_nel.gate.comparable import compared
from pytest_nel.records.record import strict
from pytest_nel.reports._values import count, listed, mapping, number
from pytest_nel.reports.bundles import Found
from pytest_nel.reports.table import CheckRow, Counts, Group, Metric, Row, Table, Usage

_TIMINGS = ("gen_seconds", "latency", "duration", "tokens", "time_ms", "_time", "_ms")
"""A metric whose name ends so is no score."""


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
    bundle = strict(found.bundle)
    benchmark, scores = bundle["benchmark"], mapping(bundle["benchmark"].get("scores"))
    repeats = count(benchmark.get("repeats"))
    facts = {name: bundle[name] for name in bundle if name != "benchmark"}
    metrics = list(_metrics(scores))
    headline = _headline(metrics)
    return Row(
        run=found.run,
        run_id=str(bundle.get("run_id") or ""),
        model=_model(bundle),
        benchmark=found.benchmark,
        headline=headline,
        others=[metric for metric in metrics if metric is not headline],
        samples=count(benchmark.get("samples")),
        repeats=repeats,
        counts=_counts(bundle),
        usage=_usage(mapping(scores.get("runtime"))),
        groups=[*_groups(benchmark, scores)],
        rates={metric.name: metric for metric in _metrics(mapping(scores.get("rates")))},
        notes=[*_notes(bundle), *found.notes, *_differs(facts, repeats, baseline)],
        failures=mapping(mapping(scores.get("failures")).get("categories")),
        facts=facts,
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
        value=number(said.get(value)),
        low=number(said.get("ci_lower")),
        high=number(said.get("ci_upper")),
        method=str(said.get("ci_method") or ""),
        problems=count(said.get("n_problems")),
        n=count(n),
        correct=count(said.get("correct")),
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
    fingerprint, config = mapping(bundle.get("fingerprint")), mapping(bundle.get("config"))
    models = fingerprint.get("models")
    if isinstance(models, list) and any(models):
        return ", ".join(str(model) for model in models if model)
    for said in (fingerprint.get("model"), config.get("model"), bundle.get("model")):
        if isinstance(said, str) and said:
            return said
    return "unknown model"


def _counts(bundle: Mapping[str, Any]) -> Counts:
    def said(name: str) -> int | None:
        return count(bundle.get(f"n_{name}"))

    attempted = said("attempted")
    return Counts(
        planned=said("planned"),
        attempted=count(bundle.get("n_results")) if attempted is None else attempted,
        scored=said("scored"),
        correct=said("correct"),
        wrong=said("wrong"),
        unparsed=said("unparsed"),
        unscored=said("unscored"),
        truncated=said("truncated"),
        empty=said("empty"),
        refusals=said("refusals"),
    )


def _usage(runtime: Mapping[str, Any]) -> Usage:
    tokens, unknown = count(runtime.get("total_tokens")), count(runtime.get("steps_without_usage"))
    if not tokens and unknown:
        tokens = None
    latency = mapping(runtime.get("latency_percentiles_ms"))
    known = {str(name): value for name, at in latency.items() if (value := number(at)) is not None}
    cost, currency = _cost(runtime.get("cost"))
    said = mapping(runtime.get("cost"))
    partial = bool(said.get("n_unknown") or said.get("n_made_again"))
    return Usage(tokens, bool(unknown), known, cost, currency, partial, runtime)


def _cost(said: object) -> tuple[float | None, str]:
    """A number, or an object with a total."""
    if isinstance(said, Mapping):
        for name in ("total", "total_cost", "total_usd", "usd", "value"):
            if (value := number(said.get(name))) is not None:
                usual = "USD" if name.endswith("usd") else ""
                return value, str(said.get("currency") or usual)
        return None, ""
    return number(said), ""


def _groups(benchmark: Mapping[str, Any], scores: Mapping[str, Any]) -> Iterator[Group]:
    for name, said in mapping(benchmark.get("categories")).items():
        if isinstance(said, Mapping):
            yield _group("category", name, said)
    for field, groups in mapping(scores.get("breakdowns")).items():
        for said in listed(groups):
            if isinstance(said, Mapping):
                yield _group(str(field), str(said.get("group")), said)


def _group(field: str, name: str, said: Mapping[str, Any]) -> Group:
    score = _metric("mean_reward", said, "mean_reward")
    return Group(field, name, score, count(said.get("n_unparsed")))


def _notes(bundle: Mapping[str, Any]) -> Iterator[str]:
    if bundle.get("partial"):
        shard = [count(one) for one in listed(bundle.get("shard"))]
        of = f" (shard {shard[0]} of {shard[1]})" if len(shard) == 2 and None not in shard else ""
        yield f"partial: evaluated {bundle.get('evaluated', 'not all')}{of}"
    if missing := count(bundle.get("n_unscored")):
        yield f"{missing:,} attempts have no score and are in none"
    if again := count(bundle.get("n_made_again")):
        yield f"{again:,} attempts were made again because of their outcome: no fair sample"
    if overtaken := count(bundle.get("n_overtaken")):
        yield f"stopped early: {overtaken:,} attempts that took longer have no score"
    if cached := count(bundle.get("n_cached")):
        yield f"{cached:,} answers came from the cache"


def _differs(facts: Mapping[str, Any], repeats: int | None, baseline: Row | None) -> Iterator[str]:
    """What keeps both sides from being compared, as a gate sees it."""
    if baseline is None:
        return
    found = compared(_measured(baseline.facts, baseline.repeats), _measured(facts, repeats))
    if found.different:
        yield f"not measured as the baseline was: {'; '.join(found.different)}"
    if found.unknown:
        yield f"not known on both sides, so not compared: {', '.join(found.unknown)}"


def _measured(facts: Mapping[str, Any], repeats: int | None) -> JsonObject:
    """The part of a bundle that says what was measured; what is of no use there says nothing."""
    said = mapping(facts.get("fingerprint"))
    said |= {name: mapping(said[name]) for name in ("answering", "versions") if name in said}
    if "sampling" in said:
        said["sampling"] = [one for one in listed(said["sampling"]) if isinstance(one, Mapping)]
    config = mapping(facts.get("config"))
    return {"fingerprint": said, "config": config, "benchmark": {"repeats": repeats}}


def _checks(run: str, content: Mapping[str, Any]) -> Iterator[CheckRow]:
    for said in listed(strict(content.get("checks"))):
        if isinstance(said, Mapping):
            known = {"id", "status", "reason"}
            numbers = {str(name): said[name] for name in said if name not in known}
            name, status, why = (str(said.get(key) or "") for key in ("id", "status", "reason"))
            yield CheckRow(run, name, status, why, numbers)
