"""The pytest-nel that goes into an image: the one that runs here, and no other."""

import json
import re
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterable
from importlib.metadata import PackageNotFoundError, distribution
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

from pytest_nel.core.errors import ConfigError

_NAME = "pytest-nel"
_ROOT = Path(__file__).parents[2]
_WHEEL = re.compile(r"pytest_nel-[^-]+(-\w+)?-py3-none-any\.whl")
_WAY_OUT = "build a wheel and name it with --wheel FILE"


class Package(NamedTuple):
    """What pip is told.

    Attributes:
        requirement: A line for it.
        said: What it is, in words.
    """

    requirement: str
    said: str


def package(wheel: Path | None, into: Path, inside: str, extras: Iterable[str]) -> Package:
    """The requirement for an image, its wheel put into a folder if it needs one.

    An installed release is pinned. A checkout, or an editable installation, has changes that no
    index has: a wheel is built of it.

    Args:
        wheel: The one to take; None lets what runs here decide.
        into: The folder for it.
        inside: Where that folder is in the image.
        extras: Of pytest-nel.

    Raises:
        ConfigError: There is no wheel, and none can be made.
    """
    more = ",".join(sorted(extras))
    name = f"{_NAME}[{more}]" if more else _NAME
    if wheel is None and not _is_checkout(_ROOT):
        version = _released()
        return Package(f"{name}=={version}", f"{_NAME} {version}")
    file = _built(_ROOT, into) if wheel is None else _given(wheel, into)
    source = f"a wheel of the checkout {_ROOT}" if wheel is None else str(wheel)
    return Package(f"{name} @ file://{inside}/{file.name}", source)


def _is_checkout(root: Path) -> bool:
    try:
        text = (root / "pyproject.toml").read_text(encoding="utf-8")
    except OSError:
        return False
    return f'name = "{_NAME}"' in text


def _released() -> str:
    try:
        found = distribution(_NAME)
    except PackageNotFoundError:
        msg = f"{_NAME} is not installed here, so its version is not known: {_WAY_OUT}"
        raise ConfigError(msg) from None
    if json.loads(found.read_text("direct_url.json") or "{}"):
        msg = (
            f"{_NAME} {found.version} was installed from a file or a repository, and an index may "
            f"have another one of that version: {_WAY_OUT}"
        )
        raise ConfigError(msg)
    return found.version


def _given(wheel: Path, into: Path) -> Path:
    if not (wheel.is_file() and _WHEEL.fullmatch(wheel.name)):
        msg = f"--wheel expects a file pytest_nel-VERSION-py3-none-any.whl, got {wheel}"
        raise ConfigError(msg)
    return Path(shutil.copy(wheel, into))


def _built(root: Path, into: Path) -> Path:
    with tempfile.TemporaryDirectory(prefix="nel-wheel-") as folder:
        done = subprocess.run(  # noqa: S603 - our own words
            [sys.executable, "-m", *_builder(root, folder)],
            cwd=root,
            capture_output=True,
            text=True,
            errors="replace",
            check=False,
        )
        made = list(Path(folder).glob("*.whl"))
        if done.returncode or len(made) != 1:
            last = (done.stderr.strip() or done.stdout.strip()).splitlines()[-5:]
            msg = f"no wheel could be built of {root}: {_WAY_OUT}\n" + "\n".join(last)
            raise ConfigError(msg)
        return Path(shutil.copy(made[0], into))


def _builder(root: Path, folder: str) -> list[str]:
    if find_spec("hatchling") is not None:  # nothing is downloaded
        return ["hatchling", "build", "-t", "wheel", "-d", folder]
    if find_spec("pip") is not None:
        return ["pip", "wheel", "--no-deps", "-w", folder, str(root)]
    msg = f"building a wheel of {root} needs hatchling or pip: install one, or {_WAY_OUT}"
    raise ConfigError(msg)
