"""Look at what a run would find here: versions, extras, programs, folders, proxies, a model.

What is merely absent is said and is no fault; what was asked for by an option must work.
"""

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, metadata, requires, version
from pathlib import Path
from typing import Literal, NamedTuple

from packaging.requirements import Requirement

from pytest_nel.cli._mistakes import mistake
from pytest_nel.cluster.daemon import NoDaemon, daemon
from pytest_nel.cluster.runs import default_folder
from pytest_nel.config.interpolate import getenv, resolve_secret
from pytest_nel.config.quick import key_reference
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.text import showable
from pytest_nel.gate.verdict import Exit

_NAME = "pytest-nel"
_KEYS = ("NEMO_API_KEY", "NVIDIA_API_KEY", "HF_TOKEN")
_PROXIES = ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY", "NO_PROXY")
_PROGRAMS = {"sbatch": "--version", "sinfo": "--version", "ssh": "-V"}
_PATIENCE = 10.0


class Finding(NamedTuple):
    """One thing that was looked at.

    Attributes:
        section: What it belongs to.
        name: What it is.
        status: ``ok``, ``absent``, which is no fault, or ``failed``.
        detail: A version, a path, a reason.
    """

    section: str
    name: str
    status: Literal["ok", "absent", "failed"]
    detail: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = (
        "nel doctor [--model-url URL] [--model-id ID] [--api-key-env NAME] [-o DIR] "
        "[--cache DIR] [--json]"
    )
    add = parser.add_argument
    add("--model-url", metavar="URL", help="Ask this endpoint for its models and one token")
    add("--model-id", metavar="ID", help="The model to ask (default: the first of its list)")
    add("--api-key-env", metavar="NAME", help="As of nel eval run")
    add("-o", "--output-dir", metavar="DIR", type=Path, help="Results must be writable there")
    add("--cache", metavar="DIR", type=Path, help="A cache of answers must be writable there")
    add("--json", action="store_true", help="Print a JSON list")


def main(options: argparse.Namespace) -> int:
    """Print what was found; 1 where something that was asked for does not work."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    try:
        found = [*_packages(), *_programs(), *_folders(options), *_surroundings(), *_model(options)]
    except ConfigError as error:
        return mistake("doctor", error)
    sys.stdout.write(_as_json(found) if options.json else _as_text(found))
    return 1 if any(one.status == "failed" for one in found) else Exit.GO


def _packages() -> Iterator[Finding]:
    yield Finding("versions", "python", "ok", f"{platform.python_version()} ({sys.executable})")
    yield Finding("versions", "system", "ok", platform.platform())
    try:
        yield Finding("versions", _NAME, "ok", version(_NAME))
    except PackageNotFoundError:
        yield Finding("versions", _NAME, "failed", "not installed: no metadata of it is found")
        return
    wanted = [Requirement(text) for text in requires(_NAME) or []]
    for one in wanted:
        if one.marker is None or one.marker.evaluate({"extra": ""}):
            yield _package("versions", one, "failed")
    for extra in metadata(_NAME).get_all("Provides-Extra") or []:
        for one in wanted:
            if one.marker and "extra" in str(one.marker) and one.marker.evaluate({"extra": extra}):
                yield _package(f"extra {extra}", one, "absent")


def _package(section: str, wanted: Requirement, missing: Literal["absent", "failed"]) -> Finding:
    try:
        there = version(wanted.name)
    except PackageNotFoundError:
        return Finding(section, wanted.name, missing, f"not installed (wanted: {wanted.specifier})")
    if not wanted.specifier.contains(there, prereleases=True):
        said = f"{there}, but {wanted.specifier} is wanted"
        return Finding(section, wanted.name, missing, said)
    return Finding(section, wanted.name, "ok", there)


def _programs() -> Iterator[Finding]:
    yield _docker()
    for name, flag in _PROGRAMS.items():
        path = shutil.which(name)
        if path is None:
            yield Finding("programs", name, "absent", "not on the PATH")
            continue
        yield Finding("programs", name, "ok", f"{_said([path, flag])} ({path})")


def _said(command: list[str]) -> str:
    try:
        done = subprocess.run(  # noqa: S603 - a program of our table
            command, capture_output=True, text=True, check=False, timeout=_PATIENCE
        )
    except (OSError, subprocess.TimeoutExpired) as error:
        return f"does not answer: {type(error).__name__}"
    return (done.stdout.strip() or done.stderr.strip()).partition("\n")[0]


def _docker() -> Finding:
    """The daemon, not the program: the SDK talks to the daemon."""
    try:
        with daemon() as client:
            said = client.version()["Version"]
    except NoDaemon as error:
        return Finding("programs", "docker", "absent", f"no daemon: {error}")
    return Finding("programs", "docker", "ok", f"daemon {said}")


def _folders(options: argparse.Namespace) -> Iterator[Finding]:
    asked = options.output_dir
    yield _writable("results", asked or Path("eval_results"), asked=asked is not None)
    if options.cache is not None:
        yield _writable("cache", options.cache, asked=True)
    try:
        yield _writable("run store", default_folder(getenv), asked=False)
    except ConfigError as error:
        yield Finding("folders", "run store", "absent", str(error))


def _writable(name: str, folder: Path, *, asked: bool) -> Finding:
    """Whether a file can be made there, or in the nearest folder above that is there."""
    place = folder.absolute()
    above = next(path for path in (place, *place.parents) if path.exists())
    missing: Literal["absent", "failed"] = "failed" if asked else "absent"
    if not above.is_dir():
        return Finding("folders", name, missing, f"{above} is no folder")
    try:
        with tempfile.TemporaryFile(dir=above):
            free = shutil.disk_usage(above).free
    except OSError as error:
        return Finding("folders", name, missing, f"{place}: cannot be written: {error.strerror}")
    made = "" if above == place else ", would be made"
    return Finding("folders", name, "ok", f"{place} ({free / 1e9:.0f} GB free{made})")


def _surroundings() -> Iterator[Finding]:
    """Variables that change what a run does; of keys only whether they are set."""
    for name in _PROXIES:
        value = getenv(name) or getenv(name.lower())
        if value:
            shown = value.rpartition("@")[2]  # without user and password
            yield Finding("environment", name, "ok", shown)
    for name in _KEYS:
        there = bool(getenv(name))
        yield Finding("environment", name, "ok" if there else "absent", "set" if there else "unset")
    for name in ("NEMO_MODEL_URL", "NEMO_MODEL_ID"):
        if getenv(name):
            yield Finding("environment", name, "ok", "set")
    yield Finding("environment", "processors", "ok", str(_cores()))


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _model(options: argparse.Namespace) -> Iterator[Finding]:
    url = options.model_url or getenv("NEMO_MODEL_URL")
    if not url:
        if options.model_id or options.api_key_env:
            msg = "--model-id and --api-key-env are about an endpoint: add --model-url URL"
            raise ConfigError(msg)
        yield Finding("model", "endpoint", "absent", "not asked: name one by --model-url")
        return
    from pytest_nel.http.ping import ping  # noqa: PLC0415 - httpx takes a while

    named = options.api_key_env or next((name for name in _KEYS[:2] if getenv(name)), None)
    key = None if named is None else resolve_secret(key_reference(named), "--api-key-env")
    said = ping(url, options.model_id or getenv("NEMO_MODEL_ID"), key)
    yield Finding("model", "key", "ok" if named else "absent", named or "none is sent")
    yield Finding("model", "list", "ok", said.models)
    yield Finding("model", "completion", "ok" if said.works else "failed", said.completion)


def _as_json(found: list[Finding]) -> str:
    return json.dumps([one._asdict() for one in found], indent=2) + "\n"


def _as_text(found: list[Finding]) -> str:
    marks = {"ok": "ok", "absent": "--", "failed": "!!"}
    width = max(len(one.name) for one in found)
    lines, section = [], ""
    for one in found:
        if one.section != section:
            section = one.section
            lines.append(section)
        lines.append(f"  {marks[one.status]}  {one.name:{width}}  {one.detail}")
    return "".join(f"{showable(line)}\n" for line in lines)
