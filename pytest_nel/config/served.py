"""What a server of ours is told of its benchmark beside the name: a file with its entry."""

import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from pytest_nel.config.interpolate import escape, is_env_map
from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.keys import safe_name
from pytest_nel.core.types import JsonObject

_NONE = "none"


def suite_file(log_dir: Path, name: str) -> Path:
    """Where the file of a server is; not ``.nel.yaml``: nobody is to measure it.

    Args:
        log_dir: The folder of its log.
        name: The server's.
    """
    return log_dir / f"server-{safe_name(name)}.yaml"


def suite_of(bench: str | None, sandbox: PluginSpec) -> JsonObject | None:
    """The suite that a server is given; None where the name of its benchmark is all.

    Args:
        bench: The benchmark, anchored; None for a server of somebody else's.
        sandbox: Where its scorers run code.
    """
    if bench is None or sandbox.type == _NONE:
        return None
    entry = {"name": bench, "solver": {"type": "custom"}, "sandbox": sandbox.model_dump()}
    return {"services": {}, "benchmarks": [entry]}


def write_suite(suite: JsonObject, path: Path, hide: Callable[[str], str], where: str) -> Path:
    """Write the file of a suite; JSON is YAML, too.

    Variables stand in it by name where the suite of the run has them by name.

    Args:
        suite: What :func:`suite_of` has made.
        path: The file; made with its folder.
        hide: Takes secrets out of JSON; the file may hold none.
        where: The place to blame, such as ``services.judges``.

    Raises:
        ConfigError: A secret would be written.
    """
    text = json.dumps(_escaped(suite, ()), indent=2) + "\n"
    if hide(text) != text:
        msg = (
            f"{where}: the value of a secret stands in an option of its sandbox, and its server "
            "would be told by a file: pass it by container_env, as host:NAME"
        )
        raise ConfigError(msg)
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


def _escaped(value: Any, at: tuple[str | int, ...]) -> Any:  # Any: JSON
    """As the loader gives it back; where it expands nothing there is nothing to protect."""
    if isinstance(value, str):
        return escape(value)
    if isinstance(value, Mapping):
        return {
            key: inner if is_env_map((*at, key)) else _escaped(inner, (*at, key))
            for key, inner in value.items()
        }
    if isinstance(value, list):
        return [_escaped(inner, (*at, index)) for index, inner in enumerate(value)]
    return value
