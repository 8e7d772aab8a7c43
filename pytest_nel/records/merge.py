"""Joins parts of a run, shards or partial runs, into a directory of their own.

The parts are only read: their journals are copied, and everything else is derived from the copies.
The workspaces that solvers have left come along, so that answers can be judged again.
What two parts have both made is there once, so that the merged directory is one that a run can go
on in.
"""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from hashlib import sha256
from pathlib import Path
from typing import NamedTuple

from pytest_nel.core.errors import ConfigError
from pytest_nel.records.conclude import Concluded, rebuild
from pytest_nel.records.files import Derived
from pytest_nel.records.found import MERGE, facts_of
from pytest_nel.records.index import NOTHING, JournalIndex, Known, attempt_of
from pytest_nel.records.joint import Joint, Part, fit, read_parts
from pytest_nel.records.journal import journal_files, journal_name, writer_and_turn
from pytest_nel.records.places import Reader
from pytest_nel.records.plans import write_plan
from pytest_nel.records.rundir import RUN, RunFacts, being_written
from pytest_nel.records.whole import whole_json
from pytest_nel.records.workspaces import FOLDER, Wanted, carry, mark_of

SUITE = "suite.nel.yaml"


class Duplicate(NamedTuple):
    """An attempt that several parts have recorded.

    Attributes:
        benchmark: The benchmark's directory name.
        problem_idx: Which problem.
        repeat: Which repeat.
        rewards: Reward by the part's label, None where it has none; the first one stands.
    """

    benchmark: str
    problem_idx: int
    repeat: int
    rewards: Mapping[str, float | None]

    @property
    def differs(self) -> bool:
        """Whether two parts have given it different rewards."""
        return len({reward for reward in self.rewards.values() if reward is not None}) > 1


@dataclass(frozen=True, slots=True)
class Merged:
    """What a merge has made.

    Attributes:
        concluded: The merged run.
        joint: The parts and their plan.
        duplicates: What several parts had.
        written: Labels of parts that a run still writes to.
        lost: Attempts, as (benchmark, problem, repeat), whose workspaces no part has any more.
    """

    concluded: Concluded
    joint: Joint
    duplicates: Sequence[Duplicate]
    written: Sequence[str]
    lost: Sequence[tuple[str, int, int]] = ()


def merge(directories: Sequence[Path], target: Path) -> Merged:
    """Merge run directories into ``target``, which appears whole or not at all.

    Of an attempt that several parts have recorded, one with a score stands before one without,
    one with an answer before one without, else that of the part named first; for shards, the one
    with the lower number.

    Raises:
        ConfigError: They are not parts of one run, or ``target`` holds something.
        OSError: Something cannot be read or written.
    """
    _refuse(directories, target)
    joint = fit(read_parts(directories))
    written = [part.label for part in joint.parts if being_written(part.directory)]
    duplicates: list[Duplicate] = []
    lost: list[tuple[str, int, int]] = []
    with _appearing(target) as scratch:
        for name, plan in joint.plans.items():
            write_plan(scratch / name, plan)
            copied = _copy_journals(joint.parts, name, scratch / name / "journal")
            duplicates += copied.duplicates
            lost += ((name, *attempt) for attempt in _carried(name, copied, scratch))
            copied.leave_out()
        _say_what_it_is(joint, scratch, target, duplicates)
        made = rebuild(scratch)
    derived = [_moved(one, scratch, target) for one in made.derived]
    concluded = Concluded(target, derived, made.checks, made.code)
    return Merged(concluded, joint, duplicates, written, lost)


def _moved(derived: Derived, scratch: Path, target: Path) -> Derived:
    problems = [text.replace(str(scratch), str(target), 1) for text in derived.problems]
    return replace(derived, directory=target / derived.directory.name, problems=problems)


def _refuse(directories: Sequence[Path], target: Path) -> None:
    if target.exists() and (not target.is_dir() or any(target.iterdir())):
        msg = f"{target} is not empty: a merge never overwrites anything; name a new directory"
        raise ConfigError(msg)
    seen: set[Path] = set()
    for directory in directories:
        full = directory.resolve()
        if full in seen:
            msg = f"{directory} is named twice"
            raise ConfigError(msg)
        seen.add(full)
        if target.resolve().is_relative_to(full):
            msg = f"{target} is in {directory}, which is to be read only: name another place"
            raise ConfigError(msg)


@contextmanager
def _appearing(target: Path) -> Iterator[Path]:
    """A directory beside ``target`` that takes its name when the block has ended well."""
    target.parent.mkdir(parents=True, exist_ok=True)
    scratch = target.with_name(f".{target.name}.merging-{os.getpid()}")
    shutil.rmtree(scratch, ignore_errors=True)
    scratch.mkdir()
    try:
        yield scratch
        if target.is_dir():  # empty
            target.rmdir()
        scratch.rename(target)
    finally:
        shutil.rmtree(scratch, ignore_errors=True)


def _say_what_it_is(
    joint: Joint, scratch: Path, target: Path, duplicates: Sequence[Duplicate]
) -> None:
    suites = [part.directory / SUITE for part in joint.parts]
    suite = next((path for path in suites if path.is_file()), None)
    if suite is not None:
        shutil.copyfile(suite, scratch / SUITE)
    (scratch / RUN).write_text(_run_facts(joint.parts).as_text(), encoding="utf-8")
    parts = [
        {
            "directory": os.path.relpath(part.directory, target),
            "run_id": facts_of(part.directory)["run_id"],
            "shard": part.shard,
        }
        for part in joint.parts
    ]
    missing = {name: found for name, found in joint.missing.items() if found}
    content = {
        "parts": parts,
        "missing_shards": missing,
        "n_duplicates": len(duplicates),
        "n_duplicates_that_differ": sum(one.differs for one in duplicates),
    }
    whole_json(scratch / MERGE, content)


def _run_facts(parts: Sequence[Part]) -> RunFacts:
    """The same for the same parts; it began when the first of them did."""
    said = [facts_of(part.directory) for part in parts]
    began = min(facts["timestamp"] for facts in said)
    ids = json.dumps(sorted(facts["run_id"] for facts in said))
    stamp = began.replace("-", "").replace(":", "")
    known = [part.facts for part in parts if part.facts is not None]
    targets = dict.fromkeys(target for facts in known for target in facts.targets)
    mark = sha256(ids.encode()).hexdigest()[:4]
    return RunFacts(f"{stamp}-{mark}", began, [*targets])


@dataclass(frozen=True, slots=True)
class _Copied:
    """The journals of a benchmark, copied whole.

    Attributes:
        parts: The parts that have it.
        indexes: What each has written.
        dropped: The attempts of each that stand in another.
        duplicates: What several have.
    """

    parts: Sequence[Part]
    indexes: Sequence[JournalIndex]
    dropped: Sequence[set[tuple[int, int]]]
    duplicates: Sequence[Duplicate]

    def leave_out(self) -> None:
        """Have each attempt from one part; what the indexes say of places is not so any more."""
        for index, attempts in zip(self.indexes, self.dropped, strict=True):
            if attempts:
                for path in index.paths:
                    _drop(path, attempts)


def _copy_journals(parts: Sequence[Part], name: str, folder: Path) -> _Copied:
    """Copy a benchmark's journals; turns keep their order."""
    folder.mkdir(parents=True)
    having, indexes = [], []
    for number, part in enumerate(parts):
        if name not in part.plans:
            continue
        index = JournalIndex()
        for path in journal_files(part.directory / name / "journal"):
            writer, turn = writer_and_turn(path)
            copy = folder / journal_name(f"{number}-{writer}", turn)
            shutil.copyfile(path, copy)
            index.scan(copy)
        having.append(part)
        indexes.append(index)
    dropped: list[set[tuple[int, int]]] = [set() for _ in indexes]
    labels = [part.label for part in having]
    return _Copied(having, indexes, dropped, list(_contested(name, labels, indexes, dropped)))


def _carried(name: str, copied: _Copied, scratch: Path) -> Iterator[tuple[int, int]]:
    """Bring the workspaces along that answers are judged by; say which attempts lack theirs."""
    folders = [part.directory / name / FOLDER for part in copied.parts]
    if not any(folder.is_dir() for folder in folders) and not _speak_of_workspaces(copied):
        return  # before each answer is read
    kept: dict[str, Path] = {}
    for number, index in enumerate(copied.indexes):
        own_first = [folders[number], *folders[:number], *folders[number + 1 :]]
        wanted = _workspaces(index, copied.dropped[number])
        yield from carry(wanted, own_first, scratch / name / FOLDER, kept)


def _speak_of_workspaces(copied: _Copied) -> bool:
    """Whether any record may: in a text the quotes would be escaped."""
    for path in (path for index in copied.indexes for path in index.paths):
        with path.open("rb") as file:
            if any(b'"workspace"' in line for line in file):
                return True
    return False


def _workspaces(index: JournalIndex, dropped: set[tuple[int, int]]) -> Iterator[Wanted]:
    read = Reader(index.paths)
    try:
        for attempt in index:
            known = None if attempt in dropped else index.known(*attempt)
            answers = () if known is None else (known.answer, known.again)
            marks = [mark_of(read(answer.place)) for answer in answers if answer is not None]
            if found := [mark for mark in marks if mark is not None]:
                yield Wanted(attempt, found)
    finally:
        read.close()


def _contested(
    name: str,
    labels: Sequence[str],
    indexes: Sequence[JournalIndex],
    dropped: Sequence[set[tuple[int, int]]],
) -> Iterator[Duplicate]:
    """Decide who keeps each attempt that several have; note in ``dropped`` who does not."""
    readers = [Reader(index.paths) for index in indexes]
    try:
        for attempt, those in _shared(indexes).items():
            known = {number: indexes[number].known(*attempt) or NOTHING for number in those}
            best = max(those, key=lambda number: _worth(known[number]))
            for number in those:
                if number != best:
                    dropped[number].add(attempt)
            recorded = [number for number in those if _worth(known[number])]
            if len(recorded) > 1:
                order = sorted(recorded, key=lambda number: number != best)
                rewards = {labels[n]: _reward(known[n], readers[n]) for n in order}
                yield Duplicate(name, *attempt, rewards)
    finally:
        for reader in readers:
            reader.close()


def _shared(indexes: Sequence[JournalIndex]) -> dict[tuple[int, int], list[int]]:
    """Attempts that several have begun, in order, and who."""
    seen: dict[tuple[int, int], int] = {}
    shared: dict[tuple[int, int], list[int]] = {}
    for number, index in enumerate(indexes):
        for attempt in index:
            if attempt in seen:
                shared.setdefault(attempt, [seen[attempt]]).append(number)
            else:
                seen[attempt] = number
    return dict(sorted(shared.items()))


def _worth(known: Known) -> int:
    """A score is worth most, then an answer that can be judged, then knowing why there is none."""
    if known.answer is None:
        return 0
    if known.judgement is not None and known.outcome != "unscored":
        return 3
    if known.answer.whole:
        return 2
    return int(known.judgement is not None)


def _reward(known: Known, read: Reader) -> float | None:
    return None if known.judgement is None else read(known.judgement).get("reward")


def _drop(path: Path, attempts: set[tuple[int, int]]) -> None:
    """Leave out what a journal says of these attempts; the other lines stay as they are."""
    scratch = path.with_name(f".{path.name}")
    with path.open("rb") as file, scratch.open("wb") as kept:
        kept.writelines(line for line in file if attempt_of(line) not in attempts)
    scratch.replace(path)
