"""What journals cost by themselves, in a process of its own.

``python tests/perf/journal_loop.py fill DIR 100000 --chars 1500`` writes a finished benchmark of
that many attempts; ``scan DIR``, ``derive DIR`` and ``write DIR 20000`` print what they took as
JSON: seconds, and the growth of the process's peak memory in MB of 10**6 bytes.
"""

import argparse
import json
import sys
import time
import zlib
from collections.abc import Callable
from pathlib import Path
from tempfile import TemporaryDirectory

if not __package__:  # run as a script: only this folder is on the path
    sys.path.insert(0, str(Path(__file__).resolve().parents[2]))

from pytest_nel.core.types import AttemptKey, SeedResult
from pytest_nel.engine.identity import Identity
from pytest_nel.records.files import derive
from pytest_nel.records.index import index_journals
from pytest_nel.records.journal import JournalWriter
from pytest_nel.records.plans import write_plan
from pytest_nel.records.record import Scored, Solved
from tests.perf.probe import peak_mb

_MARK = 7_777_777  # stands for the number of the problem in the lines that all others copy
_SEAL = len(',"crc":"00000000"}\n')
RUN = {"run_id": "r", "timestamp": "2026-01-01T00:00:00Z", "complete": True}


def records(number: int, chars: int) -> tuple[Solved, Scored]:
    """A finished attempt as a benchmark of questions leaves it."""
    model = {
        "model": "m",
        "finish_reason": "stop",
        "prompt_tokens": 150,
        "completion_tokens": chars // 4,
        "total_tokens": 150 + chars // 4,
        "latency_ms": 1234.56,
        "requests": 1,
    }
    solved = Solved(
        AttemptKey("perf", number, 0),
        str(number),
        "0" * 32,
        prompt="What is the sum of these numbers? " * 4,
        expected="1234",
        metadata={"id": "q000000"},
        response="a word " * (chars // 7),
        model=model,
        sampling={"temperature": 0.0},
        started=1_700_000_000.0,
        solve_ms=1234.0,
    )
    return solved, Scored("correct", 1.0, "1234", {"method": "perf"}, {}, score_key="0" * 32)


def fill(directory: Path, count: int, chars: int) -> None:
    """Write plan and journal; one attempt by the real writer, the others copied from it."""
    problems = list(range(count))
    write_plan(directory, {"benchmark": "perf", "problems": problems, "repeats": 1, "config": {},
                           "fingerprint": {}})  # fmt: skip
    with TemporaryDirectory() as folder:
        writer = JournalWriter(Path(folder) / "one.jsonl", {})
        solved, scored = records(_MARK, chars)
        writer.started(solved.key)
        writer.solved(solved)
        writer.scored(solved.key, scored)
        writer.close()
        lines = writer.path.read_bytes().splitlines(keepends=True)[1:]
    parts = [line[:-_SEAL].split(b":%d," % _MARK) for line in lines]
    path = directory / "journal" / "main.jsonl"
    path.parent.mkdir(parents=True)
    with path.open("wb", buffering=1 << 20) as file:
        for number in problems:
            for part in parts:
                line = (b":%d," % number).join(part)
                file.write(b'%b,"crc":"%08x"}\n' % (line, zlib.crc32(line)))


def write(directory: Path, count: int, chars: int) -> None:
    """What a run adds for the journal's sake: keys and lines, nothing else."""
    facts = {"model": "m", "solver.type": "simple", "sampling.temperature": 0.0}
    identity = Identity(facts, {"scorer": "perf"}, reads_row=False)
    writer = JournalWriter(directory / "main.jsonl", {})
    made = [records(number, chars) for number in range(min(count, 1000))]
    began = time.process_time()
    for number in range(count):
        solved, scored = made[number % len(made)]
        seed = SeedResult(solved.prompt, solved.expected, solved.metadata)
        writer.started(solved.key)
        solved.solve_key = identity.solve_key(seed, 0)
        writer.solved(solved)
        identity.score_key(solved.solve_key, solved.expected, solved.metadata)
        writer.scored(solved.key, scored)
    _say(began, time.process_time, 0.0)
    writer.close()


def scan(directory: Path) -> None:
    """Index the journals."""
    before, began = peak_mb(), time.perf_counter()
    index = index_journals(directory / "journal")
    _say(began, time.perf_counter, before, attempts=len(index), problems=len(index.problems))


def derived(directory: Path) -> None:
    """Make all files of the benchmark's directory."""
    before, began = peak_mb(), time.perf_counter()
    made = derive(directory, RUN)
    found = {"attempts": made.bundle["n_attempted"], "problems": len(made.problems)}
    _say(began, time.perf_counter, before, **found)


def _say(began: float, clock: Callable[[], float], before: float, **facts: int) -> None:
    print(json.dumps({"seconds": clock() - began, "grown_mb": peak_mb() - before, **facts}))


def main(argv: list[str] | None = None) -> None:
    """Do one of the four."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("what", choices=["fill", "write", "scan", "derive"])
    parser.add_argument("directory", type=Path)
    parser.add_argument("count", type=int, nargs="?", default=0)
    parser.add_argument("--chars", type=int, default=1500, help="Characters of an answer")
    arguments = parser.parse_args(argv)
    if arguments.what == "fill":
        fill(arguments.directory, arguments.count, arguments.chars)
    elif arguments.what == "write":
        write(arguments.directory, arguments.count, arguments.chars)
    else:
        {"scan": scan, "derive": derived}[arguments.what](arguments.directory)


if __name__ == "__main__":
    main()
