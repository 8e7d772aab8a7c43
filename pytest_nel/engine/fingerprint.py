"""What must be equal for two runs to have asked the same questions in the same way."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from pydantic import ValidationError

from pytest_nel.config.schema import Generation, PluginSpec
from pytest_nel.core.keys import digest
from pytest_nel.core.modules import kind_name
from pytest_nel.core.source import constants, plain_state, source_digest
from pytest_nel.core.types import JsonObject
from pytest_nel.interceptors.pipeline import answering as answering_of_proxy
from pytest_nel.services import service_class
from pytest_nel.solvers import REGISTRY as SOLVERS

_SHOWN = (bool, int, float, type(None))


def answering(
    solver: object,
    configured: Mapping[str, Any] | None = None,
    service: PluginSpec | None = None,
) -> JsonObject:
    """What determines answers beside the problem, by names that a message can show.

    A service counts by what determines answers; its URL, key and time-outs may differ.

    Args:
        solver: A solver of a user's, or None when the configured one answers.
        configured: The ``solver`` entry of the benchmark.
        service: The service it asks.
    """
    facts: JsonObject = {}
    if solver is not None:
        facts |= _brought(solver)
    if configured is not None:
        facts |= _configured(configured)
    sampling: JsonObject = {}
    if service is not None:
        options = service.options
        kind: Any = service_class(service.type)  # Any: a plugin's class need not have all of it
        names = kind.answers_by
        facts |= {f"service.{name}": options.get(name) for name in names if name != "generation"}
        more = kind.identity(options) if hasattr(kind, "identity") else {}
        facts |= {f"service.{name}": value for name, value in more.items()}
        facts["model"] = facts.pop("service.model", None)
        facts |= answering_of_proxy(options.get("proxy"))
        sampling |= _given(options.get("generation"))
    sampling |= _given((configured or {}).get("generation"))
    facts |= {f"sampling.{name}": value for name, value in sampling.items()}
    return dict(sorted(facts.items()))


def fingerprint_of(facts: Mapping[str, Any]) -> JsonObject:
    """:func:`answering` for the fingerprint: what may come from the environment as digests."""
    plain = ("model", "solver", "solver.type", "service.protocol")
    return {
        "solver": digest(facts),
        "model": facts.get("model"),
        "answering": {
            name: value if name in plain or isinstance(value, _SHOWN) else digest(value)[:19]
            for name, value in facts.items()
        },
        "versions": {"pytest-nel": version("pytest-nel"), "python": platform.python_version()},
    }


def reads_row(solver: object, configured: Mapping[str, Any] | None = None) -> bool:
    """Whether a solver may look at more of a problem than its text."""
    kind = solver if solver is not None else SOLVERS.load(str((configured or {})["type"]))
    return bool(getattr(kind, "reads_row", True))


def _brought(solver: object) -> JsonObject:
    kind = type(solver)
    facts: JsonObject = {"solver": kind_name(kind)}
    says = getattr(solver, "fingerprint", None)
    if callable(says):
        return facts | {f"solver.{name}": value for name, value in says().items()}
    facts["solver.source"] = source_digest(kind)
    facts |= {f"solver.constants.{name}": value for name, value in constants(kind).items()}
    return facts | {f"solver.{name}": value for name, value in plain_state(solver).items()}


def _configured(entry: Mapping[str, Any]) -> JsonObject:
    kind: Any = SOLVERS.load(str(entry["type"]))  # Any: a plugin's class need not say a version
    fields = getattr(getattr(kind, "Config", None), "model_fields", {})
    facts: JsonObject = {
        f"solver.{name}": value
        for name, value in entry.items()
        if name not in {"service", "generation"}
        and value is not None
        and not (name in fields and value == fields[name].default)  # written or not, the same
    }
    facts["solver.version"] = getattr(kind, "version", None) or source_digest(kind)
    return facts


def _given(generation: object) -> JsonObject:
    """What is set, as it will be sent: 0 and 0.0 are one temperature."""
    if not isinstance(generation, Mapping):
        return {}
    try:
        return Generation(**generation).given()
    except ValidationError:  # it is refused where the solver is made
        return dict(generation)
