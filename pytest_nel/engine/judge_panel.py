"""Puts the judges of a benchmark together: their clients, and what determines their verdicts."""

from collections.abc import Mapping

from pytest_nel.config.metrics import RewardModelMetric
from pytest_nel.config.schema import PluginSpec, Prices
from pytest_nel.core.types import JsonObject
from pytest_nel.engine.fingerprint import answering
from pytest_nel.engine.judge import Judges
from pytest_nel.engine.judge_call import Panelist
from pytest_nel.engine.judge_plan import JudgeSpec, facts_by_judge
from pytest_nel.engine.plan import BenchmarkPlan
from pytest_nel.engine.runtime import Parts, validated


def plan_judges(plan: BenchmarkPlan, parts: Parts) -> None:
    """Note how many requests the judges of a benchmark may want in flight at their services."""
    for spec in plan.judges:
        for name in spec.services():
            parts.plan_limit(name, plan.config.max_concurrent)


def judges_with(plan: BenchmarkPlan, parts: Parts, services: Mapping[str, PluginSpec]) -> Judges:
    """The judges of a benchmark, ready to be asked; services are started, keys are read.

    Raises:
        ConfigError: A service cannot be used, or speaks another protocol.
    """
    if not plan.judges:
        return Judges()
    panels = {spec.name: _panel(spec, parts) for spec in plan.judges}
    facts = {
        name: _service_facts(name, parts, services)
        for spec in plan.judges
        for name in spec.services()
    }
    return Judges(plan.judges, panels, facts_by_judge(plan.judges, facts))


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
        asked = judges.facts[spec.name]["judges"]
        found[spec.name] = spec.identity([str(facts.get("model")) for facts in asked])
    return {"scorers": found, "primary": plan.primary}


def _panel(spec: JudgeSpec, parts: Parts) -> dict[str, Panelist]:
    metric = spec.metric
    sampling = (
        {}
        if isinstance(metric, RewardModelMetric)
        else {"temperature": metric.temperature, "max_tokens": metric.max_tokens}
    )
    return {
        name: Panelist(
            name,
            parts.judge_client(name, metric.timeout),
            parts.plain,
            {} if name == spec.baseline else sampling,
            metric.max_retries,
        )
        for name in spec.services()
    }


def _service_facts(name: str, parts: Parts, services: Mapping[str, PluginSpec]) -> JsonObject:
    """What determines its answers, and so its verdicts."""
    endpoint = parts.endpoint(name)
    facts = answering(None, None, services[name])
    facts["model"] = endpoint.model  # that of a service that names none is its own name
    return facts | ({} if endpoint.weights is None else {"service.weights": endpoint.weights})
