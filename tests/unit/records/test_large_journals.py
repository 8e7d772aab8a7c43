"""Journals that are large: a record of 70 MB, and many attempts in little memory."""

import json
import subprocess
import sys
from pathlib import Path
from typing import Any

from pytest_nel.core.types import AttemptKey
from pytest_nel.records.files import derive
from pytest_nel.records.index import index_journals
from pytest_nel.records.journal import JournalWriter
from pytest_nel.records.plans import write_plan
from pytest_nel.records.record import Scored, Solved

ROOT = Path(__file__).parents[3]
LOOP = ROOT / "tests" / "perf" / "journal_loop.py"
RUN = {"run_id": "r", "timestamp": "2026-01-01T00:00:00Z", "complete": True}


def loop(*arguments: str) -> Any:
    command = [sys.executable, str(LOOP), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, cwd=ROOT)
    return json.loads(done.stdout or "{}")


def test_a_record_of_70_megabytes_is_read_and_derived(tmp_path: Path) -> None:
    steps = [{"tool": "é" * 1_000_000} for _ in range(35)]
    writer = JournalWriter(tmp_path / "journal" / "main.jsonl", {})
    for idx in range(2):
        key = AttemptKey("b", idx, 0)
        writer.started(key)
        writer.solved(Solved(key, str(idx), response="7", trajectory=steps if idx == 0 else ()))
        writer.scored(key, Scored("correct", 1.0))
    writer.close()
    write_plan(
        tmp_path,
        {"benchmark": "b", "problems": [0, 1], "repeats": 1, "config": {}, "fingerprint": {}},
    )

    index = index_journals(tmp_path / "journal")
    made = derive(tmp_path, RUN)

    known = index.known(0, 0)
    assert known is not None
    assert known.answer is not None
    assert known.answer.place.length > 64 << 20
    assert (index.problems, made.problems) == ([], [])
    assert made.bundle["n_scored"] == 2
    with (tmp_path / "trajectories.jsonl").open(encoding="utf-8") as file:
        assert json.loads(file.readline())["trajectory"] == steps


def test_memory_grows_with_attempts_and_not_with_their_answers(tmp_path: Path) -> None:
    count = 20_000
    for name, chars in (("short", "70"), ("long", "3500")):
        loop("fill", str(tmp_path / name), str(count), "--chars", chars)

    scans = {name: loop("scan", str(tmp_path / name)) for name in ("short", "long")}
    derived = {name: loop("derive", str(tmp_path / name)) for name in ("short", "long")}

    for found, most in ((scans, 500), (derived, 1500)):
        assert {one["attempts"] for one in found.values()} == {count}
        assert found["long"]["grown_mb"] * 1e6 / count < most
        assert found["long"]["grown_mb"] < found["short"]["grown_mb"] + 8
