"""Benchmarks whose solver or scorer kills the process that runs it, and what is left of them."""

import json
import os
import signal
import subprocess
import time
from collections import Counter
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from tests.plugin.running import Ended, Nel, sums

XDIST = ("-p", "xdist")
CONFTEST = '''"""Repeats the prompt, slowly; dies of some problems."""

import asyncio
import ctypes
import json
import os
import signal
from pathlib import Path

import pytest

from pytest_nel import SolveResult

DELAY = {delay!r}
ASKED = Path(__file__).with_name("asked.txt")
POISON = Path(__file__).with_name("poison.json")  # a file, so that the solver stays the same


def die(how):
    if how == "kill":
        os.kill(os.getpid(), signal.SIGKILL)
    if how == "exit":
        os._exit(3)
    if how == "segfault":
        ctypes.string_at(0)


class Solver:
    async def solve(self, seed, sandbox):
        key = seed.attempt
        with ASKED.open("a") as file:
            file.write(f"{{key.problem_idx}} {{key.repeat}}\\n")
        await asyncio.sleep(DELAY.get(key.problem_idx % 2, DELAY[0]))
        die(json.loads(POISON.read_text()).get(f"{{key.problem_idx}}-{{key.repeat}}"))
        return SolveResult(response=seed.prompt)


@pytest.fixture(scope="session")
def nel_solver():
    return Solver()
'''
SCORER = '    if sample.response == "crash":'
DEADLY_SCORER = f"""    if sample.target in {{targets!r}}:
        import os
        os.kill(os.getpid(), 9)
{SCORER}"""


def deadly_solver(
    nel: Nel,
    problems: int,
    poison: Mapping[tuple[int, int], str] | None = None,
    *,
    delay: float = 0.02,
    of_odd: float | None = None,
) -> None:
    """Write a benchmark that a solver answers; it dies of the attempts in ``poison``.

    Args:
        nel: Where.
        problems: How many.
        poison: (problem, repeat) → how it dies: kill, exit or segfault.
        delay: Seconds that an answer takes.
        of_odd: The same for problems with an odd index, where that differs.
    """
    nel.bench(sums(problems))
    delays = {0: delay, 1: delay if of_odd is None else of_odd}
    deaths = {f"{idx}-{repeat}": how for (idx, repeat), how in (poison or {}).items()}
    nel.write("poison.json", json.dumps(deaths))
    nel.write("conftest.py", CONFTEST.format(delay=delays))


def deadly_scorer(nel: Nel, problems: int, *targets: str) -> None:
    """Write a benchmark whose scorer dies of answers to problems with these targets."""
    nel.untested()
    bench = nel.bench(sums(problems))
    text = bench.read_text(encoding="utf-8")
    bench.write_text(text.replace(SCORER, DEADLY_SCORER.format(targets=targets)), encoding="utf-8")


def asked(nel: Nel) -> Counter[tuple[int, int]]:
    """How often the solver was asked for each attempt."""
    lines = (nel.folder / "asked.txt").read_text(encoding="utf-8").splitlines()
    return Counter((int(idx), int(repeat)) for idx, repeat in (line.split() for line in lines))


def unscored(ended: Ended) -> dict[tuple[int, int], str]:
    """(problem, repeat) → error of the attempts without a score."""
    return {
        (row["problem_idx"], row["repeat"]): row["error"]
        for row in ended.results()
        if row["outcome"] == "unscored"
    }


def failures(ended: Ended) -> list[str]:
    """The names of the failed test cases of the JUnit file that stand for attempts."""
    cases = ended.junit().findall("testcase")
    bad = [case for case in cases if case.find("failure") is not None]
    return [str(case.get("name")) for case in bad if "health" not in str(case.get("name"))]


def lines(nel: Nel, kind: str) -> list[dict[str, Any]]:
    """The lines of one kind in all journals of the only run, as far as they are whole."""
    return [
        json.loads(line) | {"file": path.name}
        for path in nel.folder.glob("eval_results/*/sums/journal/*.jsonl")
        for line in path.read_text(encoding="utf-8").split("\n")
        if line.endswith("}") and f'"_type":"{kind}"' in line
    ]


def worker_pids(process: "subprocess.Popen[str]") -> list[int]:
    """Process ids of a run's workers, in the order in which they were started."""
    children = Path(f"/proc/{process.pid}/task/{process.pid}/children")
    return sorted(int(pid) for pid in children.read_text(encoding="ascii").split())


def wait_until(true: Callable[[], bool], timeout: float = 20.0) -> None:
    """Return as soon as it is true."""
    end = time.monotonic() + timeout
    while not true():
        if time.monotonic() > end:
            msg = f"not true within {timeout} s"
            raise TimeoutError(msg)
        time.sleep(0.02)


def kill_worker(process: "subprocess.Popen[str]", which: int = 0) -> None:
    """Kill one of a run's workers, counted in the order in which they were started."""
    os.kill(worker_pids(process)[which], signal.SIGKILL)


def ended_of(nel: Nel, process: "subprocess.Popen[str]", timeout: float = 30.0) -> Ended:
    """Wait for a run that was started."""
    out, _ = process.communicate(timeout=timeout)
    return Ended(process.returncode, out, "", nel.folder)
