"""How many attempts run at once in this process, and what changes while it runs."""

import math
from collections.abc import Sequence

import pytest

from pytest_nel.core.keys import share_of
from pytest_nel.engine.past import Mode
from pytest_nel.hooks.inherit import adopt
from pytest_nel.hooks.state import BenchmarkRun, Run

TOLD = "the session was stopped"


def told_to_stop(run: Run) -> str | None:
    """Why this process is to stop, or None."""
    if run.stop is not None:
        return run.stop.text
    return TOLD if run.worker is not None and run.worker.stopped else None


def _share(run: Run) -> tuple[int, int]:
    return run.worker.share if run.worker else (0, 1)


def at_once(run: Run, bench: BenchmarkRun) -> int:
    """How many attempts of a benchmark may run at once in this process.

    Twice what the client of its service sends at once: an attempt that waits before a retry must
    not keep a request from being sent, and more would only queue for the client while the
    benchmark's ``timeout`` runs. Where the client does not hold C by itself (another benchmark
    wants more of it, or a fixture brings the solver), the attempts themselves are held to C.
    """
    share = share_of(bench.plan.config.max_concurrent, *_share(run))
    if run.mode is Mode.RESCORE:
        return share if bench.plan.judges else 1
    if bench.brought or bench.service is None or run.parts is None:
        return share
    run.parts.client(bench.service)
    ceiling = run.parts.allowed(bench.service)
    if share < ceiling:
        return share
    return (4 if bench.plan.judges else 2) * ceiling  # while some are judged others are solved


def rooms(run: Run, benches: Sequence[BenchmarkRun]) -> dict[str, int]:
    """:func:`at_once` of several, by plan id."""
    return {bench.plan.id: at_once(run, bench) for bench in benches}


def limits(run: Run, benches: Sequence[BenchmarkRun], most: int) -> tuple[int, int]:
    """(attempts at once, window) of this process; ``most`` is the largest :func:`at_once`."""
    index, shards = _share(run)
    stops_early = bool(run.config.getoption("maxfail")) or bool(
        run.config.getoption("stepwise", default=False)
    )
    wanted = [bench.plan.config.window for bench in benches]
    if stops_early and not any(wanted):
        window = max(share_of(bench.plan.config.max_concurrent, index, shards) for bench in benches)
    else:
        window = max(math.ceil(bench.plan.window / shards) for bench in benches)
    return min(most, max(window, 1)), window


def heed(run: Run, session: pytest.Session, *, now: bool = False) -> None:
    """Do what the controller says; looks four times a second at most, unless ``now``."""
    worker = run.worker
    control = None if worker is None else worker.listener.news(now=now)
    if worker is None or control is None:
        return
    if control.stop:
        worker.stopped = True
        if run.engine is not None:
            run.engine.stop(TOLD)
    if worker.id in control.live:
        _divide(run, (control.live.index(worker.id), len(control.live)))
    adoption = control.adopt.get(worker.id)
    if adoption is not None and worker.adopted != adoption.turn:
        worker.adopted = adoption.turn
        adopt(run, [session.items[index] for index in adoption.indices], adoption.turn)


def _divide(run: Run, share: tuple[int, int]) -> None:
    worker, parts = run.worker, run.parts
    if worker is None or share == worker.share:
        return
    worker.share = share
    if run.engine is None:
        if parts is not None:  # nothing is under way: its clients are on no loop yet
            for client, room in parts.divide(*share):
                client.limiter.set_ceiling(room)
            for _ in parts.sandboxes.divide(share):
                pass
        return
    benches = [run.benchmarks[name] for name in run.names]
    assert parts is not None
    for _ in parts.divide(*share):  # what is allowed now; the engine tells the clients
        pass
    wanted = rooms(run, benches)
    limit, window = limits(run, benches, max(wanted.values()))
    run.engine.divide(share, wanted, limit=limit, window=window)
