"""Puts the judges of a benchmark together: their clients, and what determines their verdicts."""

from collections.abc import Mapping
from typing import Any

from pytest_nel.config.schema import PluginSpec, Prices
from pytest_nel.core.types import JsonObject
from pytest_nel.engine.fingerprint import answering
from pytest_nel.engine.judge import Judges
from pytest_nel.engine.judge_call import Panelist, Reach
from pytest_nel.engine.judge_kinds import BASELINE
from pytest_nel.engine.judge_plan import JudgeSpec, system_of
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.engine.runtime import Parts
from pytest_nel.engine.validated import validated


def plan_judges(plan: BenchmarkPlan, parts: Parts) -> None:
    """Note how many requests the judges of a benchmark may want in flight at their services."""
    for spec in plan.judges:
        for name in spec.services():
            parts.plan_limit(name, plan.config.max_concurrent)


def judges_with(plan: BenchmarkPlan, parts: Parts, services: Mapping[str, PluginSpec]) -> Judges:
    """The judges of a benchmark, ready to be asked; their services are started now or late.

    Raises:
        ConfigError: A service cannot be used, or speaks another protocol.
    """
    if not plan.judges:
        return Judges()
    panels = {spec.name: _panel(spec, parts) for spec in plan.judges}
    system = system_of(plan.config.solver)
    facts = {spec.name: _facts(spec, parts, services, system) for spec in plan.judges}
    return Judges(plan.judges, panels, facts)


def judge_prices(plan: BenchmarkPlan, services: Mapping[str, PluginSpec]) -> JsonObject:
    """Prices of the services that judge, for the plan; those that have none are left out."""
    found: JsonObject = {}
    for spec in plan.judges:
        for name in spec.services():
            prices = services[name].options.get("prices")
            if prices is not None:
                checked: Prices = validated(Prices, prices, f"services.{name}.prices")
                found[name] = checked.model_dump()
    return {"judge_prices": found} if found else {}


def judge_identities(plan: BenchmarkPlan, judges: Judges) -> JsonObject:
    """What joins the fingerprint: each judge beside the further scorers, and who is primary."""
    if not judges:
        return {} if plan.primary is None else {"primary": plan.primary}
    found = dict(plan.facts.get("scorers", {}))
    for spec in judges.specs:
        found[spec.name] = spec.identity(judges.facts[spec.name])
    return {"scorers": found, "primary": plan.primary}


def _panel(spec: JudgeSpec, parts: Parts) -> dict[str, Panelist]:
    panel = {}
    for name in spec.judges:
        sampling = spec.sampling(parts.described(name).generation)
        panel[name] = _panelist(spec, parts, name, sampling)
    if spec.baseline is not None:  # it may be a judge, too, which is asked otherwise
        panel[BASELINE] = _panelist(spec, parts, spec.baseline, {})
    return panel


def _panelist(spec: JudgeSpec, parts: Parts, service: str, sampling: Mapping[str, Any]) -> Panelist:
    client = parts.judge_client(service, spec.metric.timeout)
    reach = parts.reach.setdefault(service, Reach())
    return Panelist(service, client, reach, sampling, spec.metric.max_retries)


def _facts(
    spec: JudgeSpec, parts: Parts, services: Mapping[str, PluginSpec], system: str | None
) -> JsonObject:
    """What determines the verdicts of a judge, the models included.

    Args:
        spec: The judge.
        parts: Knows the endpoints.
        services: The suite's.
        system: The solver's system prompt, which the baseline's model is sent as well.
    """
    judges = []
    for name in spec.judges:
        sent = spec.sampling(parts.described(name).generation)
        changed = {f"sampling.{key}": value for key, value in sent.items() if value is not None}
        judges.append({**_service_facts(name, parts, services), **changed})
    base = spec.baseline
    baseline = None if base is None else _service_facts(base, parts, services)
    if baseline is not None and system is not None:
        baseline["system_prompt"] = system
    return {**spec.going_by(), "judges": judges, "baseline": baseline}


def _service_facts(name: str, parts: Parts, services: Mapping[str, PluginSpec]) -> JsonObject:
    """What determines its answers."""
    endpoint = parts.described(name)
    facts = answering(None, None, services[name])
    facts["model"] = endpoint.model  # that of a service that names none is its own name
    return facts | ({} if endpoint.weights is None else {"service.weights": endpoint.weights})
