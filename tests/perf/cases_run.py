"""Cases that time a run: how much of the concurrency it uses, and the whole command."""

import math
from collections.abc import Iterator, Sequence

from tests.perf.bench import CONCURRENCY, Bench, median
from tests.perf.figures import Figure
from tests.perf.plugin_run import CaseFailed, Load, PluginRun, run_plugin
from tests.support.behaviour import Behaviour, Model, draws
from tests.support.endpoint import running_endpoint
from tests.support.tally import possible_span


def ideal(count: int, latency: float) -> float:
    """Seconds that a perfect run takes."""
    return math.ceil(count / CONCURRENCY) * latency


def half_second(bench: Bench) -> Iterator[Figure]:
    """2,000 answers of half a second each."""
    count, latency = bench.size(2000, 320), 0.5
    runs: list[PluginRun] = []

    def measured() -> float:
        runs.append(run_plugin(bench.python, endpoint, Load(count)))
        return runs[-1].run / ideal(count, latency)

    with running_endpoint(mode="gold", latency=latency) as endpoint:
        [ratios], span = bench.interleaved(measured)
    yield Figure(
        "run/ideal, 0.5 s",
        median(ratios),
        "ratio",
        target=1.05,
        span=span,
        note=f"N={count}, {_in_flight(runs)}",
        detail={"ratios": ratios, "N": count, "late_s": runs[-1].stats["mean_lateness"]},
    )


def large(bench: Bench) -> Iterator[Figure]:
    """14,042 answers of a tenth of a second, without and with a JUnit file."""
    count, latency = bench.size(14_042, 1500), 0.1
    runs: dict[str, list[PluginRun]] = {"plain": [], "junit": []}

    def measured(name: str, *extra: str) -> float:
        runs[name].append(run_plugin(bench.python, endpoint, Load(count, extra=extra)))
        return runs[name][-1].run / ideal(count, latency)

    with running_endpoint(mode="gold", latency=latency) as endpoint:
        (plain, junit), span = bench.interleaved(
            lambda: measured("plain"), lambda: measured("junit", "--junitxml={out}/junit.xml")
        )
    for name, ratios, target, busy in (
        ("run/ideal, 0.1 s", plain, 1.10, 1.20),
        ("run/ideal, 0.1 s, --junitxml", junit, 1.25, None),
    ):
        kept = runs["junit" if ratios is junit else "plain"]
        yield Figure(
            name,
            median(ratios),
            "ratio",
            target=target,
            busy_target=busy,
            span=span,
            note=f"N={count}, {_in_flight(kept)}",
            detail={
                "ratios": ratios,
                "N": count,
                "wall_s": [run.cost.wall for run in kept],
                "peak_mb": [run.moments["peak_mb"] for run in kept],
                "late_s": kept[-1].stats["mean_lateness"],
            },
        )


def _in_flight(runs: list[PluginRun]) -> str:
    means = [run.stats["mean_in_flight"] for run in runs]
    return f"{median(means):.1f} in flight, most {max(r.stats['max_in_flight'] for r in runs)}"


def lognormal(bench: Bench) -> Iterator[Figure]:
    """Latencies that spread: the window, not the concurrency, is what can fail here.

    The last slow answers run alone, whoever schedules: with 4,000 draws even a perfect run uses
    0.71 to 0.95 of C, by the luck of the seed. So seeds are taken that leave room for the target.
    """
    count = bench.size(4000, 1000)
    room = 0.75 if bench.quick else 0.9
    shares, possible = [], []
    first = bench.calibration.read()
    for seed in fair_seeds(_order(bench, count), room, bench.rounds):
        with running_endpoint(mode="gold", latency=0.5, sigma=1.0, seed=seed) as endpoint:
            stats = run_plugin(bench.python, endpoint, Load(count)).stats
        shares.append(stats["mean_in_flight"] / CONCURRENCY)
        possible.append(stats["latency_sum"] / CONCURRENCY / stats["possible_span"])
    span = (first, bench.calibration.read())
    yield Figure(
        "share of C used, lognormal",
        median(shares),
        "ratio",
        target=0.85,
        better="higher",
        span=span,
        note=f"N={count}, {median(possible):.2f} possible in this order",
        detail={"shares": shares, "possible": possible, "N": count},
    )


def _order(bench: Bench, count: int) -> list[bytes]:
    """The bodies in the order in which the plugin sends them."""
    with running_endpoint(mode="gold") as endpoint:
        run_plugin(bench.python, endpoint, Load(count, probe=False))
        return endpoint.digests()


def fair_seeds(order: Sequence[bytes], room: float, wanted: int) -> list[int]:
    """The first seeds with which a perfect run in this order uses ``room`` of C or more."""
    seeds: list[int] = []
    for seed in range(1, 500):
        model = Model(Behaviour(latency=0.5, sigma=1.0, seed=seed))
        latencies = [model.delay(draws(seed, digest, 0).latency) for digest in order]
        if sum(latencies) / CONCURRENCY / possible_span(latencies, CONCURRENCY) >= room:
            seeds.append(seed)
            if len(seeds) == wanted:
                return seeds
    msg = f"expected {wanted} seeds with room for {room} of C, got {seeds}"
    raise CaseFailed(msg)


def collect(bench: Bench) -> Iterator[Figure]:
    """A hundred thousand problems: time to collect them, memory at the end."""
    count = bench.size(100_000, 10_000)
    first = bench.calibration.read()
    with running_endpoint(mode="gold") as endpoint:
        run = run_plugin(bench.python, endpoint, Load(count, limit=900))
    last = bench.calibration.read()
    moments = run.moments
    if moments["items"] < count:
        msg = f"expected {count} items, got {moments['items']}"
        raise CaseFailed(msg)
    yield Figure(
        f"collection, {count:,} items",
        moments["collected"] - moments["configured"],
        "s",
        target=6.0,
        span=(first, last),
        note="configured to collected, planning included",
    )
    yield Figure(
        f"peak memory, {count:,} items",
        moments["peak_mb"],
        "MB",
        target=550.0,
        span=(first, last),
        note=f"run {run.run:.0f} s",
    )
