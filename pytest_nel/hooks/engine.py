"""Starts the engine with the first item of a session and ends it with the session."""

from collections.abc import Awaitable, Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

from pytest_nel.authoring.catalog import blame
from pytest_nel.config.schema import PluginSpec, Prices
from pytest_nel.core.errors import ConfigError, InfraError, JournalError, NelError, RunStopped
from pytest_nel.core.protocols import Solver
from pytest_nel.core.types import JsonObject
from pytest_nel.engine.budget import Purse
from pytest_nel.engine.fingerprint import (
    answering,
    fingerprint_with,
    in_sandbox,
    placed,
    reads_row,
)
from pytest_nel.engine.guard import StopReason
from pytest_nel.engine.how import How, Writing
from pytest_nel.engine.identity import Identity
from pytest_nel.engine.judge import Judges
from pytest_nel.engine.judge_panel import (
    judge_identities,
    judge_prices,
    judges_with,
    plan_judges,
)
from pytest_nel.engine.past import Mode
from pytest_nel.engine.runtime import Parts
from pytest_nel.engine.session import MAX_CONSECUTIVE_UNSCORED, Engine
from pytest_nel.engine.user_code import says
from pytest_nel.engine.validated import validated
from pytest_nel.hooks.budgets import Budgets, refuse_unpriced
from pytest_nel.hooks.cache import cache_of
from pytest_nel.hooks.gating import check_before, check_comparable
from pytest_nel.hooks.gym import needed_servers, point_verifiers
from pytest_nel.hooks.inherit import suspects
from pytest_nel.hooks.models import FIXTURE, NO_MODEL, OF_THE_MODEL
from pytest_nel.hooks.resume import index_of, past_of, settle, take
from pytest_nel.hooks.sandboxes import make_ready, refuse_without_sandbox, sandbox_facts
from pytest_nel.hooks.services import is_late, needed, parts_of, say_warnings
from pytest_nel.hooks.sharing import heed, limits, rooms, told_to_stop
from pytest_nel.hooks.snapshot import write_snapshot
from pytest_nel.hooks.solvers import ConfiguredSolvers
from pytest_nel.hooks.spent import inherit
from pytest_nel.hooks.state import BenchmarkRun, Run
from pytest_nel.records.journal import SYNC_EVERY
from pytest_nel.solvers import asks_model

NOT_BEGUN = "nothing was measured"
_AS_WRITTEN = ("name", "solver", "params", "scoring")  # their values may come from the environment
_CARRIER = "nel_solver of a benchmark"


def begin(run: Run, item: pytest.Item) -> None:
    """Start everything, once; called in the set-up of the first item."""
    if run.engine is not None:
        return
    if (told := told_to_stop(run)) is not None:
        item.session.shouldstop = item.session.shouldstop or NOT_BEGUN
        pytest.skip(f"not run: {told}")
    try:
        _begin(run, item)
    except (JournalError, OSError) as error:  # a full disk: with room the same line will do
        what = error if isinstance(error, JournalError) else f"results cannot be written: {error}"
        run.stop = StopReason(str(what), fatal=False)
        item.session.shouldstop = NOT_BEGUN
        pytest.skip(f"not run: {what}")
    except NelError as error:
        run.unbegun = True
        fatal = not isinstance(error, InfraError | RunStopped)
        run.stop = run.stop or StopReason(str(error), fatal=fatal)  # a signal's reason stands
        item.session.shouldstop = NOT_BEGUN
        pytest.skip(f"not run: {error}")
    except pytest.skip.Exception as skipped:
        run.stop = StopReason(f"fixture nel_solver was skipped: {skipped}", fatal=False)
        item.session.shouldstop = NOT_BEGUN
        raise
    except (Exception, SystemExit) as error:
        run.stop = run.stop or StopReason(f"the run could not begin: {says(error)}", fatal=True)
        item.session.shouldstop = NOT_BEGUN
        raise


def _checked_parts(run: Run) -> Parts:
    refuse_without_sandbox(run)
    check_before(run)
    refuse_unpriced(run)
    return parts_of(run)


def _begin(run: Run, item: pytest.Item) -> None:
    benches = [run.benchmarks[name] for name in run.names]
    parts = _checked_parts(run)
    engine = run.engine = Engine(
        run.directory,
        parts,
        max_consecutive=run.options.get("max-consecutive-unscored", MAX_CONSECUTIVE_UNSCORED),
    )
    take(run)
    engine.writing = _writing(run)
    engine.needs = [*needed(run, benches), *needed_servers(run, benches)]
    make_ready(run, benches, engine.loop)
    for bench in benches:
        plan_judges(bench.plan, parts)
    point_verifiers(run, benches)
    asks = run.mode is not Mode.RESCORE
    solvers = _answering(run, benches, item) if asks else [run.solvers for _ in benches]
    judges = [judges_with(bench.plan, parts, run.services) for bench in benches]
    identities = [_identity(run, *three) for three in zip(benches, solvers, judges, strict=True)]
    who = list(zip(benches, solvers, judges, identities, strict=True))
    prices = {one.plan.id: _prices(run, one, by) for one, by, _, _ in who}
    plans = [_plan_json(one, with_, known) | prices[one.plan.id] for one, _, with_, known in who]
    budgets = Budgets(run, {name: found.get("prices") for name, found in prices.items()})
    purses = [budgets.purse(one) if asks or one.plan.judges else Purse() for one in benches]
    check_comparable(run, plans)
    for bench, plan, identity in zip(benches, plans, identities, strict=True):
        settle(run, bench, plan, identity)
    write_snapshot(run)  # only now: one that is refused changes nothing
    for bench, purse in zip(benches, purses, strict=True):
        inherit(run, bench, purse)
    room = rooms(run, benches)
    for (bench, solver, with_, identity), purse in zip(who, purses, strict=True):
        how = _how(run, bench, identity, room[bench.plan.id])
        how = replace(how, judges=with_, purse=purse, ready=_ready(run, bench, solver))
        engine.add(bench.plan, solver, how)
    limit, window = limits(run, benches, max(room.values()))
    if (told := told_to_stop(run)) is not None:  # while all this was made ready
        engine.stop(told)
    engine.start(run.order, limit=limit, window=window, alone=_suspects(run, benches))


def _suspects(run: Run, benches: Sequence[BenchmarkRun]) -> set[int]:
    """Positions of the attempts that may have killed the worker which this one replaces."""
    if not run.inherits or run.worker is None:
        return set()
    indexes = {bench.plan.id: index_of(run, bench.plan.id) for bench in benches}
    found = suspects(run, run.order, indexes)
    return found if run.worker.waited is None else {*found, run.worker.waited}


def _answering(run: Run, benches: Sequence[BenchmarkRun], item: pytest.Item) -> list[Solver]:
    """Who answers each benchmark; keys are read, services are started that are not late."""
    parts = run.parts
    assert parts is not None
    for bench in benches:
        if bench.service is not None:
            parts.plan_limit(bench.service, bench.plan.config.max_concurrent)
    for bench in benches:
        if bench.service is not None or not asks_model(bench.plan.config.solver):
            run.solvers.prepare(bench.plan, bench.endpoint_type, parts)
    say_warnings(run)
    found = _solvers(run, benches, item)
    solvers = [_checked(run, *pair) for pair in zip(benches, found, strict=True)]
    for bench, solver in zip(benches, solvers, strict=True):
        if solver is not run.solvers:
            _brought(run, bench)
    return solvers


def _writing(run: Run) -> Writing:
    own = run.worker
    return Writing(
        writer=own.id if own else "main",
        turn=own.turn if own else run.turn,
        meta=run.facts(),
        sync_every=0.0 if run.sync == "record" else SYNC_EVERY,
    )


def _identity(run: Run, bench: BenchmarkRun, solver: Solver, judges: Judges) -> Identity:
    configured = solver is run.solvers
    options = bench.plan.config.solver.model_dump() if configured else None
    looks = run.mode is not Mode.RESCORE and reads_row(None if configured else solver, options)
    judging = {**bench.plan.judging(), **({"judges": judges.facts} if judges else {})}
    box, room = sandbox_facts(run, bench), parts_of(run).sandboxes.room(bench.plan.config.sandbox)
    works = run.mode is not Mode.RESCORE and _works_in_one(run, bench, solver)
    visits = not bench.plan.environment.judges_now
    return Identity(
        placed(_who(run, bench, solver), box if works else None),
        placed(judging, box if visits else None),
        reads_row=looks,
        works_in_sandbox=works and box is not None,
        judges_in_sandbox=visits and box is not None,
        images=None if room is None else room.images_of(bench.plan.environment),
    )


def _works_in_one(run: Run, bench: BenchmarkRun, solver: Solver) -> bool:
    options = bench.plan.config.solver.model_dump()
    return in_sandbox(None, options) if solver is run.solvers else in_sandbox(solver)


def _how(run: Run, bench: BenchmarkRun, identity: Identity, room: int) -> How:
    cache, shares = cache_of(run, identity)
    return How(room, identity, past_of(run, bench), cache, shares)


def _ready(run: Run, bench: BenchmarkRun, solver: Solver) -> Callable[[], Awaitable[None]] | None:
    """Waits for the model that answers, where it is started with the first attempt to be made."""
    asks = run.mode is not Mode.RESCORE and _asked(run, bench, solver) is not None
    if bench.service is None or not asks or not is_late(run):
        return None
    return parts_of(run).client(bench.service).arrive


def _who(run: Run, bench: BenchmarkRun, solver: Solver) -> JsonObject:
    """What determines its answers; re-scoring has none made."""
    if run.mode is Mode.RESCORE:
        return {}
    asked = _asked(run, bench, solver)
    if isinstance(solver, ConfiguredSolvers):
        options = bench.plan.config.solver.model_dump()
        facts = answering(None, options, asked, _resource(run, options))
    else:  # what is configured answers nothing, unless this solver wraps it
        options = bench.plan.config.solver.model_dump() if _wrapped(run, bench) else {}
        facts = answering(solver, options or None, asked, _resource(run, options))
    if asked is not None and bench.service is not None:
        endpoint = parts_of(run).described(bench.service)
        facts["model"] = endpoint.model  # that of a service that names none is its own name
        facts |= {} if endpoint.weights is None else {"service.weights": endpoint.weights}
    return facts


def _resource(run: Run, solver: JsonObject) -> PluginSpec | None:
    """The service whose tools a solver lets the model call."""
    return run.services.get(str(solver.get("resource_service")))


def _asked(run: Run, bench: BenchmarkRun, solver: Solver) -> PluginSpec | None:
    """The service that answers, directly or through a fixture's solver."""
    asked = None if bench.service is None else run.services.get(bench.service)
    ours = isinstance(solver, ConfiguredSolvers) or bench.asks_model or _wrapped(run, bench)
    return asked if ours else None


def _wrapped(run: Run, bench: BenchmarkRun) -> bool:
    return (bench.wraps or run.configured_asked) and run.solvers.knows(bench.plan)


def _prices(run: Run, bench: BenchmarkRun, solver: Solver) -> JsonObject:
    """Prices for the plan, outside of all that makes runs comparable; of no other endpoint."""
    asked = _asked(run, bench, solver)
    prices = None if asked is None else asked.options.get("prices")
    of_judges = judge_prices(bench.plan, run.services)
    if prices is None:
        return of_judges
    found: Prices = validated(Prices, prices, f"services.{bench.service}.prices")
    return {"prices": found.model_dump(), **of_judges}


def _plan_json(bench: BenchmarkRun, judges: Judges, identity: Identity) -> JsonObject:
    facts = bench.plan.as_json()
    facts["fingerprint"] = {**facts["fingerprint"], **fingerprint_with(identity)}
    facts["fingerprint"] |= judge_identities(bench.plan, judges)
    facts["config"] |= {key: bench.written[key] for key in _AS_WRITTEN if key in bench.written}
    facts["suite"] = bench.suite
    facts["reads_row"] = identity.reads_row
    return facts


def _brought(run: Run, bench: BenchmarkRun) -> None:
    """A fixture's solver answers: refuse options it never sees, record nothing it does not use.

    One that wraps the configured solver lets that see them all.

    Raises:
        ConfigError: Options for the configured solver, or for a model that is not asked.
    """
    bench.brought = True
    if bench.wraps and run.solvers.knows(bench.plan):
        return
    lost = ["system-prompt"] if bench.asks_model else ["system-prompt", *OF_THE_MODEL]
    flags = [f"--nel-{name}" for name in lost if name in run.options.given]
    if flags:
        msg = (
            f"{', '.join(flags)}: {bench.label} is answered by the fixture nel_solver, which "
            "would not see it: set it there, or measure that benchmark in a run of its own"
        )
        raise ConfigError(msg)
    bench.written = {**bench.written, "solver": {"type": FIXTURE}}


def _solvers(run: Run, benches: Sequence[BenchmarkRun], item: pytest.Item) -> list[Any]:
    """Each benchmark's ``nel_solver`` as the conftest.py files above it define it.

    A carrier function is set up below the first item, once per benchmark: pytest then resolves
    the fixture as for any test, and tears down what is narrower than the session with the item.
    """
    top: pytest.Item = item
    solvers = []
    for bench in benches:
        carrier: Any = pytest.Function.from_parent(
            bench.node, name=_CARRIER, callobj=_wants_a_solver
        )
        info = carrier._fixtureinfo  # noqa: SLF001 - what is visible from the benchmark's file
        scope = info.name2fixturedefs["nel_solver"][-1].scope
        if scope != "session":
            msg = (
                f"fixture nel_solver has scope {scope!r}: one solver serves all attempts of a "
                'run, so declare it with @pytest.fixture(scope="session")'
            )
            raise ConfigError(msg)
        bench.wraps = _wraps(info.name2fixturedefs["nel_solver"])
        carrier.parent = top  # only now: pytest >= 9.2 lets no item with [...] have children
        _set_up(carrier, bench)
        bench.asks_model = "nel_model" in info.names_closure or run.model_asked
        solvers.append(carrier.funcargs["nel_solver"])
        top = carrier
    return solvers


def _wraps(definitions: Sequence[Any]) -> bool:
    """Whether each override of a fixture asks for the one below it, down to our own."""
    return all("nel_solver" in override.argnames for override in definitions[1:])


def _set_up(carrier: Any, bench: BenchmarkRun) -> None:
    try:
        carrier.session._setupstate.setup(carrier)  # noqa: SLF001 - an Item has no fixtures itself
    except NelError:
        raise
    except (Exception, SystemExit) as error:  # the user's fixture may raise anything
        info = carrier._fixtureinfo  # noqa: SLF001 - as above
        fixture = info.name2fixturedefs["nel_solver"][-1].func
        place = blame(error, fixture.__code__.co_filename)
        msg = f"fixture nel_solver for {bench.label} failed: {place}"
        raise ConfigError(msg) from error


def _checked(run: Run, bench: BenchmarkRun, solver: Any) -> Solver:
    if solver is run.solvers and not run.solvers.knows(bench.plan):
        raise ConfigError(NO_MODEL)
    if isinstance(solver, type) or not callable(getattr(solver, "solve", None)):
        got = f"the class {solver.__name__}" if isinstance(solver, type) else type(solver).__name__
        msg = (
            "fixture nel_solver must return an object with `async def solve(seed, sandbox)`, "
            f"got {got}"
        )
        raise ConfigError(msg)
    checked: Solver = solver
    return checked


def _wants_a_solver(nel_solver: Solver) -> None:
    """The signature through which pytest finds the fixture that holds here."""


def tick(run: Run, session: pytest.Session) -> None:
    """Called while an item waits: the progress line moves on, a worker hears its controller."""
    heed(run, session)
    for call in run.on_tick:
        call()


def end(run: Run) -> None:
    """Stop sending, close everything. What is in flight gets a short grace."""
    if run.engine is not None:
        run.engine.close()
        run.kept += run.engine.kept
        run.notes += run.engine.spent
        run.stop = run.stop or run.engine.stop_reason
    if run.cache is not None:
        run.cache.close()
        if run.cache.trouble is not None:
            run.notes.append(f"cache: {run.cache.trouble}")
    for call in run.on_closed:
        call()


def mine(run: Run, items: Sequence[pytest.Item]) -> list[pytest.Item]:
    """The items this process runs: a worker's every n-th, so that all end together."""
    if run.worker is None:
        return list(items)
    if run.worker.only is not None:
        return [items[index] for index in run.worker.only]
    return list(items[run.worker.shard :: run.worker.shards])
