"""The build context of a benchmark's image: a Dockerfile and every file that it copies."""

import json
import re
import shutil
import sys
from collections.abc import Collection, Mapping
from pathlib import Path
from typing import NamedTuple

from pytest_nel.cli._taken import APP, Taken
from pytest_nel.core.errors import ConfigError

DOCKERFILE = "Dockerfile"
NEL = "/nel"
"""Where what pip installs from is in an image."""
_USERS = "user-requirements.txt"
_OLDEST = (3, 11)
_WORK = "/nel-work"
_IMAGE = re.compile(r"[\w./:@-]+", re.ASCII)
_LOGIN = re.compile(r"\bhttps?://[^/\s]*@")
_OTHER_FILE = re.compile(r"(-r|-c|--requirement|--constraint)\b")
_TRIED = "; ".join(
    (
        "import os, sys",
        "from pathlib import Path",
        "from pytest_nel.authoring.catalog import find",
        "find(sys.argv[1], base=Path())",
        # So that docker run --user works; an image whose user is not root keeps its own way.
        f"os.stat({_WORK!r}).st_uid == os.getuid() and os.chmod({_WORK!r}, 0o1777)",
    )
)
LEAST_KEY = 8
"""Characters; a shorter value of a variable is a word that any file may hold."""


class Recipe(NamedTuple):
    """What an image is made of.

    Attributes:
        taken: The benchmark and its files.
        package: The line for pip that brings pytest-nel.
        base: The image that it begins with.
        requirements: The user's own file for pip.
        args: Names of build arguments.
    """

    taken: Taken
    package: str
    base: str
    requirements: Path | None = None
    args: Collection[str] = ()


def default_base() -> str:
    """Debian's Python of the version that has tried the benchmark here."""
    return f"python:{sys.version_info.major}.{sys.version_info.minor}-slim"


def write(recipe: Recipe, context: Path, dockerfile: str = DOCKERFILE) -> None:
    """Write the context; ``nel/`` may hold a wheel already.

    Args:
        recipe: What goes into it.
        context: The folder.
        dockerfile: The Dockerfile's name in it.

    Raises:
        ConfigError: The base image, or the user's file for pip, cannot be used.
        OSError: A file cannot be read or written.
    """
    if not _IMAGE.fullmatch(recipe.base):
        msg = f"--base-image expects an image such as {default_base()}, got {recipe.base!r}"
        raise ConfigError(msg)
    app, nel = context / APP[1:], context / NEL[1:]
    for folder in (app, nel):
        folder.mkdir(exist_ok=True)  # what a Dockerfile copies must be there, be it empty
    for place, file in recipe.taken.files.items():
        target = app / place
        target.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(file, target)
    lines = [recipe.package, *recipe.taken.requirements]
    if recipe.requirements is not None:
        text = _checked(recipe.requirements)
        (nel / _USERS).write_text(text, encoding="utf-8")
        lines.append(f"-r {_USERS}")
    (nel / "requirements.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")
    (context / dockerfile).write_text(_dockerfile(recipe), encoding="utf-8")


def _dockerfile(recipe: Recipe) -> str:
    """Words are lists, which no shell reads: names may hold anything."""
    oldest = ".".join(map(str, _OLDEST))
    old = f"import sys; sys.version_info >= {_OLDEST} or sys.exit('Python {oldest} is needed')"
    pip = ["python", "-m", "pip", "install", "--no-cache-dir", "-r", f"{NEL}/requirements.txt"]
    target = recipe.taken.target
    runs = ["python", "-m", "pytest_nel.cli.main", "eval", "run", "-b", target]
    return "\n".join(
        [
            "# Made by nel package; docker run IMAGE OPTIONS is nel eval run -b BENCHMARK OPTIONS.",
            f"FROM {recipe.base}",
            f"RUN {json.dumps(['python', '-c', old])}",
            *(f"ARG {name}" for name in recipe.args),
            f"COPY {NEL[1:]}/ {NEL}/",
            f"RUN {json.dumps(pip)}",
            f"COPY {APP[1:]}/ {APP}/",
            f"ENV PYTHONPATH={APP}",
            f"WORKDIR {_WORK}",
            "# The benchmark is imported here, so that what it lacks is missed now.",
            f"RUN {json.dumps(['python', '-c', _TRIED, target])}",
            f"ENTRYPOINT {json.dumps(runs)}",
            "",
        ]
    )


def _checked(file: Path) -> str:
    """The user's file for pip, which must say all itself and no secret."""
    text = file.read_text(encoding="utf-8")
    for number, line in enumerate(text.splitlines(), start=1):
        if _LOGIN.search(line):
            msg = (
                f"{file}:{number}: a URL with a login, which would stay in the image: leave it out "
                "and let pip find it otherwise, such as by a wheel in an index without one"
            )
            raise ConfigError(msg)
        if _OTHER_FILE.match(line.strip()):
            msg = f"{file}:{number}: names another file, which does not come along: write one file"
            raise ConfigError(msg)
    return text


def refuse_secrets(context: Path, secrets: Mapping[str, str]) -> None:
    """Look for secrets in what would be sent to the daemon, and stay in the image.

    Args:
        context: Written.
        secrets: Variable → value.

    Raises:
        ConfigError: A file holds one; the message names file and variable.
        OSError: A file cannot be read.
    """
    known = {name: value.encode() for name, value in secrets.items() if len(value) >= LEAST_KEY}
    for file in sorted(context.rglob("*")):
        if not file.is_file() or file.suffix == ".whl":
            continue
        content = file.read_bytes()
        for name, value in known.items():
            if value in content:
                msg = (
                    f"{file.relative_to(context)}: holds the value of the variable {name}, which "
                    "would stay in the image: read it when the benchmark runs, and leave it out "
                    "here"
                )
                raise ConfigError(msg)
