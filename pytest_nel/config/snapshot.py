"""The suite of a run, written so that the file gives the same run again."""

import os
import re
import shlex
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import yaml

from pytest_nel.config._document import SuiteLoader
from pytest_nel.config.interpolate import Problem, dotted, reference_problems
from pytest_nel.config.overrides import masked_override, read_override
from pytest_nel.config.secrets import without_known
from pytest_nel.core.errors import ConfigError

_BREAKS = re.compile(r"[\r\x85\u2028\u2029\ufeff]")
_SECRET_OPTION = re.compile(r"(--?[\w-]*(?:key|token|secret|password))=.*", re.DOTALL)
_LOGIN = re.compile(r"(\w+://)[^/@\s]+@")
_OVERRIDE = re.compile(r"(--(?:nel-)?override=)(.*)", re.DOTALL)
_OVERRIDE_NEXT = {"-O", "--override", "--nel-override"}
_SECRET_NEXT = re.compile(r"--?[\w-]*(?:key|token|secret|password)")


class SuiteDumper(yaml.SafeDumper):
    """Quotes what either YAML 1.1 or our own reader would not read back as text."""

    yaml_implicit_resolvers = {  # noqa: RUF012  # the class attribute PyYAML looks up
        first: [
            *yaml.SafeDumper.yaml_implicit_resolvers.get(first, []),
            *SuiteLoader.yaml_implicit_resolvers.get(first, []),
        ]
        for first in {
            *yaml.SafeDumper.yaml_implicit_resolvers,
            *SuiteLoader.yaml_implicit_resolvers,
        }
    }

    def ignore_aliases(self, data: object) -> bool:
        """Write shared values out twice: a snapshot is for reading."""
        del data
        return True


def _represent_text(dumper: yaml.SafeDumper, text: str) -> yaml.ScalarNode:
    style = '"' if _BREAKS.search(text) else None  # other styles fold these into spaces
    return dumper.represent_scalar("tag:yaml.org,2002:str", text, style=style)


SuiteDumper.add_representer(str, _represent_text)


def write_suite(raw: Mapping[str, Any], path: Path, *, header: Sequence[str] = ()) -> None:
    """Write a raw suite as YAML under comment lines; the file appears whole or not at all.

    Raises:
        ConfigError: An ``api_key`` is a literal, so the suite must not reach the disk.
    """
    secrets = [problem for problem in reference_problems(raw, {}) if _is_key(problem)]
    if secrets:
        raise ConfigError("\n".join(f"{dotted(at)}: {message}" for at, message in secrets))
    comments = [f"# {line}".rstrip() for text in header for line in text.splitlines() or [""]]
    body = yaml.dump(
        dict(raw), Dumper=SuiteDumper, sort_keys=False, allow_unicode=True, width=10_000
    )
    partial = path.with_name(f".{path.name}.{os.getpid()}")
    partial.write_text("\n".join([*comments, body]), encoding="utf-8", newline="\n")
    partial.replace(path)


def header_lines(version: str, created: datetime, command: Sequence[str]) -> list[str]:
    """Say what wrote the file, when (UTC) and by which command, secrets masked."""
    return [
        f"pytest-nel {version}",
        f"created: {created.astimezone(UTC).isoformat(timespec='seconds')}",
        f"command: {masked_command(command)}",
    ]


def masked_command(command: Sequence[str]) -> str:
    """The command as a shell would take it, with values of key-like options and URLs masked."""
    shown: list[str] = []
    for word in command:
        if shown and _SECRET_NEXT.fullmatch(shown[-1]) and not word.startswith("-"):
            shown.append("***")
            continue
        option, value = "", word if shown and shown[-1] in _OVERRIDE_NEXT else None
        if found := _OVERRIDE.fullmatch(word):
            option, value = found.groups()
        if value is not None:
            word = option + _without_secret(value)  # noqa: PLW2901 - the same word, masked
        masked = _SECRET_OPTION.sub(r"\1=***", _LOGIN.sub(r"\1***@", word))
        shown.append(without_known(masked, "***"))
    return shlex.join(shown)


def _without_secret(override: str) -> str:
    try:
        read = read_override(override)
    except ConfigError:  # it was refused, so nobody knows what it was to be
        return "***"
    masked = masked_override(read)
    return masked if "***" in masked else override


def _is_key(problem: Problem) -> bool:
    return problem.path[-1:] == ("api_key",)
