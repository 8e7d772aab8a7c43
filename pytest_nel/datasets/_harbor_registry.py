"""Registries of Harbor datasets: which tasks a version has, and in which repository they lie."""

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_nel.core.errors import DataError
from pytest_nel.datasets._fetch import Fetcher, Refused
from pytest_nel.datasets._harbor_kept import kept_registry
from pytest_nel.datasets._hub import Getenv

REGISTRY = "HARBOR_REGISTRY"
OVERRIDES = "HARBOR_REGISTRY_OVERRIDE_DIR"
_PUBLIC = "https://raw.githubusercontent.com/laude-institute/harbor/main/registry.json"
_WAY_OUT = (
    "Without a network: put the folder of its tasks into the one that HARBOR_DATASETS_DIR names, "
    f"or write its path, harbor://FOLDER. Or have a run on a machine with a network fetch "
    "registry and tasks into NEL_CACHE_DIR (~/.cache/pytest-nel), and set HF_HUB_OFFLINE=1, which "
    f"has both read from there. {REGISTRY}=FILE may name a saved registry.json"
)
_NAMES = f"{REGISTRY} may name a file or an https:// address, and a dataset may lie in a folder"
_HEAD = "head"
_NUMBERS = re.compile(r"v?(\d+)(?:\.(\d+))?(?:\.(\d+))?(?P<rest>.*)")


@dataclass(frozen=True, slots=True)
class TaskAt:
    """Where a task lies.

    Attributes:
        name: The task's.
        url: The repository.
        commit: The commit; None: whatever is newest there.
        path: Of its folder in the repository.
    """

    name: str
    url: str
    commit: str | None
    path: str


@dataclass(frozen=True, slots=True)
class Entry:
    """One version of a dataset."""

    name: str
    version: str
    tasks: tuple[TaskAt, ...]


def registered(
    name: str, version: str | None, *, base: Path, env: Getenv, fetcher: Fetcher | None = None
) -> Entry | None:
    """The entry of a dataset; None: no registry has one of that name.

    Overrides go before the registry where name and version are the same.

    Args:
        name: The dataset's.
        version: None: ``head`` where there is one, else the highest, else the last.
        base: The folder that relative paths are relative to.
        env: Gives variables.
        fetcher: Asks for a registry on the web; None means one that waits in earnest.

    Raises:
        DataError: A registry cannot be had or read, or has the dataset and not that version.
    """
    where = env(REGISTRY) or _PUBLIC
    if _on_the_web(where):
        raw = kept_registry(where, env, lambda: _fetched(where, fetcher or Fetcher()))
    else:
        raw = _json(where, base)
    found = _by_version(entries(raw, where), name, where)
    found |= _by_version(_overrides(base, env), name, str(env(OVERRIDES)))
    if not found:
        return None
    chosen = default_version(list(found)) if version is None else version
    if chosen not in found:
        msg = f"harbor://{name}@{chosen}: the registry has the versions {', '.join(found)}"
        raise DataError(msg)
    return found[chosen]


def _by_version(listed: Iterable[Entry], name: str, where: str) -> dict[str, Entry]:
    found: dict[str, Entry] = {}
    for each in listed:
        if each.name != name:
            continue
        if each.version in found:
            msg = (
                f"{where}: {name}@{each.version} is listed twice, with {len(each.tasks)} and "
                f"{len(found[each.version].tasks)} tasks: keep one of them, or give them versions"
            )
            raise DataError(msg)
        found[each.version] = each
    return found


def default_version(versions: list[str]) -> str:
    """``head`` where there is one, else the highest by its numbers, else the last."""
    if _HEAD in versions:
        return _HEAD
    numbered = [(key, each) for each in versions if (key := _key(each)) is not None]
    return max(numbered)[1] if numbered else versions[-1]


def _key(version: str) -> tuple[int, int, int, bool, str] | None:
    match = _NUMBERS.fullmatch(version)
    if match is None:
        return None
    one, two, three = (int(part or 0) for part in match.groups()[:3])
    rest = match["rest"].partition("+")[0]
    return one, two, three, not rest, rest  # a pre-release is less than what it precedes


def _overrides(base: Path, env: Getenv) -> Iterator[Entry]:
    named = env(OVERRIDES)
    if not named:
        return
    folder = Path(base, named).expanduser()
    if not folder.is_dir():
        msg = f"{OVERRIDES}: there is no folder {folder}"
        raise DataError(msg)
    for path in sorted(folder.glob("*.json")):
        yield from entries(_json(str(path), base), str(path))


def _on_the_web(where: str) -> bool:
    return where.startswith("https://")


def _fetched(where: str, fetcher: Fetcher) -> bytes:
    asked = replace(fetcher, way_out=_WAY_OUT)
    try:
        return asked.get(where, {}, f"the Harbor registry {where}").content
    except Refused as error:
        msg = f"{error}. {_WAY_OUT}"
        raise DataError(msg) from error


def _json(where: str, base: Path) -> Any:  # Any: checked by who asks
    try:
        return json.loads(Path(base, where).expanduser().read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        reason = f"{type(error).__name__}: {error}"
        msg = f"the Harbor registry {where} cannot be read: {reason}; {_NAMES}"
        raise DataError(msg) from error


def entries(raw: Any, where: str) -> Iterator[Entry]:  # Any: decoded JSON
    """The entries of a decoded registry; ``where`` is for messages.

    Raises:
        DataError: It is none.
    """
    rows = raw if isinstance(raw, list) else [raw]
    for row in rows:
        try:
            tasks = tuple(_task(each) for each in row["tasks"])
            yield Entry(str(row["name"]), str(row["version"]), tasks)
        except (KeyError, TypeError, ValueError) as error:
            msg = (
                f"{where}: expected a list of {{name, version, tasks: [{{name, git_url, path}}]}} "
                f"({type(error).__name__}: {error})"
            )
            raise DataError(msg) from error


def _task(raw: Mapping[str, Any]) -> TaskAt:
    path = PurePosixPath(str(raw["path"]))
    if path.is_absolute() or ".." in path.parts or not path.parts:
        msg = f"path {str(path)!r} does not lie in the repository"
        raise ValueError(msg)
    commit = raw.get("git_commit_id")
    pinned = None if commit in (None, "", "HEAD") else str(commit)
    url = str(raw["git_url"])
    if url.startswith("-") or "::" in url or (pinned or "").startswith("-"):
        msg = f"git_url {url!r} or its commit is none"
        raise ValueError(msg)
    return TaskAt(str(raw.get("name") or path.name), url, pinned, str(path))
