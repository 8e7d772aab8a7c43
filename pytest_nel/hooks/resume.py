"""Which directory a run writes into, and what it makes of the records that are there."""

from argparse import ArgumentTypeError
from pathlib import Path

import pytest

from pytest_nel.config.interpolate import getenv
from pytest_nel.config.schema import OutputConfig
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.types import JsonObject
from pytest_nel.engine.asked import Reads
from pytest_nel.engine.identity import Identity
from pytest_nel.engine.past import Mode, Past
from pytest_nel.engine.stale import Stale, changed, drop_stale, may_have_changed
from pytest_nel.hooks.models import suite_args, suite_of
from pytest_nel.hooks.options import Options, shard
from pytest_nel.hooks.snapshot import SUITE_FILE
from pytest_nel.hooks.state import BenchmarkRun, Run
from pytest_nel.records.claims import claim
from pytest_nel.records.index import JournalIndex, index_journals
from pytest_nel.records.journal import journal_files, turn_of
from pytest_nel.records.plans import plan_of, planned, read_plan
from pytest_nel.records.rundir import (
    RUN,
    RunDirectory,
    RunFacts,
    newest_run,
    next_turn,
    read_run,
    refuse_used,
)

RESULTS = "eval_results"
QUICK_NODE = "quick.nel.yaml"
_BEGINNINGS = {RUN, SUITE_FILE, "logs"}
_SHARD_VARIABLES = ("NEL_SHARD_IDX", "NEL_TOTAL_SHARDS")
_ARRAY_VARIABLES = ("SLURM_ARRAY_TASK_ID", "SLURM_ARRAY_TASK_COUNT")
_ARRAY_BOUNDS = ("SLURM_ARRAY_TASK_MIN", "SLURM_ARRAY_TASK_MAX")
_ASKING = (
    *("model", "model-url", "model-id", "api-key-env", "temperature", "max-tokens"),
    *("system-prompt", "timeout", "cache", "cache-size", "cache-share-repeats"),
)
_KEPT_OF_A_PLAN = ("answering", "solver", "model", "versions")


def mode_of(options: Options) -> Mode | None:
    """What becomes of earlier records; None for a run that begins from nothing.

    Raises:
        ConfigError: Options contradict each other.
    """
    resume, rescore = bool(options.get("resume")), bool(options.get("rescore"))
    if options.given.get("only") and rescore:
        msg = "--nel-only makes attempts again, --nel-rescore only judges them: choose one"
        raise ConfigError(msg)
    if options.given.get("only") and not resume:
        msg = "--nel-only makes attempts of an earlier run again: add --nel-resume"
        raise ConfigError(msg)
    if options.given.get("cache-share-repeats") and not options.get("cache"):
        msg = "--nel-cache-share-repeats is about a cache: add --nel-cache DIR"
        raise ConfigError(msg)
    if options.given.get("cache-size") and not options.get("cache"):
        msg = "--nel-cache-size is about a cache: add --nel-cache DIR"
        raise ConfigError(msg)
    if rescore:
        _refuse_asking(options)
        return Mode.RESCORE
    return Mode.RESUME if resume else None


def _refuse_asking(options: Options) -> None:
    given = [f"--nel-{name}" for name in _ASKING if name in options.given]
    if given:
        msg = f"{', '.join(given)}: --nel-rescore asks no model, so leave that out"
        raise ConfigError(msg)


def shard_of(config: pytest.Config, options: Options) -> tuple[int, int] | None:
    """Which part of the run this is: the command line's, else the environment's.

    Raises:
        ConfigError: A variable is malformed, or only one of a pair is set.
    """
    if "shard" in options.given:
        index, count = options.given["shard"]
        return int(index), int(count)
    first, second = (getenv(name) for name in _SHARD_VARIABLES)
    if first or second:
        return _parsed(_SHARD_VARIABLES, first, second)
    if not _says_slurm(config):
        return None
    index, count = (getenv(name) for name in _ARRAY_VARIABLES)
    if not (index or count):
        return None
    found = _parsed(_ARRAY_VARIABLES, index, count)
    for name, wanted in zip(_ARRAY_BOUNDS, (0, found[1] - 1), strict=True):
        given = getenv(name)
        if given not in {None, str(wanted)}:
            msg = (
                f"{name}={given} with {count} tasks: number the tasks of the array from 0, without "
                f"gaps; to repeat some, set {' and '.join(_SHARD_VARIABLES)}"
            )
            raise ConfigError(msg)
    return found


def _parsed(names: tuple[str, ...], index: str | None, count: str | None) -> tuple[int, int]:
    if not (index and count):
        msg = f"{names[0]} and {names[1]} belong together, but only one of them is set"
        raise ConfigError(msg)
    try:
        return shard(f"{index}/{count}")
    except ArgumentTypeError as error:
        msg = f"{names[0]}={index}, {names[1]}={count}: {error}"
        raise ConfigError(msg) from None


def _says_slurm(config: pytest.Config) -> bool:
    paths = [path for path in suite_args(config) if path.is_file()]
    return any(suite_of(path, config).config.shard_from == "slurm_array" for path in paths)


def targets(config: pytest.Config, options: Options) -> list[str]:
    """What is measured, as the command line names it, without node ids."""
    if options.given.get("bench"):
        return [f"benchmark {options.given['bench']}"]
    names = {str(arg).partition("::")[0] for arg in config.args}
    return sorted(_below(config.rootpath, config.invocation_params.dir / name) for name in names)


def _below(root: Path, path: Path) -> str:
    full = path.resolve()
    return full.relative_to(root).as_posix() if full.is_relative_to(root) else str(full)


def choose(
    config: pytest.Config, options: Options, output: OutputConfig | None, facts: RunFacts
) -> tuple[Path, RunFacts]:
    """The run's directory and facts: those of an earlier run where there is one to go on with.

    Raises:
        ConfigError: The directory is in use, or another suite's.
    """
    base, fixed = _place(options, output)
    base = config.invocation_params.dir / base
    if fixed and facts.shard is not None:
        base /= f"shard_{facts.shard[0]}"
    mode = mode_of(options)
    if mode is None:
        directory = base if fixed else base / facts.run_id
        if not config.option.collectonly:
            _refuse_nested(directory)
            refuse_used(directory, ", or go on in it with --nel-resume")
        return directory, facts
    found = _earlier(base, facts) if fixed else newest_run(base, facts)
    if found is None and mode is Mode.RESCORE:
        msg = f"--nel-rescore: no run of {', '.join(facts.targets)} in {base}"
        raise ConfigError(msg)
    if found is None:
        directory = base if fixed else base / facts.run_id
        _refuse_nested(directory)
        return directory, facts
    return found, read_run(found) or facts


def _place(options: Options, output: OutputConfig | None) -> tuple[Path, bool]:
    """The directory, and whether it is the run's own; else each run has a folder in it."""
    says = output is not None and "dir" in output.model_fields_set
    fixed = options.given.get("output-dir") or (None if says else options.get("output-dir"))
    if fixed is not None:
        return Path(fixed), True
    if output is None:
        return Path(RESULTS), False
    return Path(output.dir), not output.timestamped


def _earlier(directory: Path, facts: RunFacts) -> Path | None:
    """The directory itself, when it holds a run of the same suite; None when it is empty."""
    there = read_run(directory) if directory.is_dir() else None
    if there is None:
        if _is_known_by_its_plans(directory, facts):
            return directory
        if not _only_begun(directory):
            refuse_used(directory)
        return None
    if not there.same_suite(facts):
        what = f"{', '.join(there.targets)}{_part(there)}"
        msg = (
            f"{directory} holds a run of {what}, not of {', '.join(facts.targets)}{_part(facts)}: "
            "name another directory"
        )
        raise ConfigError(msg)
    return directory


def _refuse_nested(directory: Path) -> None:
    outer = next((path for path in directory.parents if (path / RUN).is_file()), None)
    if outer is not None:
        msg = f"{directory} lies in the directory of another run, {outer}: name another place"
        raise ConfigError(msg)


def _is_known_by_its_plans(directory: Path, facts: RunFacts) -> bool:
    """Whether it holds records of these files: run.json may have been lost."""
    suites = {read_plan(path).get("suite", "") for path in planned(directory)}
    quick = {QUICK_NODE} if any(name.startswith("benchmark ") for name in facts.targets) else set()
    return bool(suites) and suites <= {*facts.targets, *quick}


def _only_begun(directory: Path) -> bool:
    """Whether nothing is there but what a run makes before its first attempt."""
    return directory.is_dir() and {path.name for path in directory.iterdir()} <= _BEGINNINGS


def _part(facts: RunFacts) -> str:
    return "" if facts.shard is None else f" (shard {facts.shard[0]}/{facts.shard[1]})"


def take(run: Run) -> None:
    """Hold the run's directory; afterwards it is known which turn this is.

    Raises:
        ConfigError: Another run writes there, or it cannot be written.
    """
    folder = run.folder
    if folder is None:
        folder = run.folder = RunDirectory(run.directory)
    try:
        if run.worker is not None:
            folder.join()
        else:
            folder.take(run.run_facts, new=run.mode is None)
            run.turn = run.turn or next_turn(run.directory)
    except OSError as error:
        msg = (
            f"results cannot be written to {run.directory}: {error.strerror or error}; name "
            "another place with --nel-output-dir"
        )
        raise ConfigError(msg) from None


def settle(run: Run, bench: BenchmarkRun, plan: JsonObject, identity: Identity) -> None:
    """Write the benchmark's plan; records that do not fit it any more are set aside.

    Judgements that do not count any more, of rows or by a scorer that have changed, are dropped.

    Raises:
        NelError: They may not be, or another worker has planned something else.
    """
    directory = run.directory / bench.plan.id
    if run.mode is Mode.RESCORE:
        plan = _with_answers_of(directory, plan)
    afresh = run.mode is not Mode.RESCORE and not run.options.given.get("only")
    plan = {**plan, "turn": run.turn}

    def look_through(old: JsonObject) -> None:
        if run.options.given.get("only") and (what := changed(old, plan)):
            msg = (
                f"{bench.plan.id}: {', '.join(what)} changed since its answers were judged: first "
                "say --nel-resume alone, which judges them again"
            )
            raise ConfigError(msg)
        if may_have_changed(old, plan):
            _drop_stale(run, bench, identity, old, changed=bool(changed(old, plan)))

    made = claim(directory, plan, afresh=afresh, look_through=look_through)
    run.indexes.pop(bench.plan.id, None)  # another worker may have dropped some
    if made.changed:
        where = made.aside.relative_to(run.directory) if made.aside else directory.name
        said = "begun afresh" if made.back is None else f"going on with {made.back.name}"
        run.note(
            f"{bench.plan.id}: {said}, since {'; '.join(made.changed)} (earlier records: {where})"
        )


def _with_answers_of(directory: Path, plan: JsonObject) -> JsonObject:
    """Re-scoring asks nobody: who answered is what the stored plan says."""
    old = plan_of(directory)
    if old is None:
        msg = f"--nel-rescore: {directory} holds no records"
        raise ConfigError(msg)
    kept = {name: old["fingerprint"].get(name) for name in _KEPT_OF_A_PLAN}
    answering = {name: old["config"].get(name) for name in ("solver", "timeout")}
    config = {**plan["config"], **answering}
    fingerprint = {**plan["fingerprint"], **kept}
    facts = {"fingerprint": fingerprint, "config": config, "reads_row": _read_row(old)}
    return {**plan, **facts, "prices": old.get("prices")}


def _drop_stale(
    run: Run, bench: BenchmarkRun, identity: Identity, old: JsonObject, *, changed: bool
) -> None:
    assert run.engine is not None
    name = bench.plan.id
    asked = _read_row(old) if run.mode is Mode.RESCORE else None
    stale = Stale(bench.plan, identity, index_of(run, name), asked=asked, changed=changed)
    directory = run.directory / name
    run.kept["dropped"] += drop_stale(run.engine, stale, bench.plan, directory, run.turn)


def _read_row(plan: JsonObject) -> Reads:
    said = plan.get("reads_row", True)
    return tuple(map(str, said)) if isinstance(said, list) else bool(said)


def past_of(run: Run, bench: BenchmarkRun) -> Past | None:
    """What counts of a benchmark's records; None in a run's first processes."""
    if run.mode is None and not run.inherits:
        return None
    return past_with(run, bench.plan.id, index_of(run, bench.plan.id))


def past_with(run: Run, name: str, index: JournalIndex) -> Past:
    """What counts of a benchmark's records, as this run's options have it."""
    reads = _read_row(plan_of(run.directory / name) or {})
    only = run.options.given.get("only")
    again = (only,) if only in {"wrong", "unparsed"} else ()
    return Past(index, mode=run.mode or Mode.RESUME, again=again, reads_row=reads)


def index_of(run: Run, name: str) -> JournalIndex:
    """A benchmark's journals as they stood when they were first looked at."""
    if name not in run.indexes:
        run.indexes[name] = index_journals(run.directory / name / "journal")
    return run.indexes[name]


def earlier_index(run: Run, name: str) -> JournalIndex:
    """A benchmark's journals as they stood before this session."""
    if not run.inherits:
        return index_of(run, name)
    if name not in run.earlier:
        index = run.earlier[name] = JournalIndex()
        for path in journal_files(run.directory / name / "journal"):
            if turn_of(path) < run.turn:
                index.scan(path)
    return run.earlier[name]
