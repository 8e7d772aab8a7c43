"""Two stored runs compared: which problems changed, and whether that is more than chance."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pytest_nel.core.errors import ConfigError
from pytest_nel.gate.comparable import FIELDS, Comparison, compared
from pytest_nel.gate.compare import judge, measure
from pytest_nel.gate.comparison import Measured, Rules, RunComparison
from pytest_nel.gate.evaluate import refuse_asked_differently, refuse_different
from pytest_nel.gate.flips import Flip
from pytest_nel.records.sides import (
    Answer,
    StoredRun,
    read_answers,
    refuse_itself,
    stored_run,
)

MAY_DIFFER = ("benchmark", *FIELDS)
"""What ``allow_different`` takes: the fields of two bundles, and the benchmark's name."""
_WHOLE_TEXTS = 100
_TEXT = 4000
_LINE = 400


def compare_runs(  # noqa: PLR0913 - the public door: each is an option of nel compare
    baseline: str | Path,
    candidate: str | Path,
    *,
    max_drop: float = 0.05,
    correct_above: float | None = None,
    test: str = "auto",
    alpha: float = 0.05,
    allow_different: Iterable[str] = (),
) -> RunComparison:
    """Compare a candidate with a baseline, problem by problem; nothing is written.

    Args:
        baseline: A run directory, one benchmark's directory or its ``eval-*.json``; of this
            project or of the reference system.
        candidate: As above.
        max_drop: The drop that is accepted, on the score's own scale: 0.05 is five points.
        correct_above: Where given, an attempt is solved when its reward is greater; otherwise
            when its record says so.
        test: ``auto``, ``mcnemar``, ``sign`` or ``permutation``.
        alpha: A p-value below it is significant.
        allow_different: Fields in which the runs may differ: those that a refusal names.

    Returns:
        The comparison: ``verdict`` is PASS, WARN, BLOCK or INCONCLUSIVE, ``reasons`` says why,
        ``benchmarks`` has the details, ``as_json()`` all of it for machines.

    Raises:
        ConfigError: A run cannot be found or read, an argument is wrong, both are one run, no
            benchmark is in both, or they have not measured the same.
    """
    rules = Rules(max_drop, correct_above, test, alpha)
    allowed = set(allow_different)
    if unknown := sorted(allowed - set(MAY_DIFFER)):
        known = ", ".join(MAY_DIFFER)
        msg = f"allow_different: no such field: {', '.join(unknown)}; known: {known}"
        raise ConfigError(msg)
    return _compared(_named(Path(baseline)), _named(Path(candidate)), rules, allowed)


def _compared(
    before: "_Found", after: "_Found", rules: Rules, allowed: Collection[str]
) -> RunComparison:
    refuse_itself(before.run, after.run)
    matched = _matched(before, after, allowed)
    mine, yours = before.run.bundles, after.run.bundles
    comparisons = {
        names: compared(mine[names.baseline], yours[names.candidate], allowed=allowed)
        for names in matched
    }
    refuse_different({names.baseline: one.different for names, one in comparisons.items()})
    found = [_measured(before.run, after.run, *pair, rules) for pair in comparisons.items()]
    return RunComparison(
        rules,
        judge(found, rules),
        sorted(mine.keys() - {names.baseline for names in matched}),
        sorted(yours.keys() - {names.candidate for names in matched}),
        [*before.run.warnings, *after.run.warnings],
        before.whole and after.whole,
    )


@dataclass(frozen=True, slots=True)
class _Found:
    """A run, and whether it was named as a whole or by one of its benchmarks."""

    run: StoredRun
    whole: bool


@dataclass(frozen=True, slots=True)
class _Names:
    """One benchmark: two names where the caller allows them to differ."""

    baseline: str
    candidate: str


def _named(path: Path) -> _Found:
    """The run that a path names; a bundle's file names one benchmark, and so does its folder.

    Raises:
        ConfigError: As :func:`stored_run`; or the rows beside a bundle are of a newer one.
    """
    run = stored_run(path)
    if not path.is_file():
        whole = all(file.parent != path for file in run.paths.values())
        return _Found(run, whole)
    for name, file in run.paths.items():
        if file.resolve() == path.resolve():
            one = replace(run, paths={name: file}, bundles={name: run.bundles[name]})
            return _Found(one, whole=False)
    newer = [file.name for file in run.paths.values() if file.parent == path.parent]
    why = f"the results.jsonl beside it is of {newer[0]}" if newer else "it is no bundle"
    msg = f"{path} cannot be compared: {why}"
    raise ConfigError(msg)


def _matched(before: _Found, after: _Found, allowed: Collection[str]) -> Sequence[_Names]:
    mine, yours = before.run.bundles, after.run.bundles
    both = sorted(mine.keys() & yours.keys())
    if both:
        return [_Names(name, name) for name in both]
    if len(mine) == len(yours) == 1:
        names = _Names(*mine, *yours)
        if "benchmark" not in allowed:
            line = (
                f"benchmark: {names.baseline} in the baseline, {names.candidate} in the candidate"
            )
            refuse_different({names.candidate: [line]})
        return [names]
    msg = (
        f"no benchmark is in both runs: {before.run.directory} has {_listed(mine)}, "
        f"{after.run.directory} has {_listed(yours)}"
    )
    raise ConfigError(msg)


def _listed(names: Iterable[str]) -> str:
    first, *rest = sorted(names)
    return f"{first}{f' and {len(rest)} more' if rest else ''}"


def _measured(
    before: StoredRun, after: StoredRun, names: _Names, comparison: Comparison, rules: Rules
) -> Measured:
    """One benchmark with the answers of what changed; its rows are forgotten on return."""
    sides = before.side(names.baseline), after.side(names.candidate)
    refuse_asked_differently(names.baseline, *sides, comparison)
    found = measure(*sides, rules)
    flips = found.flips
    shown = [*flips.regressions, *flips.improvements]
    files = before.paths[names.baseline], after.paths[names.candidate]
    told = list(_told(shown, files, len(flips.regressions)))
    cut = len(flips.regressions)
    flips = replace(flips, regressions=told[:cut], improvements=told[cut:])
    warnings = [
        *found.warnings,
        *_warnings(comparison, told),
        *_different_names(names),
    ]
    allowed = [*comparison.allowed, *(["benchmark"] if names.baseline != names.candidate else [])]
    return replace(found, flips=flips, warnings=warnings, allowed=allowed)


def _told(flips: Sequence[Flip], files: tuple[Path, Path], regressions: int) -> Iterator[Flip]:
    """The flips with what was answered: whole texts of the first, a line of the others."""
    kept = [
        _TEXT if at < _WHOLE_TEXTS or 0 <= at - regressions < _WHOLE_TEXTS else _LINE
        for at in range(len(flips))
    ]
    wanted: tuple[dict[tuple[int, int], int], dict[tuple[int, int], int]] = ({}, {})
    for flip, most in zip(flips, kept, strict=True):
        wanted[0][flip.baseline.problem, flip.baseline.repeat] = most
        wanted[1][flip.candidate.problem, flip.candidate.repeat] = most
    mine, yours = (read_answers(file, keys) for file, keys in zip(files, wanted, strict=True))
    nothing = Answer("", "")
    for flip in flips:
        one = mine.get((flip.baseline.problem, flip.baseline.repeat), nothing)
        other = yours.get((flip.candidate.problem, flip.candidate.repeat), nothing)
        yield replace(
            flip,
            expected=other.expected or one.expected,
            responses=(one.response, other.response),
            same_question=not (one.expected and other.expected) or one.expected == other.expected,
        )


def _warnings(comparison: Comparison, flips: Sequence[Flip]) -> Iterator[str]:
    if comparison.unknown:
        yield f"not known on both sides, so not compared: {', '.join(comparison.unknown)}"
    if comparison.allowed:
        yield f"the runs differ, as allowed, in: {', '.join(comparison.allowed)}"
    other = sum(not flip.same_question for flip in flips)
    if other:
        yield (
            f"{other:,} of {len(flips):,} problems that changed expect different answers in the "
            "two runs: they may not be the same problems"
        )


def _different_names(names: _Names) -> Iterator[str]:
    if names.baseline != names.candidate:
        yield (
            f"Benchmark mismatch: {names.baseline} in the baseline, {names.candidate} in the "
            "candidate"
        )
