"""A task of the Harbor format: task.toml, instruction.md, environment/, tests/, solution/."""

import posixpath
import re
from collections.abc import Iterator
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path

from pytest_nel.core.errors import DataError
from pytest_nel.core.sandbox import ImageFacts
from pytest_nel.datasets._harbor_toml import Settings, read_settings
from pytest_nel.datasets._task_links import refuse_links_out

TASK = "task.toml"
WORKDIR = "/testbed"
"""Where neither task.toml nor Dockerfile names a folder, as the reference system has it."""
_COMPOSE = ("docker-compose.yaml", "docker-compose.yml", "compose.yaml", "compose.yml")
_FOLLOWED = (
    *(TASK, "instruction.md", "tests", "tests/test.sh", "solution", "solution/solve.sh"),
    *("environment", "environment/Dockerfile"),
)
_PARTS = ("environment", "solution")
_HARMLESS = frozenset({"FROM", "WORKDIR", "LABEL", "MAINTAINER"})
_WITH_DOCUMENTS = frozenset({"RUN", "COPY", "ADD"})
_DOCUMENT = re.compile(r"(?:^|(?<=\s))[0-9]*<<-?[\"']?([A-Za-z_]\w*)[\"']?(?=\s|$)")
_CANARY = re.compile(r"canary", re.IGNORECASE)
_SHELF: dict[str, "Task"] = {}


@dataclass(frozen=True, slots=True)
class Recipe:
    """What a Dockerfile says of its last stage.

    Attributes:
        image: The image that it begins with, where it adds nothing to it; None: it is to be
            built.
        workdir: Its last WORKDIR.
        user: Its last USER.
        unsure: Which of both only the image that is built of it can tell, as they are written.
    """

    image: str | None = None
    workdir: str | None = None
    user: str | None = None
    unsure: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class Task:
    """A task.

    Attributes:
        name: Its folder's.
        folder: Where it lies.
        instruction: What the agent is told.
        settings: Its task.toml.
        recipe: Its Dockerfile.
        digest: ``sha256:…`` of all its files, their names and whether they are programs.
        image: What its image says of itself; None: it is not here yet.
    """

    name: str
    folder: Path
    instruction: str
    settings: Settings
    recipe: Recipe
    digest: str
    image: ImageFacts | None = None

    @property
    def tests(self) -> Path:
        """The folder of what judges."""
        return self.folder / "tests"

    @property
    def solution(self) -> Path | None:
        """The folder of the gold solution, if there is one that a shell can run."""
        script = self.folder / "solution" / "solve.sh"
        return script.parent if script.is_file() and not _of_windows(script) else None

    @property
    def workdir(self) -> str:
        """Where commands start: as task.toml says, else the image, else ``/testbed``.

        The Dockerfile speaks for an image that is not here, and where it adds but this to one. An
        image that says ``/`` does so on its own, unless its Dockerfile says that, too.
        """
        image = "" if self.image is None else self.image.workdir
        own = image if image.strip("/") else None
        first, then = own, self.recipe.workdir
        if self._as_it_was:
            first, then = then, first
        return self.settings.workdir or first or then or WORKDIR

    @property
    def image_user(self) -> str:
        """Whose rights the image gives: its USER, root where there is none."""
        said = self.recipe.user if self.image is None else self.image.user
        return said or "root"

    @property
    def unsure(self) -> str | None:
        """What of the Dockerfile only the image can tell, while it is not here; None: nothing."""
        settings = self.settings
        known = {
            "WORKDIR": settings.workdir is not None,
            "USER": None not in {settings.agent_user, settings.verifier_user},
        }
        lines = [each for each in self.recipe.unsure if not known[each.partition(" ")[0]]]
        return None if self.image is not None or not lines else lines[0]

    @property
    def _as_it_was(self) -> bool:
        """Whether the container is made of the image that the Dockerfile begins with."""
        return self.settings.docker_image is None and self.recipe.image is not None


def is_task(folder: Path) -> bool:
    """Whether a folder is a task."""
    return (folder / TASK).is_file()


def meant_as_task(folder: Path) -> bool:
    """Whether a folder is a task, or one of which something is missing."""
    return is_task(folder) or (
        folder.is_dir() and ((folder / "instruction.md").exists() or (folder / "tests").is_dir())
    )


def passed_over(folder: Path) -> bool:
    """Whether a folder is no task, and yet has something of one, in it or one folder below."""
    if meant_as_task(folder) or not folder.is_dir() or folder.name.startswith("."):
        return False
    parts = any((folder / part).is_dir() for part in _PARTS)
    return parts or any(is_task(below) for below in folder.iterdir())


def read_task(folder: Path, name: str | None = None) -> Task:
    """Read a task folder, and keep it under its digest for :func:`task_of`.

    Args:
        folder: Where it lies.
        name: What it is called; None: as its folder is.

    Raises:
        DataError: Something is missing, or the task asks for what is not supported.
    """
    for needed in (TASK, "instruction.md", "tests/test.sh"):
        if not (folder / needed).is_file():
            more = " (tasks in several steps are not supported)" if _steps(folder) else ""
            msg = f"{folder}: expected a Harbor task, but there is no {needed}{more}"
            raise DataError(msg)
    refuse_links_out(folder, _FOLLOWED)
    if _of_windows(tests := folder / "tests" / "test.sh"):
        msg = (
            f"{tests}: its lines end as Windows ends them, and no shell can run it: write them "
            "with plain newlines (git: `* text eol=lf` in .gitattributes, then check out anew)"
        )
        raise DataError(msg)
    for file in _COMPOSE:
        if (folder / "environment" / file).exists():
            msg = (
                f"{folder}/environment/{file}: tasks of several containers (docker compose) are "
                "not supported; leave this task out (params: task_names)"
            )
            raise DataError(msg)
    settings = read_settings(folder / TASK)
    recipe = _recipe(folder / "environment" / "Dockerfile", settings)
    text = text_of(folder / "instruction.md")
    task = Task(
        name or folder.name, folder, without_canary(text), settings, recipe, digest_of(folder)
    )
    if not task.instruction.strip():
        msg = f"{folder}/instruction.md: it is empty"
        raise DataError(msg)
    _SHELF[task.digest] = task
    return task


def _of_windows(script: Path) -> bool:
    """Whether all lines end in a carriage return: a shell ends at once in such a script."""
    data = script.read_bytes() if script.is_file() else b""
    return b"\r\n" in data and data.count(b"\r\n") == data.count(b"\n")


def task_of(digest: str) -> Task | None:
    """A task that was read in this process, by its digest: problems name no folders."""
    return _SHELF.get(digest)


def without_canary(text: str) -> str:
    """An instruction without the lines at its beginning that mark it for filters of corpora."""
    lines = text.splitlines(keepends=True)
    while lines and (not lines[0].strip() or _is_mark(lines[0])):
        lines.pop(0)
    return "".join(lines)


def _is_mark(line: str) -> bool:
    said = line.strip()
    return said.startswith(("<!--", "#")) and _CANARY.search(said) is not None


def digest_of(folder: Path) -> str:
    """``sha256:…`` of all files of a folder."""
    total = sha256()
    for path in sorted(folder.rglob("*")):
        if path.is_symlink():
            kind, content = "link", str(path.readlink()).encode("utf-8", "surrogateescape")
        elif path.is_file():
            kind = "program" if path.stat().st_mode & 0o100 else "file"
            content = sha256(path.read_bytes()).digest()
        else:
            continue  # folders without files, and what is neither
        name = path.relative_to(folder).as_posix().encode("utf-8", "surrogateescape")
        for part in (kind.encode(), name, content):
            total.update(len(part).to_bytes(8, "big") + part)
    return f"sha256:{total.hexdigest()}"


def read_dockerfile(text: str) -> Recipe:
    """What a Dockerfile says; of several stages the last counts, with that of which it is made."""
    image, stages = "", dict[str, Recipe]()
    names: list[str] = []
    number, said, plain = 0, Recipe(), False
    for word, rest in _instructions(text):
        if word == "FROM":
            image, name = _from(rest)
            said = stages.get(image.lower(), Recipe())
            plain = not names and "$" not in image and image not in {"", "scratch"}
            names, number = [str(number), *([name.lower()] if name else [])], number + 1
        else:
            said = _with(said, word, rest)
        plain = plain and word in _HARMLESS and not said.unsure
        stages.update(dict.fromkeys(names, said))
    return replace(said, image=image if plain else None)


def _from(rest: str) -> tuple[str, str | None]:
    """The image of a FROM, and what its stage is called."""
    words = [part for part in rest.split() if not part.startswith("--")]
    named = len(words) > 2 and words[1].upper() == "AS"
    return (words[0] if words else ""), (words[2] if named else None)


def _with(said: Recipe, word: str, rest: str) -> Recipe:
    """What is said after one more instruction."""
    if word not in {"WORKDIR", "USER"}:
        return said
    others = tuple(line for line in said.unsure if not line.startswith(f"{word} "))
    rest = rest.strip("\"'")
    unknown = "$" in rest
    if word == "USER":
        user, line = (None, (f"USER {rest}",)) if unknown else (rest, ())
        return replace(said, user=user, unsure=(*others, *line))
    if not rest.startswith("/"):  # in the folder before, be it that of the image that it is made of
        unknown = unknown or said.workdir is None
    if unknown:
        return replace(said, workdir=None, unsure=(*others, f"WORKDIR {rest}"))
    return replace(said, workdir=posixpath.join(said.workdir or "/", rest), unsure=others)


def _instructions(text: str) -> Iterator[tuple[str, str]]:
    """The instructions with what follows them; what is in a here-document is none."""
    joined = re.sub(r"^\s*#.*\n?", "", text, flags=re.MULTILINE)
    joined = re.sub(r"\\[ \t]*\n", " ", joined)
    ends: list[str] = []
    for line in joined.splitlines():
        if ends:
            if line.lstrip("\t") == ends[0]:
                ends.pop(0)
            continue
        word, *rest = line.split(maxsplit=1)[:2] or [""]
        if word:
            said = "".join(rest).strip()
            if word.upper() in _WITH_DOCUMENTS:
                ends = _DOCUMENT.findall(said)
            yield word.upper(), said


def _recipe(dockerfile: Path, settings: Settings) -> Recipe:
    if not dockerfile.is_file():
        if settings.docker_image is None:
            msg = (
                f"{dockerfile.parent.parent}: it has neither environment.docker_image in "
                f"{TASK} nor environment/Dockerfile: there is no image"
            )
            raise DataError(msg)
        return Recipe(settings.docker_image)
    return read_dockerfile(text_of(dockerfile))


def text_of(path: Path) -> str:
    """The text of a file of a task.

    Raises:
        DataError: It cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{path}: it cannot be read: {error}"
        raise DataError(msg) from error


def _steps(folder: Path) -> bool:
    return (folder / "steps").is_dir()
