"""What must be equal for two runs to have asked the same questions in the same way."""

import platform
from collections.abc import Iterable, Mapping, Sequence
from importlib.metadata import version
from typing import Any

from pydantic import ValidationError

from pytest_nel.config.schema import Generation, PluginSpec
from pytest_nel.core.keys import digest
from pytest_nel.core.modules import kind_name
from pytest_nel.core.source import constants, plain_state, source_digest
from pytest_nel.core.types import JsonObject
from pytest_nel.engine.asked import Reads
from pytest_nel.engine.identity import Identity
from pytest_nel.interceptors.pipeline import answering as answering_of_proxy
from pytest_nel.services import REGISTRY as SERVICES
from pytest_nel.solvers import REGISTRY as SOLVERS

_SHOWN = (bool, int, float, type(None))
_OF_BOXES = ("type", "memory", "shm_size", "file_size", "disk", "image")
"""Of a sandbox: no secret, whatever it comes from."""


def answering(
    solver: object,
    configured: Mapping[str, Any] | None = None,
    service: PluginSpec | None = None,
    resource: PluginSpec | None = None,
) -> JsonObject:
    """What determines answers beside the problem, by names that a message can show.

    A service counts by what determines answers; its URL, key and time-outs may differ.

    Args:
        solver: A solver of a user's, or None when the configured one answers.
        configured: The ``solver`` entry of the benchmark.
        service: The service it asks.
        resource: The service of its ``resource_service``, whose tools the model may call.
    """
    facts: JsonObject = {}
    if solver is not None:
        facts |= _brought(solver)
    if configured is not None:
        facts |= _configured(configured)
    sampling: JsonObject = {}
    if service is not None:
        options = service.options
        facts |= _serving("service", service)
        facts["model"] = facts.pop("service.model", None)
        facts |= answering_of_proxy(options.get("proxy"))
        sampling |= _given(options.get("generation"))
    if resource is not None:
        facts |= _serving("resource", resource)
    sampling |= _given((configured or {}).get("generation"))
    facts |= {f"sampling.{name}": value for name, value in sampling.items()}
    return dict(sorted(facts.items()))


def fingerprint_of(facts: Mapping[str, Any]) -> JsonObject:
    """:func:`answering` for the fingerprint: what may come from the environment as digests."""
    boxes = [f"sandbox.{name}" for name in _OF_BOXES]
    plain = ("model", "solver", "solver.type", "service.protocol", *boxes)
    return {
        "solver": digest(facts),
        "model": facts.get("model"),
        "answering": _hidden(facts, plain),
        "versions": {"pytest-nel": version("pytest-nel"), "python": platform.python_version()},
    }


def fingerprint_with(identity: Identity) -> JsonObject:
    """:func:`fingerprint_of` who answers, and what is to be known of who judges."""
    mark = "sandbox."
    judging = identity.judging_facts
    box = {name.removeprefix(mark): judging[name] for name in judging if name.startswith(mark)}
    return {
        **fingerprint_of(identity.answering),
        "judging": identity.judging,
        "judged_in": _hidden(box, _OF_BOXES),
    }


def _hidden(facts: Mapping[str, Any], plain: Sequence[str]) -> JsonObject:
    return {
        name: value if name in plain or isinstance(value, _SHOWN) else digest(value)[:19]
        for name, value in facts.items()
    }


def reads_row(solver: object, configured: Mapping[str, Any] | None = None) -> Reads:
    """What a solver may look at of a problem beside its text."""
    if solver is not None:
        return _reads(solver, getattr(solver, "reads_fields", None))
    options = configured or {}
    kind: Any = SOLVERS.load(str(options["type"]))  # Any: a plugin's class need not say fields
    says = getattr(kind, "row_fields", None)
    return _reads(kind, says(options) if callable(says) else None)


def _reads(says: object, fields: Iterable[str] | None) -> Reads:
    return bool(getattr(says, "reads_row", True)) if fields is None else tuple(fields) or False


def needs_sandbox(configured: Mapping[str, Any]) -> bool:
    """Whether a configured solver cannot work without a sandbox, by what it says of its options."""
    kind: Any = SOLVERS.load(str(configured["type"]))  # Any: a plugin's class need not say it
    says = getattr(kind, "needs_sandbox", None)
    return callable(says) and bool(says({k: v for k, v in configured.items() if k != "type"}))


def in_sandbox(solver: object, configured: Mapping[str, Any] | None = None) -> bool:
    """Whether a solver may use a problem's sandbox: all but those that say they do not."""
    kind = solver if solver is not None else SOLVERS.load(str((configured or {})["type"]))
    return bool(getattr(kind, "uses_sandbox", True))


def placed(facts: Mapping[str, Any], sandbox: Mapping[str, Any] | None) -> JsonObject:
    """Facts of answers or judgements with those of the sandbox they are made in, if any."""
    return {**facts, **{f"sandbox.{name}": value for name, value in (sandbox or {}).items()}}


def _brought(solver: object) -> JsonObject:
    kind = type(solver)
    facts: JsonObject = {"solver": kind_name(kind)}
    says = getattr(solver, "fingerprint", None)
    if callable(says):
        return facts | {f"solver.{name}": value for name, value in says().items()}
    facts["solver.source"] = source_digest(kind)
    facts |= {f"solver.constants.{name}": value for name, value in constants(kind).items()}
    return facts | {f"solver.{name}": value for name, value in plain_state(solver).items()}


def _serving(prefix: str, service: PluginSpec) -> JsonObject:
    """What of a service determines answers."""
    kind: Any = SERVICES.load(service.type)  # Any: a plugin's class need not have all of it
    names = [name for name in kind.answers_by if name != "generation"]
    facts = {f"{prefix}.{name}": service.options.get(name) for name in names}
    more = kind.identity(service.options) if hasattr(kind, "identity") else {}
    return facts | {f"{prefix}.{name}": value for name, value in more.items()}


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
    if hasattr(kind, "identity"):  # what stands in no option as it is, such as a folder's content
        facts |= {f"solver.{name}": value for name, value in kind.identity(entry).items()}
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
