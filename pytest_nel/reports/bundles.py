"""Bundles as they lie on a disk: files, runs, folders of runs; ours and the reference system's."""

import json
import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.keys import safe_name
from pytest_nel.core.types import JsonObject
from pytest_nel.records.bundle_file import read_bundle
from pytest_nel.records.found import MERGE, MERGED
from pytest_nel.records.gated import CHECKS
from pytest_nel.records.journal import natural
from pytest_nel.records.plans import PLAN

_BUNDLES = "eval-*.json"
_SHARD = re.compile(r"shard_\d+")
_UNREADABLE = (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError)
_DEEPEST = 3  # a folder of runs, a run, a benchmark


@dataclass(frozen=True, slots=True)
class Found:
    """A bundle and what lies around it.

    Attributes:
        path: The bundle's.
        bundle: Its object.
        run_dir: The run's directory.
        run: The run's name, different for different runs.
        results: The records of exactly this bundle, where they are there.
        checks: The object of the run's checks.json; empty where there is none.
        notes: What a reader must know.
    """

    path: Path
    bundle: JsonObject
    run_dir: Path
    run: str
    results: Path | None
    checks: JsonObject = field(default_factory=dict)
    notes: Sequence[str] = ()

    @property
    def benchmark(self) -> str:
        """Its name."""
        return str(self.bundle["benchmark"]["name"])


def find(paths: Sequence[Path]) -> tuple[list[Found], list[str]]:
    """All bundles there, in the order of the paths, and what was left out.

    Where a run was merged from its shards, it is the merged one.

    Raises:
        ConfigError: There is none, one cannot be read, or there are only shards.
    """
    files: dict[Path, None] = {}
    left_out: list[str] = []
    for path in paths:
        if not path.exists():
            msg = f"no such file or directory: {path}"
            raise ConfigError(msg)
        there = [path] if path.is_file() else [*_walk(path, _DEEPEST, left_out)]
        if not there:
            msg = (
                f"{path} has no bundle ({_BUNDLES}) in it; of a run that died, "
                f"`nel eval report --rebuild` makes them"
            )
            raise ConfigError(msg)
        files |= dict.fromkeys(there)
    return _named([_read(path) for path in files]), left_out


def _walk(directory: Path, depth: int, left_out: list[str]) -> Iterator[Path]:
    if (directory / MERGED / MERGE).is_file():
        directory = directory / MERGED
    found = sorted(directory.glob(_BUNDLES))
    if (directory / PLAN).is_file() and not found:
        left_out.append(f"{directory} has no bundle yet: `nel eval report --rebuild` makes it")
    below = [path for path in directory.iterdir() if path.is_dir() and path.name[0] != "."]
    shards = [path for path in below if _SHARD.fullmatch(path.name)]
    for path in sorted(below, key=lambda path: natural(path.name)):
        if depth and path not in shards:
            found += _walk(path, depth - 1, left_out)
    if shards and found:
        left_out.append(f"{directory}: shard_* left out: their run was merged")
    if shards and not found:
        msg = (
            f"{directory} holds {len(shards)} shards of a run: join them first "
            f"(`nel eval merge {directory}`), or name the shards themselves"
        )
        raise ConfigError(msg)
    yield from found


def _read(path: Path) -> Found:
    bundle = read_bundle(path)
    folder = path.resolve().parent
    of_benchmark = (folder / PLAN).is_file() or folder.name in {
        bundle["benchmark"]["name"],
        safe_name(bundle["benchmark"]["name"]),
    }
    run_dir = folder.parent if of_benchmark else folder
    results, notes = _results(path, bundle)
    notes += _older(folder, bundle, run_dir)
    return Found(path, bundle, run_dir, "", results, _checks(run_dir), notes)


def _results(path: Path, bundle: JsonObject) -> tuple[Path | None, list[str]]:
    """results.jsonl beside the bundle, where it can only be this bundle's."""
    there = path.parent / "results.jsonl"
    if not there.is_file():
        return None, ["results.jsonl is not there: no samples"]
    others = [other for other in path.parent.glob(_BUNDLES) if other != path]
    names = {_name(other) for other in others}
    if names - {bundle["benchmark"]["name"]}:
        return None, ["results.jsonl is shared by several benchmarks: no samples"]
    if any(other.name > path.name for other in others):  # the name begins with the time
        return None, ["results.jsonl is that of a later run: no samples"]
    return there, []


def _name(path: Path) -> str | None:
    try:
        return str(json.loads(path.read_text(encoding="utf-8"))["benchmark"]["name"])
    except _UNREADABLE:
        return None


def _older(folder: Path, bundle: JsonObject, run_dir: Path) -> list[str]:
    plan = _object(folder / PLAN)
    if plan.get("turn", 1) == bundle.get("turns", 1) or "turn" not in plan:
        return []
    return [f"older than its records: `nel eval report --rebuild {run_dir.name}` counts them anew"]


def _checks(run_dir: Path) -> JsonObject:
    return _object(run_dir / CHECKS)


def _object(path: Path) -> JsonObject:
    """What a file beside a bundle says; one that is damaged says nothing."""
    try:
        content = json.loads(path.read_text(encoding="utf-8"))
    except _UNREADABLE:
        return {}
    return content if isinstance(content, dict) else {}


def _named(found: Sequence[Found]) -> list[Found]:
    """Give each run a name: its directory's, with as much before it as tells it from others."""
    directories = list(dict.fromkeys(one.run_dir for one in found))
    names = _short(directories)
    twice = Counter((one.run_dir, one.benchmark) for one in found)
    made = []
    for one in found:
        name = names[one.run_dir]
        if twice[one.run_dir, one.benchmark] > 1:  # the reference system keeps older bundles
            name = f"{name} {one.bundle.get('run_id') or ''} {one.path.stem}".replace("  ", " ")
        made.append(replace(one, run=name))
    return made


def _short(directories: Sequence[Path]) -> dict[Path, str]:
    for length in range(1, 20):
        names = {path: "/".join(path.parts[-length:]) for path in directories}
        if len(set(names.values())) == len(names):
            return names
    return {path: str(path) for path in directories}


def refuse_two(found: Sequence[Found]) -> None:
    """Refuse a baseline that has a benchmark twice.

    Raises:
        ConfigError: It has.
    """
    paths: dict[str, Path] = {}
    for one in found:
        other = paths.setdefault(one.benchmark, one.path)
        if other != one.path:
            msg = f"the baseline has {one.benchmark!r} twice, {other} and {one.path}: name one run"
            raise ConfigError(msg)
