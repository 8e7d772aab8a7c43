"""How fast this machine is right now, and what a command costs on it.

A shared machine drifts by a factor of two even when idle, so each measurement stands between two
runs of a fixed loop of pure Python. ``k`` is how much slower that loop ran than at its fastest in
this run of the harness (1.0 = the fastest). Linux only: it waits on a process descriptor.
"""

import json
import os
import select
import statistics
import subprocess
import sys
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

ROOT = Path(__file__).resolve().parents[2]
QUIET = 1.3  # a k up to this counts as a quiet machine

_LOOP = """
import json, time
def burn():
    seen, total = {}, 0
    for i in range(200_000):
        total = (total * 31 + i) % 1_000_003
        seen[total & 1023] = i
    return total
walls, cpus = [], []
for _ in range(5):
    wall, cpu = time.perf_counter(), time.process_time()
    burn()
    walls.append(time.perf_counter() - wall)
    cpus.append(time.process_time() - cpu)
print(json.dumps([sorted(walls)[2], sorted(cpus)[2]]))
"""


class Speed(NamedTuple):
    """Seconds that the fixed loop took: by the clock, and of CPU time."""

    wall: float
    cpu: float


def speed_now(python: str = sys.executable) -> Speed:
    """Time the loop, on two cores at once where there are two: the cases use two processes."""
    command = [python, "-I", "-c", _LOOP]
    loops = [
        subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
        for _ in range(min(2, os.cpu_count() or 1))
    ]
    readings = [json.loads(loop.communicate()[0]) for loop in loops]
    return Speed(*(statistics.fmean(column) for column in zip(*readings, strict=True)))


class Calibration:
    """The speeds seen so far; the fastest is the measure of the others."""

    def __init__(self) -> None:
        self.speeds: list[Speed] = []

    def read(self) -> int:
        """Time the loop now; the reading's number."""
        self.speeds.append(speed_now())
        return len(self.speeds) - 1

    def k(self, first: int, last: int) -> Speed:
        """The slowdown between two readings, inclusive: of the clock, and of CPU time."""
        between = self.speeds[first : last + 1]
        return Speed(
            statistics.fmean(s.wall for s in between) / min(s.wall for s in self.speeds),
            statistics.fmean(s.cpu for s in between) / min(s.cpu for s in self.speeds),
        )


@dataclass(frozen=True, slots=True)
class Measured:
    """What one command cost.

    Attributes:
        wall: Seconds from its start until it was gone.
        cpu: User and system seconds, of itself and the children that it waited for.
        rss: The peak of the largest of these processes, in MB of 10**6 bytes.
        status: Exit status; negative for a signal; None when it ran past the limit.
        output: The end of its standard output and error.
        started: When it was started, on the monotonic clock.
    """

    wall: float
    cpu: float
    rss: float
    status: int | None
    output: str
    started: float


class Running:
    """A command that runs, its output going to a file."""

    def __init__(
        self, command: Sequence[str], log: Path, env: Mapping[str, str], cwd: Path
    ) -> None:
        self.log = log
        self.started = time.monotonic()
        with log.open("wb") as out:
            self.process = subprocess.Popen(
                command, stdout=out, stderr=subprocess.STDOUT, stdin=subprocess.DEVNULL,
                env={**os.environ, **env}, cwd=cwd,
            )  # fmt: skip

    def wait(self, limit: float) -> Measured:
        """Wait until it is gone; kill it after ``limit`` seconds."""
        descriptor = os.pidfd_open(self.process.pid)
        try:
            in_time = bool(select.select([descriptor], [], [], limit)[0])
        finally:
            os.close(descriptor)
        wall = time.monotonic() - self.started
        if not in_time:
            self.process.kill()
        _, status, usage = os.wait4(self.process.pid, 0)
        code = os.waitstatus_to_exitcode(status)
        self.process.returncode = code  # or Popen complains that nobody waited
        tail = self.log.read_bytes()[-4000:].decode("utf-8", "replace")
        return Measured(
            wall=wall,
            cpu=usage.ru_utime + usage.ru_stime,
            rss=usage.ru_maxrss * 1024 / 1e6,
            status=code if in_time else None,
            output=tail,
            started=self.started,
        )


def measure(
    command: Sequence[str],
    log: Path,
    *,
    env: Mapping[str, str] | None = None,
    cwd: Path = ROOT,
    limit: float = 600.0,
) -> Measured:
    """Run a command to its end."""
    return Running(command, log, env or {}, cwd).wait(limit)
