"""Whether parts of a run belong together, and the plan that they have in common."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.keys import problem_order, shard_range
from pytest_nel.core.text import showable
from pytest_nel.core.types import JsonObject
from pytest_nel.gate.comparable import timeout_of
from pytest_nel.records.plans import planned, read_plan
from pytest_nel.records.record import dumps
from pytest_nel.records.rundir import RunFacts, read_run

_SUMMED_UP = {"solver", "model"}
"""Fields of a fingerprint that ``answering`` says in detail."""
_SHOWN = 60
"""Characters of a value in a message."""


@dataclass(frozen=True, slots=True)
class Part:
    """A run directory that is to be merged.

    Attributes:
        directory: Where it is; only ever read.
        label: A short name for messages.
        facts: The object of its run.json, where it has one.
        plans: Its plan.json objects by the benchmark's directory name.
        shard: (index, count), or None.
    """

    directory: Path
    label: str
    facts: RunFacts | None
    plans: Mapping[str, JsonObject]
    shard: tuple[int, int] | None


@dataclass(frozen=True, slots=True)
class Joint:
    """What parts come to.

    Attributes:
        parts: Shards by their number, others as given.
        plans: The plan of the whole, by the benchmark's directory name.
        missing: Numbers of shards that nobody has measured, by benchmark; shards without a
            problem are not missing.
        count: How many shards there are; None where the parts are no shards.
    """

    parts: Sequence[Part]
    plans: Mapping[str, JsonObject]
    missing: Mapping[str, Sequence[int]]
    count: int | None


def read_parts(directories: Sequence[Path]) -> list[Part]:
    """Read what the directories say of themselves.

    Raises:
        ConfigError: A plan or a run.json is damaged.
    """
    names = [directory.name for directory in directories]
    parts = []
    for directory in directories:
        label = directory.name if names.count(directory.name) == 1 else str(directory)
        plans = {path.name: read_plan(path) for path in planned(directory)}
        facts = read_run(directory)
        shards = {tuple(plan["shard"]) for plan in plans.values() if plan.get("shard")}
        if len(shards) > 1:
            msg = f"{directory}: its benchmarks are of different shards: {sorted(shards)}"
            raise ConfigError(msg)
        own = next(iter(shards)) if shards else (facts.shard if facts else None)
        parts.append(Part(directory, label, facts, plans, own))
    return parts


def fit(parts: Sequence[Part]) -> Joint:
    """Find the plan of the whole.

    Parts fit when their fingerprints agree in everything but the version of Python: data,
    prompts, scorer, solver, model, sampling, versions of pytest-nel; so do repeats and ``params``.
    Shards must be parts of one division; of others, the one with the most problems says what the
    whole is, since a smaller ``max_problems`` has only taken the first of them.

    Raises:
        ConfigError: They do not; the message names everything that differs.
    """
    count = _division(parts)
    if count is not None:
        parts = sorted(parts, key=lambda part: part.shard or (0, 0))
    names = dict.fromkeys(name for part in parts for name in part.plans)
    trouble = [*_targets_differ(parts)]
    for name in names:
        trouble += _differences(name, [part for part in parts if name in part.plans])
    if trouble:
        msg = "these are not parts of one run:\n" + "\n".join(f"  {line}" for line in trouble)
        raise ConfigError(msg)
    plans, missing = {}, {}
    for name in names:
        here = [part for part in parts if name in part.plans]
        plans[name] = _whole(name, here)
        if count is not None:
            missing[name] = _missing(here, plans[name]["selected"], count)
    return Joint(parts, plans, missing, count)


def _division(parts: Sequence[Part]) -> int | None:
    counts: dict[int | None, list[str]] = {}
    for part in parts:
        counts.setdefault(part.shard and part.shard[1], []).append(part.label)
    if len(counts) > 1:
        said = "; ".join(
            f"{_some(labels)}: {'no shard' if count is None else f'one of {count} shards'}"
            for count, labels in counts.items()
        )
        msg = f"only parts of one division can be merged, these are of several: {said}"
        raise ConfigError(msg)
    return next(iter(counts))


def _targets_differ(parts: Sequence[Part]) -> Iterator[str]:
    """Parts measure the same files; where those lie may differ from machine to machine."""
    files: dict[str, set[str]] = {}
    for part in parts:
        if part.facts is not None and part.facts.targets:
            files[part.label] = {target.rpartition("/")[2] for target in part.facts.targets}
    if not files:
        return
    first, *others = files.items()
    for label, targets in others:
        if not targets & first[1]:
            yield f"{_list(first[1])} in {first[0]}, {_list(targets)} in {label}"


def _differences(name: str, parts: Sequence[Part]) -> Iterator[str]:
    facts = {part.label: _facts(part.plans[name]) for part in parts}
    for field in dict.fromkeys(field for found in facts.values() for field in found):
        groups: dict[str, list[str]] = {}
        for label, found in facts.items():
            groups.setdefault(dumps(found.get(field)), []).append(label)
        if len(groups) > 1:
            said = "; ".join(
                f"{showable(value, _SHOWN)} in {_some(labels)}" for value, labels in groups.items()
            )
            yield f"{name}: {field}: {said}"


def _facts(plan: Mapping[str, Any]) -> JsonObject:
    """What must be equal, by names that a message can show."""
    facts = {name: plan.get(name) for name in ("benchmark", "environment", "repeats")}
    facts["params"] = plan["config"].get("params")
    facts["timeout"] = timeout_of(plan)
    if plan.get("shard"):
        facts["problems of all shards"] = plan.get("selected")
    for name, value in plan["fingerprint"].items():
        if name == "answering":
            facts |= dict(value or {})
        elif name == "judged_in":
            facts |= {f"judged in {key}": inner for key, inner in (value or {}).items()}
        elif name == "versions":
            facts["version of pytest-nel"] = (value or {}).get("pytest-nel")
        elif name not in _SUMMED_UP:
            facts[name] = value
    return facts


def _whole(name: str, parts: Sequence[Part]) -> JsonObject:
    """The plan of the whole, as the run would have had it that measured all of it."""
    base = max(parts, key=lambda part: len(part.plans[name]["problems"]))
    if base.shard is not None:  # with equal lengths max takes the first, too
        base = parts[0]
    plan = base.plans[name]
    facts = plan["fingerprint"]
    size, seed = facts.get("dataset_size"), facts.get("shuffle_seed")
    if not isinstance(size, int):
        msg = f"{base.directory / name}: plan.json does not say how large the dataset is"
        raise ConfigError(msg)
    selected = plan["selected"] if base.shard else len(plan["problems"])
    order = problem_order(size, seed)[:selected]
    for part in parts:
        _check_order(part, name, order)
    turns = [turn for part in parts if isinstance(turn := part.plans[name].get("turn"), int)]
    whole = {**plan, "problems": order, "selected": len(order), "shard": None}
    return whole | ({"turn": max(turns)} if turns else {})


def _check_order(part: Part, name: str, order: Sequence[int]) -> None:
    problems = part.plans[name]["problems"]
    start, end = shard_range(len(order), *part.shard) if part.shard else (0, len(problems))
    if problems != list(order[start:end]):
        what = f"shard {part.shard[0]}/{part.shard[1]}" if part.shard else "a part"
        msg = (
            f"{part.directory / name}: the problems in plan.json are not those of {what} in the "
            "order of its shuffle seed: it was made by another version, or changed"
        )
        raise ConfigError(msg)


def _missing(parts: Sequence[Part], selected: int, count: int) -> list[int]:
    there = {part.shard[0] for part in parts if part.shard}
    ranges = {index: shard_range(selected, index, count) for index in range(count)}
    return [index for index, (start, end) in ranges.items() if start < end and index not in there]


def _list(words: set[str]) -> str:
    return ", ".join(sorted(words))


def _some(labels: Sequence[str]) -> str:
    most = 4
    more = f" and {len(labels) - most} more" if len(labels) > most else ""
    return ", ".join(labels[:most]) + more
