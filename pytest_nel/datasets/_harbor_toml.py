"""What a task.toml says, checked: what would change a result and cannot be done is refused."""

import re
import tomllib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import DataError
from pytest_nel.core.types import JsonObject

VERIFIER_TIMEOUT = 600.0
"""Seconds, where the task does not say."""
_KNOWN: Mapping[str, frozenset[str]] = {
    "": frozenset(
        {"version", "schema_version", "source", "task", "metadata", "verifier", "agent"}
        | {"environment", "solution"}
    ),
    "verifier": frozenset({"timeout_sec", "env", "user", "setup_script"}),
    "agent": frozenset({"timeout_sec", "user"}),
    "environment": frozenset(
        {"build_timeout_sec", "docker_image", "cpus", "memory", "memory_mb", "storage"}
        | {"storage_mb", "allow_internet", "workdir", "env", "start_cmd"}
    ),
    "solution": frozenset({"env"}),
}
_SIZE = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*([kmgt]?)i?b?\s*", re.IGNORECASE)
_POWERS = {"": 0, "k": 1, "m": 2, "g": 3, "t": 4}


@dataclass(frozen=True, slots=True)
class Settings:
    """A task.toml.

    Attributes:
        docker_image: The image; None: the Dockerfile's.
        workdir: Where commands start; None: as the Dockerfile has it.
        env: Variables of every command.
        start_cmd: A shell command that runs in the background as long as the container does.
        internet: Whether the task says that it needs the network; it does where it says nothing.
        cpus: Processors that it asks for.
        memory: Bytes that it asks for.
        agent_user: Whose rights the agent has; None: the image's user.
        agent_timeout: Seconds.
        verifier_user: Whose rights the tests have; None: the image's user.
        verifier_timeout: Seconds.
        verifier_env: Variables of the tests; ``${NAME}`` is not filled in yet.
        setup_script: A script that runs before the tests.
        solution_env: Variables of the solution.
        metadata: ``[metadata]`` as plain values.
    """

    docker_image: str | None = None
    workdir: str | None = None
    env: Mapping[str, str] = field(default_factory=dict)
    start_cmd: str | None = None
    internet: bool = True
    cpus: float | None = None
    memory: int | None = None
    agent_user: str | None = None
    agent_timeout: float | None = None
    verifier_user: str | None = None
    verifier_timeout: float = VERIFIER_TIMEOUT
    verifier_env: Mapping[str, str] = field(default_factory=dict)
    setup_script: str | None = None
    solution_env: Mapping[str, str] = field(default_factory=dict)
    metadata: JsonObject = field(default_factory=dict)


def read_settings(path: Path) -> Settings:
    """Read a task.toml.

    Raises:
        DataError: It cannot be read, or asks for something that is not supported; the message
            names each key.
    """
    try:
        text = path.read_text(encoding="utf-8")
        raw: JsonObject = tomllib.loads(text)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError) as error:
        msg = f"{path}: it cannot be read: {error}"
        raise DataError(msg) from error
    return settings_of(raw, str(path))


def settings_of(raw: Mapping[str, Any], where: str) -> Settings:
    """The settings of a decoded task.toml; ``where`` is for messages.

    Raises:
        DataError: As :func:`read_settings`.
    """
    wrong = [*_unsupported(raw)]
    if wrong:
        msg = (
            f"{where}: not supported: {', '.join(wrong)}; leave this task out (params: task_names)"
        )
        raise DataError(msg)
    look = _Look(raw, where)
    return Settings(
        docker_image=look.text("environment", "docker_image"),
        workdir=look.text("environment", "workdir"),
        env=look.env("environment"),
        start_cmd=look.text("environment", "start_cmd"),
        internet=look.flag("environment", "allow_internet", default=True),
        cpus=look.number("environment", "cpus"),
        memory=look.memory(),
        agent_user=look.user("agent"),
        agent_timeout=look.number("agent", "timeout_sec"),
        verifier_user=look.user("verifier"),
        verifier_timeout=look.number("verifier", "timeout_sec") or VERIFIER_TIMEOUT,
        verifier_env=look.env("verifier"),
        setup_script=look.text("verifier", "setup_script"),
        solution_env=look.env("solution"),
        metadata=_plain(raw.get("metadata") or {}),
    )


def _unsupported(raw: Mapping[str, Any]) -> Iterator[str]:
    """Keys that nobody here acts on; one that says nothing (empty, false, 0) asks for nothing."""
    for name, known in _KNOWN.items():
        section = raw if not name else raw.get(name) or {}
        if not isinstance(section, Mapping):
            yield f"{name} (no table)"
            continue
        for key, value in section.items():
            if key not in known and value:
                near = get_close_matches(key, known, n=1, cutoff=0.8)  # gpus is no typo of cpus
                hint = f" (did you mean {near[0]!r}?)" if near else ""
                yield (f"{name}.{key}" if name else key) + hint


class _Look:
    """Reads values of the right kind out of sections."""

    def __init__(self, raw: Mapping[str, Any], where: str) -> None:
        self._raw = raw
        self._where = where

    def _value(self, section: str, key: str) -> Any:  # Any: what a file may hold
        return (self._raw.get(section) or {}).get(key)

    def _refuse(self, section: str, key: str, wanted: str) -> DataError:
        got = repr(self._value(section, key))
        return DataError(f"{self._where}: {section}.{key}: expected {wanted}, got {got:.80}")

    def text(self, section: str, key: str) -> str | None:
        value = self._value(section, key)
        if value is not None and not isinstance(value, str):
            raise self._refuse(section, key, "text")
        return value or None

    def user(self, section: str) -> str | None:
        value = self._value(section, "user")
        return str(value) if type(value) is int else self.text(section, "user")

    def flag(self, section: str, key: str, *, default: bool) -> bool:
        value = self._value(section, key)
        if value is not None and not isinstance(value, bool):
            raise self._refuse(section, key, "true or false")
        return default if value is None else value

    def number(self, section: str, key: str) -> float | None:
        value = self._value(section, key)
        right = isinstance(value, int | float) and not isinstance(value, bool)
        if value is not None and not (right and 0 < value < float("inf")):
            raise self._refuse(section, key, "a number above 0")
        return None if value is None else float(value)

    def env(self, section: str) -> Mapping[str, str]:
        value = self._value(section, "env")
        if value is None:
            return {}
        if not isinstance(value, Mapping) or not all(isinstance(v, str) for v in value.values()):
            raise self._refuse(section, "env", "a table of texts")
        return dict(value)

    def memory(self) -> int | None:
        megabytes = self.number("environment", "memory_mb")
        if megabytes is not None:
            return int(megabytes * 2**20)
        section, key = "environment", "memory"
        text = self.text(section, key)
        if text is None:
            return None
        found = _SIZE.fullmatch(text)
        if found is None:
            raise self._refuse(section, key, "a size such as 2G")
        return int(float(found[1]) * 1024 ** _POWERS[found[2].lower()])


def _plain(value: Any) -> Any:  # Any: what TOML may hold
    """The value as JSON has it; dates as text."""
    if isinstance(value, Mapping):
        return {str(key): _plain(inner) for key, inner in value.items()}
    if isinstance(value, list):
        return [_plain(inner) for inner in value]
    return value if isinstance(value, str | int | float | bool) else str(value)
