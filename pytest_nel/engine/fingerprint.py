"""What must be equal for two runs to have asked the same questions in the same way."""

import platform
from collections.abc import Mapping
from importlib.metadata import version
from typing import Any

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.keys import digest
from pytest_nel.core.types import JsonObject

_OF_A_SERVICE = ("protocol", "model", "generation")


def answering(
    solver: object,
    configured: Mapping[str, Any] | None = None,
    service: PluginSpec | None = None,
) -> JsonObject:
    """Fingerprint of whoever answers: solver, requested model, versions.

    A service counts by what determines answers; its URL, key and time-outs may differ.

    Args:
        solver: A solver of a user's, or None when the configured one answers.
        configured: The ``solver`` entry of the benchmark.
        service: The service it asks.
    """
    identity: JsonObject = {
        key: value for key, value in (configured or {}).items() if key != "service"
    }
    if solver is not None:
        kind = type(solver)
        identity["class"] = f"{kind.__module__}.{kind.__qualname__}"
    options = {} if service is None else service.options
    identity["service"] = {key: options[key] for key in _OF_A_SERVICE if key in options}
    return {
        "solver": digest(identity),
        "model": options.get("model"),
        "versions": {"pytest-nel": version("pytest-nel"), "python": platform.python_version()},
    }
