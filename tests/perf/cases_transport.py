"""Which transport should be under httpx: the measurement behind the choice."""

import json
import subprocess
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from tests.perf.bench import CONCURRENCY, Bench, median
from tests.perf.figures import Figure
from tests.perf.machine import ROOT
from tests.perf.plugin_run import CaseFailed
from tests.support.endpoint import running_endpoint

LATENCY = 0.1
NAMES = ("httpx's own pool", "slots", "fast", "model client")


def transports(bench: Bench) -> Iterator[Figure]:
    """CPU per request with 64 in flight, transport beside transport."""
    rates: dict[str, list[float]] = {name: [] for name in NAMES}
    with running_endpoint(mode="gold", latency=LATENCY) as endpoint:

        def cost(name: str) -> float:
            found = _loop(bench.python, name, endpoint.url, 1.0 if bench.quick else 3.0)
            rates[name].append(found["requests"] / found["seconds"])
            return found["cpu"] / found["requests"] * 1e6

        columns, span = bench.interleaved(*(partial(cost, name) for name in NAMES))
    for name, column in zip(NAMES, columns, strict=True):
        yield Figure(
            f"CPU per request, {name}",
            median(column),
            "us",
            adjust="cpu",
            span=span,
            note=f"{median(rates[name]):.0f} requests/s of {CONCURRENCY / LATENCY:.0f}",
            detail={"us": column, "rates": rates[name]},
        )


def _loop(python: str, name: str, url: str, seconds: float) -> dict[str, float]:
    script = str(Path(__file__).with_name("transport_loop.py"))
    done = subprocess.run(
        [python, script, name, url, str(seconds)],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=120,
    )  # fmt: skip
    if done.returncode != 0:
        msg = f"transport {name!r}: exit {done.returncode}\n{done.stderr[-2000:]}"
        raise CaseFailed(msg)
    found: dict[str, float] = json.loads(done.stdout)
    return found
