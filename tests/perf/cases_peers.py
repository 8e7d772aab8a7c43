"""The whole command beside what a user would take instead, same questions, same rounds."""

import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

from tests.perf.bench import CONCURRENCY, Bench, median
from tests.perf.figures import Figure
from tests.perf.peers import PEERS, Peer, install, run_peer
from tests.perf.plugin_run import Load, run_plugin
from tests.perf.rows import write_benchmark
from tests.support.endpoint import RunningEndpoint, running_endpoint

LATENCY = 0.05


def compared(bench: Bench) -> Iterator[Figure]:
    """Our wall, and with the peers asked for, the ratio to each of theirs."""
    count = bench.size(2000, 300)
    peers = PEERS if bench.peers else ()
    for peer in peers:
        bench.say(f"  environment of {peer.name}")
        install(peer, bench.cache)
    with (
        tempfile.TemporaryDirectory(prefix="nelspeed-") as folder,
        running_endpoint(mode="gold", latency=LATENCY) as endpoint,
    ):
        rows = write_benchmark(Path(folder), count).with_name("perf.jsonl")
        load = Load(count, concurrency=CONCURRENCY, probe=False)
        kinds: list[Callable[[], float]] = [
            lambda: run_plugin(bench.python, endpoint, load).cost.wall
        ]
        kinds += [_peer_wall(bench, peer, endpoint, rows) for peer in peers]
        columns, span = bench.interleaved(*kinds)
    ours = median(columns[0])
    yield Figure(
        f"wall of the command, N={count}", ours, "s", span=span, detail={"walls": columns[0]}
    )
    for peer, walls in zip(peers, columns[1:], strict=True):
        yield Figure(
            f"wall / {peer.name}'s",
            ours / median(walls),
            "ratio",
            target=0.25 if peer.keeps else None,
            span=span,
            note=f"{ours:.1f} s against {median(walls):.1f} s",
            detail={"walls": walls},
        )


def _peer_wall(
    bench: Bench, peer: Peer, endpoint: RunningEndpoint, rows: Path
) -> Callable[[], float]:
    def wall() -> float:
        cost, _ = run_peer(peer, endpoint, rows, cache=bench.cache, concurrency=CONCURRENCY)
        bench.say(f"  {peer.name}: {cost.wall:.1f} s")
        return cost.wall

    return wall
