"""Cases that time a run: how much of the concurrency it uses, and the whole command."""

import math
from collections.abc import Iterator

from tests.perf.bench import CONCURRENCY, Bench, median
from tests.perf.figures import Figure
from tests.perf.plugin_run import CaseFailed, Load, PluginRun, run_plugin
from tests.support.endpoint import running_endpoint


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
    """Latencies that spread: the window, not the concurrency, is what can fail here."""
    count = bench.size(4000, 1000)
    shares, possible = [], []
    first = bench.calibration.read()
    for seed in range(1, bench.rounds + 1):  # the luck of the last few is the seed's
        with running_endpoint(mode="gold", latency=0.5, sigma=1.0, seed=seed) as endpoint:
            stats = run_plugin(bench.python, endpoint, Load(count)).stats
        shares.append(stats["mean_in_flight"] / CONCURRENCY)
        possible.append(stats["latency_sum"] / CONCURRENCY / stats["possible_span"])
    last = bench.calibration.read()
    yield Figure(
        "share of C used, lognormal",
        median(shares),
        "ratio",
        target=0.85,
        better="higher",
        span=(first, last),
        note=f"N={count}, {median(possible):.2f} possible in this order",
        detail={"shares": shares, "possible": possible, "N": count},
    )


def collect(bench: Bench) -> Iterator[Figure]:
    """A hundred thousand problems: time to collect them, memory at the end."""
    count = bench.size(100_000, 10_000)
    first = bench.calibration.read()
    with running_endpoint(mode="gold") as endpoint:
        run = run_plugin(bench.python, endpoint, Load(count, limit=900))
    last = bench.calibration.read()
    judged = not bench.quick  # targets are for the full size
    moments = run.moments
    if moments["items"] < count:
        msg = f"expected {count} items, got {moments['items']}"
        raise CaseFailed(msg)
    yield Figure(
        f"collection, {count:,} items",
        moments["collected"] - moments["configured"],
        "s",
        target=6.0 if judged else None,
        span=(first, last),
        note="configured to collected, planning included",
    )
    yield Figure(
        f"peak memory, {count:,} items",
        moments["peak_mb"],
        "MB",
        target=550.0 if judged else None,
        span=(first, last),
        note=f"run {run.run:.0f} s",
    )
