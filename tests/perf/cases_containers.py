"""The case about containers: programs judged in them, and what the daemon does alone."""

import json
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

from tests.contract.boxes import IMAGE, client, no_image
from tests.perf.bench import Bench, median
from tests.perf.figures import Figure
from tests.perf.machine import ROOT, measure
from tests.perf.plugin_run import CaseFailed, plugin_name

_AT_A_TIME = 8
_BENCHMARK = """
    import json
    import pytest
    from pytest_nel import SolveResult

    class Knows:
        uses_sandbox = False

        async def solve(self, seed, sandbox):
            number = int(seed.prompt.partition("def f")[2].partition("(")[0])
            return SolveResult(f"```python\\ndef f{number}(x):\\n    return x + {number}\\n```")

    @pytest.fixture(scope="session")
    def nel_solver():
        return Knows()
"""
_SUITE = """
services:
  nobody:
    type: api
    url: "http://127.0.0.1:9/v1/chat/completions"
    protocol: chat_completions
    model: m
benchmarks:
  - name: humaneval
    solver: {type: simple, service: nobody}
    sandbox: SANDBOX
"""
_DOCKER = f'{{type: docker, image_template: "{IMAGE}", concurrency: {_AT_A_TIME}}}'
_LOCAL = f"{{type: local, concurrency: {_AT_A_TIME}}}"


def containers(bench: Bench) -> Iterator[Figure]:
    """As many programs as HumanEval has, eight at a time: in containers, and without any."""
    if (why := no_image()) is not None:
        raise CaseFailed(why)
    count = bench.size(164, 16)
    stats: list[dict[str, Any]] = []
    with tempfile.TemporaryDirectory(prefix="nelspeed-") as folder:
        place = Path(folder)
        write_problems(place, count)
        (inside, outside, alone), span = bench.interleaved(
            lambda: _judged(bench, place, _DOCKER, count, stats),
            lambda: _judged(bench, place, _LOCAL, count, []),
            lambda: _daemon_alone(count),
        )
    rates = [one["started_per_second"] for one in stats]
    wall, without = median(inside), median(outside)
    yield Figure(
        "containers per second",
        median(rates),
        "/s",
        better="higher",
        span=span,
        note=f"N={count}, {_AT_A_TIME} at a time, the command {wall:.1f} s",
        detail={"wall_s": inside, "stats": stats},
    )
    yield Figure(
        "of what the daemon does alone",
        median(rates) * median(alone) / count,
        "ratio",
        target=0.5,
        better="higher",
        span=span,
        note=f"create, start, one command, remove: {count / median(alone):.1f} /s",
        detail={"daemon_s": alone},
    )
    yield Figure(
        "share of the wall in Docker",
        1 - without / wall,
        "ratio",
        span=span,
        note=f"{without:.1f} s where the same programs run without containers",
        detail={"local_s": outside},
    )


def write_problems(place: Path, count: int) -> None:
    """Problems of our own in HumanEval's form, a solver that knows them, and where they are."""
    rows = [
        {
            "task_id": f"own/{number}",
            "prompt": f'def f{number}(x):\n    """x and {number} more."""\n',
            "entry_point": f"f{number}",
            "canonical_solution": f"    return x + {number}\n",
            "test": "def check(candidate):\n"
            + "".join(f"    assert candidate({x}) == {x + number}\n" for x in range(8)),
        }
        for number in range(count)
    ]
    text = "".join(json.dumps(row) + "\n" for row in rows)
    (place / "rows.jsonl").write_text(text, encoding="utf-8")
    (place / "datasets.yaml").write_text("openai/openai_humaneval: rows.jsonl\n")
    (place / "conftest.py").write_text(_BENCHMARK.replace("\n    ", "\n"), encoding="utf-8")


def _judged(
    bench: Bench, place: Path, sandbox: str, count: int, stats: list[dict[str, Any]]
) -> float:
    """Seconds of the whole command."""
    (place / "perf.nel.yaml").write_text(_SUITE.replace("SANDBOX", sandbox), encoding="utf-8")
    with tempfile.TemporaryDirectory(dir=place) as out:
        results = Path(out) / "results"
        line = [bench.python, "-m", "pytest", "-p", plugin_name(bench.python), "perf.nel.yaml"]
        cost = measure(
            [*line, "-q", "--nel-output-dir", str(results)],
            place / "output.log",
            env={"PYTHONPATH": str(ROOT), "NEL_DATA_DIR": str(place)},
            cwd=place,
        )
        found = [path.read_text() for path in results.rglob("eval-*.json")]
        right = sum(int(json.loads(text)["n_correct"]) for text in found)
        if cost.status != 0 or right != count:
            msg = f"exit {cost.status}, {right} of {count} right\n{cost.output[-2000:]}"
            raise CaseFailed(msg)
        (said,) = results.rglob("runtime_stats.json")
        stats.append(json.loads(said.read_text())["sandboxes"])
    return cost.wall


def _daemon_alone(count: int) -> float:
    """Seconds for as many containers made by the SDK alone, as many at a time."""
    docker = client()
    try:
        begun = time.monotonic()
        with ThreadPoolExecutor(_AT_A_TIME) as threads:
            list(threads.map(lambda _: _one(docker), range(count)))
        return time.monotonic() - begun
    finally:
        docker.close()


def _one(docker: Any) -> None:
    made = docker.containers.run(IMAGE, ["sleep", "600"], detach=True, network_mode="none")
    try:
        code, said = made.exec_run(["true"])
        if code != 0:
            msg = f"a container of {IMAGE} does not work: {said!r}"
            raise CaseFailed(msg)
    finally:
        made.remove(force=True)
