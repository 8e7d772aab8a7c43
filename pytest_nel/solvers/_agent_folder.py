"""Agent folders: ``run.sh.j2``, and if need be ``install.sh.j2`` and ``agent.toml``."""

import shlex
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import jinja2

from pytest_nel.core.errors import ConfigError

RUN, INSTALL, SETTINGS = "run.sh.j2", "install.sh.j2", "agent.toml"
_KEYS = ("name", "timeout_sec", "env", "asks_model")


@dataclass(frozen=True, slots=True)
class AgentFolder:
    """An agent.

    Attributes:
        name: As trajectories call it.
        run: The script that runs it.
        install: The script that comes before, if any.
        timeout: Seconds, where its agent.toml says them.
        env: Variables of both scripts.
        asks_model: Whether it asks its model, where its agent.toml says so.
    """

    name: str
    run: jinja2.Template
    install: jinja2.Template | None = None
    timeout: float | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    asks_model: bool | None = None

    def script(self, template: jinja2.Template, values: Mapping[str, Any]) -> bytes:
        """A script with its values filled in; ``{{ value | sh }}`` is quoted for the shell.

        Raises:
            ConfigError: It names a value that there is not.
        """
        try:
            return template.render(values).encode()
        except (jinja2.TemplateError, TypeError, ValueError) as error:
            known = ", ".join(sorted(values))
            msg = f"agent {self.name}: {template.name}: {error}; its values: {known}"
            raise ConfigError(msg) from error


def read_agent(folder: Path) -> AgentFolder:
    """Read an agent's folder.

    Raises:
        ConfigError: It is none.
    """
    if not (folder / RUN).is_file():
        msg = f"solver agent: expected the folder of an agent with {RUN} in it, got {folder}"
        raise ConfigError(msg)
    loader = jinja2.FileSystemLoader(folder)
    made = jinja2.Environment(
        loader=loader,
        undefined=jinja2.StrictUndefined,
        keep_trailing_newline=True,
        autoescape=False,  # noqa: S701 - shell scripts, no HTML; there is a filter for these
    )
    made.filters["sh"] = lambda value: shlex.quote(str(value))
    settings = _settings(folder / SETTINGS)
    try:
        install = made.get_template(INSTALL) if (folder / INSTALL).is_file() else None
        run = made.get_template(RUN)
    except jinja2.TemplateSyntaxError as error:
        msg = f"{folder}/{error.name}:{error.lineno}: {error.message}"
        raise ConfigError(msg) from error
    return AgentFolder(
        str(settings.get("name") or folder.resolve().name),
        run,
        install,
        settings.get("timeout_sec"),
        dict(settings.get("env") or {}),
        settings.get("asks_model"),
    )


def _settings(path: Path) -> Mapping[str, Any]:
    if not path.is_file():
        return {}
    try:
        found = tomllib.loads(path.read_text(encoding="utf-8"))
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        msg = f"{path}: it cannot be read: {error}"
        raise ConfigError(msg) from error
    for key in found:
        if key not in _KEYS:
            msg = f"{path}: unknown key {key!r}; it may have {', '.join(_KEYS)}"
            raise ConfigError(msg)
    seconds, env = found.get("timeout_sec", 1.0), found.get("env", {})
    if isinstance(seconds, bool) or not isinstance(seconds, int | float) or seconds <= 0:
        msg = f"{path}: timeout_sec: expected a number above 0, got {seconds!r}"
        raise ConfigError(msg)
    if not isinstance(env, dict) or not all(isinstance(text, str) for text in env.values()):
        msg = f"{path}: env: expected a table of texts"
        raise ConfigError(msg)
    if not isinstance(asks := found.get("asks_model", True), bool):
        msg = f"{path}: asks_model: expected true or false, got {asks!r}"
        raise ConfigError(msg)
    return found
