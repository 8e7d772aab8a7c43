"""What the plugin adds to a pytest run that does not use it: modules, and seconds."""

import json
import subprocess
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path

from tests.perf.bench import Bench, median
from tests.perf.figures import Figure
from tests.perf.machine import ROOT, Measured, measure
from tests.perf.plugin_run import CaseFailed, loads_by_itself

HEAVY = frozenset(
    {"asyncio", "datasets", "docker", "fabric", "httpcore", "httptools", "httpx", "numpy",
     "paramiko", "pyarrow", "pydantic", "scipy", "ssl", "yaml"}
)  # fmt: skip

_TEST = "def test_one() -> None:\n    assert True\n"
# -X importtime does not see what importlib.import_module loads, and pytest loads plugins with it
_CONFTEST = """\
import sys

def pytest_unconfigure():
    with open("modules.txt", "w") as file:
        file.write("\\n".join(sys.modules))
"""
_TIMER = """
import importlib, json, sys, time
first, added = json.load(sys.stdin)
for name in first:
    try:
        importlib.import_module(name)
    except ImportError:
        pass  # made by a plugin at run time
start = time.perf_counter()
for name in added:
    importlib.import_module(name)
print((time.perf_counter() - start) * 1000)
"""


def installed(bench: Bench) -> Iterator[Figure]:
    """Compare runs with the plugin blocked and with it loaded, in pairs."""
    pairs = 3 if bench.quick else 12  # each both ways round
    with tempfile.TemporaryDirectory(prefix="nelspeed-") as folder:
        directory = Path(folder)
        (directory / "test_one.py").write_text(_TEST)
        (directory / "conftest.py").write_text(_CONFTEST)
        base = ["-m", "pytest", "-q", "-p", "no:cacheprovider", "test_one.py"]
        has = [] if loads_by_itself(bench.python) else ["-p", "pytest_nel.plugin"]
        without, having = [*base, "-p", "no:nel"], [*base, *has]
        yield from _imports(bench, directory, without, having)
        first = bench.calibration.read()
        costs = []
        for _ in range(pairs):  # without, with, with, without: a drift hits both alike
            costs += [_pair(bench, directory, without, having)]
            costs += [_pair(bench, directory, having, without)[::-1]]
        last = bench.calibration.read()
    yield _added(costs, (first, last))


def _added(costs: Sequence[tuple[Measured, Measured]], span: tuple[int, int]) -> Figure:
    """The fastest start with the plugin against the fastest without.

    A start is 0.5 s of CPU with a tail to the slow side, so 10 ms are seen in the fastest long
    before they are in a median; the median is in the note.
    """
    fastest = [min(cost.cpu for cost in column) * 1000 for column in zip(*costs, strict=True)]
    middle = median([(after.cpu - before.cpu) * 1000 for before, after in costs])
    clock = median([(after.wall - before.wall) * 1000 for before, after in costs])
    return Figure(
        "added to an unrelated run",
        fastest[1] - fastest[0],
        "ms",
        target=10,
        adjust="cpu",
        span=span,
        note=f"CPU, fastest of {len(costs)}: {fastest[0]:.0f} ms without; medians of pairs "
        f"{middle:.1f} CPU, {clock:.1f} clock",
        detail={"cpu_s": [(b.cpu, a.cpu) for b, a in costs], "median_clock_ms": clock},
    )


def _imports(
    bench: Bench, directory: Path, without: list[str], having: list[str]
) -> Iterator[Figure]:
    before = modules(bench, directory, without)
    after = modules(bench, directory, having)
    added = [name for name in after if name not in set(before)]
    if "pytest_nel.plugin" not in added:
        msg = f"expected pytest_nel.plugin among what the plugin loads, got {added}"
        raise CaseFailed(msg)
    first = bench.calibration.read()
    costs = [_import_ms(bench.python, before, added) for _ in range(5)]
    span = (first, bench.calibration.read())
    heavy = [name for name in added if name.split(".")[0] in HEAVY]
    yield Figure(
        "imports added",
        median(costs),
        "ms",
        target=10,
        adjust="cpu",
        span=span,
        note=f"{len(added)} modules",
        detail={"modules": added, "ms": costs},
    )
    yield Figure("heavy modules added", len(heavy), "", 0, span=span, note=" ".join(heavy[:5]))


def _pair(
    bench: Bench, directory: Path, one: list[str], other: list[str]
) -> tuple[Measured, Measured]:
    return _run(bench, directory, one), _run(bench, directory, other)


def _run(bench: Bench, directory: Path, arguments: Sequence[str]) -> Measured:
    cost = measure(
        [bench.python, *arguments],
        directory / "log",
        env={"PYTHONPATH": str(ROOT)},
        cwd=directory,
    )
    if cost.status != 0:
        msg = f"{arguments}: exit {cost.status}\n{cost.output}"
        raise CaseFailed(msg)
    return cost


def modules(bench: Bench, directory: Path, arguments: Sequence[str]) -> list[str]:
    """What such a run has loaded at its end, in the order of loading."""
    _run(bench, directory, arguments)
    return (directory / "modules.txt").read_text().split("\n")


def _import_ms(python: str, before: Sequence[str], added: Sequence[str]) -> float:
    """Milliseconds to import ``added`` where ``before`` is loaded already."""
    known = [name for name in before if name != "__main__"]
    done = subprocess.run(
        [python, "-c", _TIMER],
        input=json.dumps([known, list(added)]),
        cwd=ROOT,  # the checkout, not an installed copy, is what is measured
        capture_output=True,
        text=True,
        check=False,
    )
    if done.returncode != 0:
        msg = f"importing {added}: exit {done.returncode}\n{done.stderr[-2000:]}"
        raise CaseFailed(msg)
    return float(done.stdout.split()[-1])
