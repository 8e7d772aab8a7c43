"""Whether what a benchmark's directory holds still counts, and what becomes of it if not."""

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.core.locks import one_at_a_time
from pytest_nel.core.types import JsonObject
from pytest_nel.records.plans import PLAN, plan_of, write_plan
from pytest_nel.records.record import dumps

EARLIER = "earlier"
JOURNAL = "journal"
SELFTEST = "selftest"
"""Of a plan: one process tries the scorer, whichever writes first."""
_COMPARED = {"answering", "solver", "prompts"}  # by changes() already


def changes(old: Mapping[str, object], new: Mapping[str, object]) -> list[str]:
    """Why stored answers of a benchmark say nothing any more, such as ``model: 'a' → 'b'``.

    Args:
        old: The object of the plan.json that is there.
        new: The one that would be written.
    """
    before, after = _fingerprint(old), _fingerprint(new)
    one, two = before.get("answering") or {}, after.get("answering") or {}
    found = [
        _change(name, one.get(name), two.get(name))
        for name in sorted({*one, *two})
        if one.get(name) != two.get(name)
    ]
    same_rows = "rows_hash" in before and before["rows_hash"] == after.get("rows_hash")
    if same_rows and before.get("prompts") != after.get("prompts"):
        found.append("prompt")
    return found


def _change(name: str, before: object, after: object) -> str:
    if any(isinstance(value, str) and value.startswith("sha256:") for value in (before, after)):
        return name
    return f"{name}: {before!r} → {after!r}"


def _fingerprint(plan: Mapping[str, object]) -> JsonObject:
    found = plan.get("fingerprint")
    return dict(found) if isinstance(found, Mapping) else {}


def set_aside(directory: Path) -> Path:
    """Move all that a benchmark has recorded into a folder of its own; nothing is deleted."""
    numbers = (number for number in range(1, 10_000))
    aside = next(path for n in numbers if not (path := directory / f"{EARLIER}-{n}").exists())
    aside.mkdir()
    for path in sorted(directory.iterdir()):
        if not path.name.startswith((EARLIER, ".")):
            path.rename(aside / path.name)
    return aside


def _refuse_difference(name: str, old: JsonObject, new: JsonObject) -> None:
    if _planned(old) == _planned(new):
        return
    one, two = _fingerprint(old), _fingerprint(new)
    names = [*changes(old, new)]
    names += [part for part in two if part not in _COMPARED and one.get(part) != two[part]]
    what = f" ({', '.join(names)})" if names else ""
    msg = (
        f"{name}: two processes of this run loaded different data{what}; what a run loads must be "
        "the same each time it is loaded"
    )
    raise NelError(msg)


def _planned(plan: JsonObject) -> str:
    return dumps({name: value for name, value in plan.items() if name != SELFTEST})


def bring_back(directory: Path, plan: Mapping[str, object]) -> Path | None:
    """Put records that were set aside back in their place, the youngest that fit the plan.

    Returns:
        The folder they were in, or None where none fit. The journal moves before plan.json:
        without a plan it is looked through.
    """
    for number in range(len(list(directory.glob(f"{EARLIER}-*"))), 0, -1):
        folder = directory / f"{EARLIER}-{number}"
        there = plan_of(folder)
        if there is None or changes(there, plan) or not (folder / JOURNAL).is_dir():
            continue
        for name in (JOURNAL, PLAN):
            if (folder / name).exists():
                (folder / name).rename(directory / name)
        return folder
    return None


@dataclass(frozen=True, slots=True)
class Claim:
    """What became of the records that a benchmark's directory held.

    Attributes:
        changed: Why they say nothing any more.
        aside: Where they are then.
        back: Where records that do fit had been set aside; they are in their place again.
    """

    changed: Sequence[str] = ()
    aside: Path | None = None
    back: Path | None = None


def claim(
    directory: Path,
    plan: Mapping[str, object],
    *,
    afresh: bool,
    look_through: Callable[[JsonObject], object] | None = None,
) -> Claim:
    """Write plan.json for the turn that it names; older records that do not fit are set aside.

    Args:
        directory: The benchmark's.
        plan: The object of plan.json.
        afresh: Whether records may be set aside; otherwise they must fit.
        look_through: Called with the plan that is there, where records stay, before the new one
            is written: if it is killed, the next one looks again.

    Raises:
        ConfigError: They do not fit and may not be set aside.
        NelError: Another process of this turn has planned something else.
    """
    directory.mkdir(parents=True, exist_ok=True)
    with one_at_a_time(directory):
        old = plan_of(directory)
        if old is not None and old.get("turn") == plan["turn"]:
            _refuse_difference(directory.name, old, json.loads(dumps(plan)))
            if SELFTEST in plan and SELFTEST not in old:
                write_plan(directory, plan)
            return Claim()
        changed = [] if old is None else changes(old, plan)
        if changed and not afresh:
            msg = (
                f"{directory.name}: not what its answers were given to ({'; '.join(changed)}): "
                "change that back, or measure anew"
            )
            raise ConfigError(msg)
        aside = set_aside(directory) if changed else None
        journal = directory / JOURNAL
        back = None if journal.is_dir() else bring_back(directory, plan)
        if journal.is_dir() and look_through is not None:
            # without a plan somebody was killed while records were brought back
            look_through(plan_of(directory) or {"fingerprint": {}})
        write_plan(directory, plan)
        return Claim(changed, aside, back)
