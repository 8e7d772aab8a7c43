"""Cases about what it costs: CPU per attempt, being interrupted, and the endpoint itself."""

import json
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.perf.bench import CONCURRENCY, Bench, median
from tests.perf.figures import Figure
from tests.perf.machine import ROOT, measure
from tests.perf.plugin_run import (
    CaseFailed,
    Load,
    PluginRun,
    run_plugin,
    started,
)
from tests.support.endpoint import RunningEndpoint, running_endpoint

SMALL = 100  # a run whose CPU is all start-up


def attempt(bench: Bench) -> Iterator[Figure]:
    """CPU per attempt without latency, beside the bare client's, and the rate reached.

    A small run is subtracted from a large one, so that start-up does not count.
    """
    count = bench.size(4000, 1000)
    runs: list[PluginRun] = []

    def plugin(size: int) -> float:
        run = run_plugin(bench.python, endpoint, Load(size))
        if size == count:
            runs.append(run)
        return run.cost.cpu

    with running_endpoint(mode="gold") as endpoint:
        client = partial(_client_cpu, bench.python, endpoint)
        plugin(SMALL)  # compiles what is not compiled yet
        client(SMALL)
        columns, span = bench.interleaved(
            partial(plugin, SMALL),
            partial(plugin, count),
            partial(client, SMALL),
            partial(client, count),
        )
    small, big, client_small, client_big = (median(column) for column in columns)
    ours = (big - small) / (count - SMALL) * 1e6
    bare = (client_big - client_small) / (count - SMALL) * 1e6
    detail = {"cpu_s": columns, "N": count, "small": SMALL}
    yield Figure("CPU per attempt", ours, "us", adjust="cpu", span=span, detail=detail)
    yield Figure("CPU of the bare client", bare, "us", adjust="cpu", span=span)
    yield Figure("CPU above the client's", ours - bare, "us", target=450, adjust="cpu", span=span)
    rates = [count / run.run for run in runs]
    yield Figure(
        "attempts per second, no latency",
        median(rates),
        "/s",
        target=900,
        better="higher",
        adjust="rate",
        span=span,
        note=f"N={count}, {median(rates):,.0f} before calibration",
        detail={"rates": rates, "wall_s": [run.cost.wall for run in runs]},
    )


def _client_cpu(python: str, endpoint: RunningEndpoint, count: int) -> float:
    endpoint.reset()
    script = str(Path(__file__).with_name("client_loop.py"))
    command = [python, script, endpoint.url, str(count), str(CONCURRENCY)]
    with tempfile.TemporaryDirectory(prefix="nelspeed-") as folder:
        cost = measure(command, Path(folder) / "log", env={"PYTHONPATH": str(ROOT)})
    if cost.status != 0:
        msg = f"the bare client: exit {cost.status}\n{cost.output[-2000:]}"
        raise CaseFailed(msg)
    return cost.cpu


def interrupt(bench: Bench) -> Iterator[Figure]:
    """Ctrl-C with all requests in flight and none of them near its end."""
    seconds: list[float] = []
    # a background shell leaves SIGINT ignored, which children inherit; a handler they do not
    signal.signal(signal.SIGINT, signal.default_int_handler)
    first = bench.calibration.read()
    with running_endpoint(mode="gold", latency=60.0) as endpoint:
        for _ in range(bench.rounds):
            with started(bench.python, endpoint, Load(200, probe=False)) as (running, _out):
                _wait_full(endpoint, running.log)
                sent = time.monotonic()
                running.process.send_signal(signal.SIGINT)
                cost = running.wait(30)
                seconds.append(time.monotonic() - sent)
            if cost.status != 2 or not re.search(r"\bperf\b", cost.output):
                msg = (
                    f"expected exit 2 and a summary that names the benchmark, got exit "
                    f"{cost.status}:\n{cost.output[-2000:]}"
                )
                raise CaseFailed(msg)
    yield Figure(
        "Ctrl-C to exit",
        max(seconds),
        "s",
        target=2.0,
        span=(first, bench.calibration.read()),
        note=f"{CONCURRENCY} of 60 s in flight, worst of {len(seconds)}",
        detail={"seconds": seconds},
    )


def _wait_full(endpoint: RunningEndpoint, log: Path) -> None:
    try:
        endpoint.wait_in_flight(CONCURRENCY)
    except TimeoutError as error:
        msg = f"{error}; its output:\n{log.read_text(errors='replace')[-2000:]}"
        raise CaseFailed(msg) from error


def endpoint_itself(bench: Bench) -> Iterator[Figure]:
    """The mock endpoint alone: it must never be what a case measures."""
    count = bench.size(20_000, 5000)
    costs: list[float] = []
    script = str(Path(__file__).with_name("hammer.py"))

    def rate() -> float:
        endpoint.reset()
        before = endpoint.stats()["cpu"]
        command = [sys.executable, script, str(endpoint.port), str(count), str(CONCURRENCY)]
        done = subprocess.run(command, capture_output=True, check=True)
        costs.append((endpoint.stats()["cpu"] - before) / count * 1e6)
        return float(json.loads(done.stdout)["rate"])

    with running_endpoint(mode="gold") as endpoint:
        [rates], span = bench.interleaved(rate)
    yield Figure(
        "mock endpoint, requests/s",
        median(rates),
        "/s",
        target=5000,
        better="higher",
        adjust="rate",
        span=span,
        note=f"{median(costs):.0f} us CPU a request",
        detail={"rates": rates, "cpu_us": costs},
    )
