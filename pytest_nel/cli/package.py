"""Make a container image of a benchmark: docker run IMAGE is nel eval run -b BENCHMARK.

The benchmark is loaded and its scorer tried before anything is built, from a copy of the files
that go into the image, and it is imported once more in there. With --output the build context is
written instead, for docker build or another builder.
"""

import argparse
import json
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import NamedTuple

from pytest_nel.cli import _wheel
from pytest_nel.cli._context import (
    DOCKERFILE,
    LEAST_KEY,
    NEL,
    Recipe,
    default_base,
    refuse_secrets,
    write,
)
from pytest_nel.cli._mistakes import mistake
from pytest_nel.cli._taken import Taken, taken
from pytest_nel.cluster.daemon import NoDaemon, daemon
from pytest_nel.cluster.images import build, push
from pytest_nel.cluster.squash import parsed
from pytest_nel.config.interpolate import names_secret, secrets_by_name
from pytest_nel.config.secrets import secret_values
from pytest_nel.config.urls import is_secret_url
from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.core.text import showable
from pytest_nel.gate.verdict import Exit
from pytest_nel.http.secret import Secrets

_CHECK = "pytest_nel.cli._packed"


class _Place(NamedTuple):
    """Where a context is written: its folder, and the Dockerfile's name in it."""

    folder: Path
    dockerfile: str


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options."""
    parser.usage = (
        "nel package -m MODULE -t TAG [--base-image IMAGE] [--requirements FILE] [--include PATH] "
        "[--wheel FILE] [--build-arg NAME=VALUE] [--output DIR | --push]"
    )
    add = parser.add_argument
    add(
        *("-m", "--module"),
        dest="bench",
        metavar="MODULE",
        required=True,
        help="file.py, package.module, each also with :benchmark, or a name of nel list",
    )
    add("-t", "--tag", metavar="TAG", required=True, help="The image's name, as docker takes it")
    add("--base-image", metavar="IMAGE", help=f"What it begins with (here: {default_base()})")
    add("--requirements", metavar="FILE", type=Path, help="Packages to install, as pip takes them")
    add(
        "--include",
        metavar="PATH",
        type=Path,
        action="append",
        default=[],
        help="A file or folder beside the benchmark that it reads; may be given several times",
    )
    add("--wheel", metavar="FILE", type=Path, help="The pytest-nel to install, instead of this one")
    add(
        "--build-arg",
        metavar="NAME=VALUE",
        action="append",
        default=[],
        help="As of docker build, but no secret; may be given several times",
    )
    add(
        "--output",
        metavar="DIR",
        type=Path,
        help="Write the build context there, new or empty, and build nothing; "
        "DIR/Dockerfile.NAME names the Dockerfile, too",
    )
    add("--push", action="store_true", help="Bring the image to the registry that TAG says")


def main(options: argparse.Namespace) -> int:
    """Build it, or write what is needed to; 1 where that fails, 4 for a mistake."""
    if options.rest:
        options.usage_error(f"takes nothing after --, got {' '.join(options.rest)}")
    if options.output is not None and options.push:
        options.usage_error("--output builds nothing, so there is nothing to --push")
    values = secret_values([])  # paths are none
    secrets = {name: value for name, value in secrets_by_name().items() if value in values}
    redact = Secrets(secrets.values()).out_of_json
    try:
        _refuse_tag(options.tag)
        args = _build_args(options.build_arg, secrets)
        place = None if options.output is None else _place(options.output)
        with tempfile.TemporaryDirectory(prefix="nel-package-") as folder:
            context = Path(folder)
            _write(options, context, list(args), DOCKERFILE if place is None else place.dockerfile)
            refuse_secrets(context, secrets)
            if place is not None:
                shutil.copytree(context, place.folder, dirs_exist_ok=True)
                return _written(options, place)
            return _built(options, context, args)
    except InfraError as error:
        sys.stderr.write(f"nel package: {showable(redact(str(error)))}\n")
        return 1
    except (ConfigError, OSError) as error:
        return mistake("package", error, redact)


def _write(
    options: argparse.Namespace, context: Path, args: Sequence[str], dockerfile: str
) -> None:
    """The context, tried."""
    found = taken(options.bench, options.include)
    nel = context / NEL[1:]
    nel.mkdir()
    ours = _wheel.package(options.wheel, nel, NEL, found.extras)
    sys.stderr.write(f"nel package: {found.target} with {ours.said}\n")
    base = options.base_image or default_base()
    recipe = Recipe(found, ours.requirement, base, options.requirements, args)
    write(recipe, context, dockerfile)
    _try(found, context)


def _try(found: Taken, context: Path) -> None:
    """Load what was packed in a process that has never seen where it comes from.

    Raises:
        ConfigError: It cannot be loaded, or its scorer is refused.
    """
    app = context / "app"
    words = [_CHECK, str(app), found.target_in(app), *(["--selftest"] if found.selftest else [])]
    done = subprocess.run(  # noqa: S603 - our own words
        [sys.executable, "-P", "-m", *words],
        cwd=context,
        capture_output=True,
        text=True,
        errors="replace",
        check=False,
    )
    for cache in app.rglob("__pycache__"):
        shutil.rmtree(cache)
    try:
        said = json.loads(done.stdout.rpartition("\n")[2])
        error, blame = said["error"], said["blame"]
    except (ValueError, KeyError, TypeError):
        error = f"its import ended the process (status {done.returncode}): {done.stderr[-500:]}"
        blame = False
    if error is None:
        return
    error = str(error).replace(f"{app}/", "")
    if blame:
        raise ConfigError(error)
    msg = (
        f"{found.target.rpartition('/')[2]} does not work where only the files are that go into "
        f"the image ({', '.join(sorted(found.files)) or 'none'}): {error}\n"
        "What it reads beside these comes along by --include PATH"
    )
    raise ConfigError(msg)


def _refuse_tag(tag: str) -> None:
    found = parsed(tag)
    plain = found is not None and found.digest is None and not {"#", "@"} & set(tag)
    if not plain or tag.startswith("docker://"):
        msg = f"-t expects a name such as registry.example/team/gsm8k:1, got {tag!r}"
        raise ConfigError(msg)


def _build_args(given: Sequence[str], secrets: Mapping[str, str]) -> dict[str, str]:
    """Name → value; whatever is a secret is refused, and not shown."""
    args = {}
    for text in given:
        name, equals, value = text.partition("=")
        if not (equals and name.isidentifier() and name.isascii()):
            msg = f"--build-arg expects NAME=VALUE, got {name!r} before the first ="
            raise ConfigError(msg)
        if _is_secret(name, value, secrets):
            msg = (
                f"--build-arg {name}: is a secret, or holds one, and everybody who has the image "
                "could read it in its history: write the context with --output, and let the "
                "line of pip in its Dockerfile have it by RUN --mount=type=secret"
            )
            raise ConfigError(msg)
        args[name] = value
    return args


def _is_secret(name: str, value: str, secrets: Mapping[str, str]) -> bool:
    known = any(len(one) >= LEAST_KEY and one in value for one in secrets.values())
    return names_secret(name) or known or is_secret_url(value)


def _place(output: Path) -> _Place:
    """The folder, which must be new or empty; a name with ``Dockerfile`` is that file's."""
    named = DOCKERFILE.lower() in output.name.lower() and not output.is_dir()
    folder, name = (output.parent, output.name) if named else (output, DOCKERFILE)
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        msg = (
            f"--output {output}: the build context needs a new or an empty folder, and "
            f"{folder} is none: name another, such as image/{name}"
        )
        raise ConfigError(msg)
    return _Place(folder, name)


def _written(options: argparse.Namespace, place: _Place) -> int:
    file = "" if place.dockerfile == DOCKERFILE else f"-f {place.folder / place.dockerfile} "
    said = [f"--build-arg {text.partition('=')[0]}=… " for text in options.build_arg]
    sys.stdout.write(f"docker build {''.join(said)}-t {options.tag} {file}{place.folder}\n")
    return Exit.GO


def _built(options: argparse.Namespace, context: Path, args: Mapping[str, str]) -> int:
    def say(text: str) -> None:
        sys.stderr.write(showable(text, len(text)))

    try:
        with daemon() as client:
            made = build(client, context, options.tag, args=args, say=say)
            if options.push:
                push(client, options.tag, say)
    except NoDaemon as error:
        msg = (
            f"no docker daemon answers: {error}; start it, set DOCKER_HOST, or write the build "
            "context with --output DIR for another builder"
        )
        raise InfraError(msg) from error
    did = "pushed" if options.push else "built"
    sys.stdout.write(f"{options.tag} ({made}) was {did}: docker run --rm {options.tag} --help\n")
    return Exit.GO
