"""The docker-compose.yaml of a Terminal-Bench task: what of it has a place in a Harbor task."""

import re
import shlex
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import PurePosixPath
from typing import Any

_VARIABLES = {
    "T_BENCH_TEST_DIR": "/tests",
    "T_BENCH_CONTAINER_LOGS_PATH": "/logs",
    "T_BENCH_CONTAINER_AGENT_LOGS_PATH": "/agent-logs",
}
"""What the harness sets and means something in the container."""
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+)|(\$)|(.?))", re.DOTALL)
_LOGS = re.compile(r"\$\{T_BENCH_TASK_(AGENT_)?LOGS_PATH\}:.*")
_PLAIN = re.compile(r"[\w.,:;/@+=~ -]*")
_NAME = re.compile(r"[A-Za-z_]\w*")
_SERVICE_KEYS = {"build", "image", "container_name", "command", "environment", "volumes"}
_SERVICE_KEYS |= {"stdin_open", "tty", "working_dir"}
_IDLE = {
    *("sleep infinity", "tail -f /dev/null", "bash", "/bin/bash", "sh", "/bin/sh"),
    *(f"{shell} -c 'sleep infinity'" for shell in ("sh", "/bin/sh", "bash", "/bin/bash")),
}
"""Commands that only keep a container up, as sandboxes do by themselves."""


@dataclass(frozen=True, slots=True)
class Service:
    """The one service of a docker-compose.yaml.

    Attributes:
        env: Variables of every command.
        workdir: Where commands start; None: as the image has it.
        command: What runs in the background, for a shell; None: nothing does.
        image: The image, where the service builds none; None: it does.
        dockerfile: The name of what it is built of, beside docker-compose.yaml.
        args: Values of the Dockerfile's ARG.
        wrong: What has no place in a Harbor task.
    """

    env: Mapping[str, str] = field(default_factory=dict)
    workdir: str | None = None
    command: str | None = None
    image: str | None = None
    dockerfile: str = "Dockerfile"
    args: Mapping[str, str] = field(default_factory=dict)
    wrong: tuple[str, ...] = ()


def read_service(compose: Mapping[str, Any]) -> Service:
    """What a decoded docker-compose.yaml says."""
    services = compose.get("services")
    if not isinstance(services, Mapping) or len(services) != 1:
        return Service(wrong=("docker-compose.yaml has several services",))
    said = next(iter(services.values())) or {}
    if not isinstance(said, Mapping):
        return Service(wrong=("the service of docker-compose.yaml has no keys",))
    return _Reader(said).service()


def with_args(dockerfile: str, args: Mapping[str, str]) -> tuple[str, list[str]]:
    """A Dockerfile whose ARG have these values, and the names of those that it does not ask for.

    Args:
        dockerfile: Its text.
        args: Values by name.
    """
    missing = []
    for name, value in args.items():
        line = re.compile(rf'^([ \t]*(?i:ARG)[ \t]+{name})(=\S*|="[^"]*")?[ \t]*$', re.MULTILINE)
        dockerfile, found = line.subn(rf'\g<1>="{value}"', dockerfile)
        if not found:
            missing.append(name)
    return dockerfile, missing


class _Reader:
    """Collects what a service says, and what of it cannot be done."""

    def __init__(self, said: Mapping[str, Any]) -> None:
        self._said = said
        self._wrong: list[str] = []

    def service(self) -> Service:
        self._wrong += [
            f"docker-compose.yaml asks for {k}" for k in self._said if k not in _SERVICE_KEYS
        ]
        dockerfile, args = self._build()
        self._volumes()
        return Service(
            env=dict(self._pairs("environment", self._said.get("environment"))),
            workdir=self._workdir(),
            command=self._command(),
            image=self._image(),
            dockerfile=dockerfile,
            args=args,
            wrong=tuple(self._wrong),
        )

    def _refuse(self, key: str, value: object) -> None:
        self._wrong.append(f"docker-compose.yaml has {key}: {str(value)[:80]}")

    def _text(self, key: str, value: object) -> str | None:
        """A scalar with its variables filled in; None where that cannot be done."""
        if isinstance(value, bool):  # true of YAML is true of JSON
            return str(value).lower()
        if not isinstance(value, str | int | float):
            self._refuse(key, value)
            return None
        unknown = False

        def filled(match: re.Match[str]) -> str:
            nonlocal unknown
            if match[3]:
                return "$"
            found = _VARIABLES.get(match[1] or match[2] or "")
            unknown = unknown or found is None
            return found or ""

        text = _VARIABLE.sub(filled, str(value))
        if unknown:
            self._refuse(key, value)
            return None
        return text

    def _pairs(self, key: str, said: object) -> Iterator[tuple[str, str]]:
        """The two ways to write variables: ``NAME: value`` and ``- NAME=value``."""
        if said is None:
            return
        if not isinstance(said, Mapping | list):
            self._refuse(key, said)
            return
        listed = said.items() if isinstance(said, Mapping) else (_pair(each) for each in said)
        for name, value in listed:
            if value is None or not _NAME.fullmatch(str(name)):  # one of the user's own shell
                self._refuse(key, name)
            elif (text := self._text(f"{key}.{name}", value)) is not None:
                yield str(name), text

    def _workdir(self) -> str | None:
        said = self._said.get("working_dir")
        return None if said is None else self._text("working_dir", said)

    def _command(self) -> str | None:
        said = self._said.get("command")
        if said is None or said == []:
            return None
        parts = [
            self._text("command", each) for each in (said if isinstance(said, list) else [said])
        ]
        texts = [part for part in parts if part is not None]
        if len(texts) < len(parts):
            return None
        try:
            words = texts if isinstance(said, list) else shlex.split(texts[0])
        except ValueError:
            self._refuse("command", said)
            return None
        command = shlex.join(words)
        return None if not words or command in _IDLE else command

    def _image(self) -> str | None:
        """A name counts where nothing is built: else it is that of what is built."""
        said = self._said.get("image")
        if said is None or self._said.get("build") is not None:
            return None
        return self._text("image", said)

    def _build(self) -> tuple[str, Mapping[str, str]]:
        said = self._said.get("build")
        build = {"context": said} if isinstance(said, str) else said or {}
        if not isinstance(build, Mapping):
            self._refuse("build", said)
            return "Dockerfile", {}
        for key in build:
            if key not in {"context", "dockerfile", "args"}:
                self._refuse(f"build.{key}", build[key])
        if str(build.get("context", ".")) not in {".", "./"}:
            self._refuse("build.context", build["context"])
        args = dict(self._pairs("build.args", build.get("args")))
        for name, value in args.items():
            if not _PLAIN.fullmatch(value):
                self._refuse(f"build.args.{name}", value)
        dockerfile = self._text("build.dockerfile", build.get("dockerfile", "Dockerfile"))
        path = PurePosixPath(dockerfile or "Dockerfile")
        if path.is_absolute() or ".." in path.parts:
            self._refuse("build.dockerfile", dockerfile)
            path = PurePosixPath("Dockerfile")
        return str(path), args

    def _volumes(self) -> None:
        said = self._said.get("volumes") or []
        for volume in said if isinstance(said, list) else [said]:
            if not isinstance(volume, str) or not _LOGS.fullmatch(volume):
                self._refuse("volumes", volume)


def _pair(text: object) -> tuple[str, str | None]:
    name, equals, value = str(text).partition("=")
    return name, value if equals else None
