"""What a run comes to: bundles, checks and exit status, derived again or as they were written."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.keys import safe_name
from pytest_nel.core.types import JsonObject
from pytest_nel.gate.check import Check
from pytest_nel.gate.health import Session, health
from pytest_nel.gate.threshold import threshold
from pytest_nel.gate.verdict import Exit, worst
from pytest_nel.records.bundle_file import read_bundle, refuse_stale
from pytest_nel.records.files import Derived, derive
from pytest_nel.records.found import facts_of
from pytest_nel.records.gated import CHECKS, Gated, gated
from pytest_nel.records.plans import planned, read_plan
from pytest_nel.records.sides import read_side
from pytest_nel.records.whole import whole_json

_SHOWN = (
    *("n_planned", "n_attempted", "n_scored"),
    *("n_wrong", "n_unparsed", "n_unscored", "n_truncated"),
)
"""What a bundle must say to be shown."""
_ALSO_NUMBERS = ("turns", "n_cached", "n_made_again", "n_overtaken")


@dataclass(frozen=True, slots=True)
class Concluded:
    """A run that is over, or as much of it as there is.

    Attributes:
        directory: The run's.
        derived: Its benchmarks, in the order of their names.
        checks: One per benchmark, one per threshold, those of the gate that it had.
        code: The exit status.
        gate: What that gate has decided; None where there was none.
    """

    directory: Path
    derived: Sequence[Derived]
    checks: Sequence[Check]
    code: int
    gate: Gated | None = None


def check_id(plan: Mapping[str, Any], kind: str = "health") -> str:
    """``<suite>::<benchmark>::health``."""
    suite = plan.get("suite")
    return "::".join([*([suite] if suite else []), safe_name(plan["benchmark"]), kind])


def thresholds(derived: Iterable[Derived]) -> Iterator[Check]:
    """A check for each benchmark that has a ``min_score``; its rows are read again for it.

    Raises:
        OSError: They cannot be read.
    """
    for one in derived:
        settings = one.plan["config"]
        least = settings.get("min_score")
        if least is not None:
            side = read_side(one.directory, one.bundle)
            name = check_id(one.plan, "threshold")
            yield threshold(name, side, least, settings.get("evidence", "ci"))


def write_checks(
    run_dir: Path, checks: Sequence[Check], code: int, gate: Mapping[str, Any] | None = None
) -> None:
    """Write checks.json, whole or not at all."""
    content: JsonObject = {"exit_code": code, "checks": [check.as_json() for check in checks]}
    if gate is not None:
        content["gate"] = gate
    whole_json(run_dir / CHECKS, content)


def rebuild(run_dir: Path) -> Concluded:
    """Derive every file of a run from its journals, as it would have done at its end.

    It is complete when every planned attempt has a judgement: what ``-k`` left out counts as
    missing. What a gate has decided stays, marked where the results are others now. The caller
    sees to it that nobody writes there.

    Raises:
        ConfigError: run.json, a plan or checks.json cannot be understood.
        OSError: Something cannot be read or written.
    """
    plans = {directory: read_plan(directory) for directory in planned(run_dir)}
    gated(run_dir)  # nothing is derived where what it has decided could not be kept
    facts = facts_of(run_dir) | {"sdk_version": version("pytest-nel")}
    found = _concluded(run_dir, [derive(directory, facts) for directory in plans])
    gate = None if found.gate is None else found.gate.content
    write_checks(run_dir, found.checks, found.code, gate)
    return found


def stored(run_dir: Path) -> Concluded:
    """What a run has written at its end; nothing is touched.

    Raises:
        ConfigError: There is no bundle, one or checks.json cannot be read, or one is older than
            the run's last turn.
        OSError: Results cannot be read.
    """
    derived = []
    for directory in planned(run_dir):
        file = _bundle_file(directory)
        bundle = read_bundle(file)
        refuse_stale(file, bundle)
        _refuse_unshowable(file, bundle)
        missing = bundle["n_planned"] - bundle["n_attempted"]
        derived.append(Derived(directory, bundle, read_plan(directory), [], missing))
    return _concluded(run_dir, derived)


def _bundle_file(directory: Path) -> Path:
    """The only one: a run of ours leaves one, and which of several is meant is not guessed."""
    found = sorted(directory.glob("eval-*.json"))
    if len(found) != 1:
        what = "no bundle" if not found else f"{len(found)} bundles"
        msg = f"{directory} has {what}{_remedy(directory.parent)}"
        raise ConfigError(msg)
    return found[0]


def _refuse_unshowable(file: Path, bundle: Mapping[str, Any]) -> None:
    """A bundle of ours says more than others must."""
    try:
        numbers = [bundle[name] for name in _SHOWN]
        numbers += [bundle[name] for name in _ALSO_NUMBERS if name in bundle]
        _ = (sum(numbers), bundle["benchmark"]["scores"]["mean_reward"])
    except (KeyError, TypeError) as error:
        said = f"{type(error).__name__}: {error}"
        msg = f"{file}: cannot be shown ({said}){_remedy(file.parent.parent)}"
        raise ConfigError(msg) from error


def _remedy(run_dir: Path) -> str:
    return f": nel eval report --rebuild {run_dir} makes it from the journals"


def _concluded(run_dir: Path, derived: Sequence[Derived]) -> Concluded:
    gate = gated(run_dir)
    checks = [*(_check(one) for one in derived), *thresholds(derived)]
    codes = {int(check.code) for check in checks}
    if gate is not None:
        checks += gate.checks
        codes |= gate.codes
    if any(_fails_strictly(one) for one in derived):
        codes.add(Exit.NO_GO)
    return Concluded(run_dir, derived, checks, worst(codes), gate)


def _check(derived: Derived) -> Check:
    plan = derived.plan
    limit = int(plan["config"].get("max_unscored", 0))
    return health(
        check_id(plan),
        derived.bundle,
        limit=limit,
        session=whole_of(derived.bundle),
        judges=plan["config"].get("max_judge_failures"),
    )


def whole_of(bundle: Mapping[str, Any]) -> Session:
    """A benchmark that no session is about: all that was planned should have a record."""
    return Session(ended=True, selected=bundle["n_planned"], recorded=bundle["n_attempted"])


def _fails_strictly(derived: Derived) -> bool:
    """As items of a strict benchmark fail in a run."""
    bundle = derived.bundle
    missed = bundle["n_wrong"] + bundle["n_unparsed"]
    return bool(derived.plan["config"].get("strict")) and missed > 0
