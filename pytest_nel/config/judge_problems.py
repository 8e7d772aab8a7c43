"""What is wrong with the judges of a benchmark: whom they ask, and whether that is themselves."""

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from pytest_nel.config.interpolate import Path, Problem
from pytest_nel.config.metrics import (
    JudgingMetric,
    MetricConfig,
    PairwiseMetric,
    ScoringConfig,
    services_asked,
)
from pytest_nel.config.problems import suggestion

_DEFAULT_MODELS: Mapping[str, str] = {"llama_cpp": "demo"}
"""What services serve that name no model."""


def scoring_problems(
    path: Path, scoring: ScoringConfig, solver: str | None, services: Mapping[str, Any]
) -> Iterator[Problem]:
    """What is wrong with the metrics of a benchmark together, and with whom they ask.

    Args:
        path: Where ``scoring`` stands.
        scoring: It.
        solver: The service that answers, where there is one.
        services: All services by name, each with ``options``.
    """
    names = [metric.name for metric in scoring.metrics]
    if scoring.primary is not None and scoring.primary not in names:
        said = f"no metric is called {scoring.primary!r}{suggestion(scoring.primary, names)}"
        yield Problem((*path, "primary"), said)
    for at, metric in enumerate(scoring.metrics):
        if not isinstance(metric, MetricConfig):
            place: Path = (*path, "metrics", at)
            yield from _unknown_services(place, metric, services)
            yield from _self_judge(place, metric, solver, services)
            yield from _own_baseline(place, metric, solver)


def _unknown_services(
    place: Path, metric: JudgingMetric, services: Mapping[str, Any]
) -> Iterator[Problem]:
    asked = services_asked(metric)
    if isinstance(metric, PairwiseMetric) and metric.baseline_service is not None:
        asked["baseline_service"] = metric.baseline_service
    for key, name in asked.items():
        if name not in services:
            said = f"no service is called {name!r}{suggestion(name, services)}"
            yield Problem((*place, *_parts(key)), said)


def _self_judge(
    place: Path, metric: JudgingMetric, solver: str | None, services: Mapping[str, Any]
) -> Iterator[Problem]:
    answering = [solver, getattr(metric, "baseline_service", None)]
    for key, name in services_asked(metric).items():
        for other in answering:
            if other is None or metric.allow_self_judge:
                continue
            if name != other and not _same_model(name, other, services):
                continue
            what = "itself" if name == other else f"service {other!r} is asked for the same model"
            said = (
                f"service {name!r} would judge its own answers ({what}): name another service, or "
                "say `allow_self_judge: true`"
            )
            yield Problem((*place, *_parts(key)), said)


def _own_baseline(place: Path, metric: JudgingMetric, solver: str | None) -> Iterator[Problem]:
    """A model that is compared with itself loses to nobody."""
    name = getattr(metric, "baseline_service", None)
    if name is None or solver is None:
        return
    if name == solver:
        said = (
            f"service {name!r} is the model that is measured: name another one to compare it with"
        )
        yield Problem((*place, "baseline_service"), said)


def _same_model(first: str, second: str, services: Mapping[str, Any]) -> bool:
    one, other = services.get(first), services.get(second)
    if one is None or other is None:
        return False
    named = ((first, one), (second, other))  # an endpoint that names no model is asked for its own
    sides = [(_place(spec.options), spec.options.get("model") or name) for name, spec in named]
    if not any(place for place, _ in sides):
        said = _deployed(one)
        return said == _deployed(other) and any(value is not None for value in said[1:])
    return sides[0] == sides[1] and bool(sides[0][0])


def _deployed(spec: Any) -> Sequence[object]:  # Any: a plugin spec
    """What a service that is started for the run serves; where it listens is not known yet."""
    model = spec.options.get("model", _DEFAULT_MODELS.get(spec.type))
    return [spec.type, model, *(spec.options.get(name) for name in _OF_A_SERVER)]


_OF_A_SERVER = ("command", "env", "extra_args", "extra_env", "image", "pre_cmd")


def _place(options: Mapping[str, Any]) -> str:
    """Where a service is, whether its URL is whole or a base; this machine has many names."""
    url = str(options.get("url") or "").rstrip("/")
    scheme, mark, rest = url.partition("://")
    host, slash, path = rest.partition("/")
    name, colon, port = host.lower().rpartition(":") if ":" in host else (host.lower(), "", "")
    name = "127.0.0.1" if name in _HERE else name
    ends = ("/completions", "/responses", "/chat")
    for end in ends:
        path = path.removesuffix(end)
    return f"{scheme}{mark}{name}{colon}{port}{slash}{path}"


_HERE = ("localhost", "::1", "[::1]", "0.0.0.0")  # noqa: S104  # compared, not listened on


def _parts(key: str) -> Path:
    return tuple(int(part) if part.isdigit() else part for part in key.split("."))
