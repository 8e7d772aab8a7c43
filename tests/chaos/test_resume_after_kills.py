"""Never lose, never pay twice: a run that is killed again and again ends as if nothing had been.

``--chaos-rounds N`` repeats the tests with N seeds more.
"""

import os
import random
import signal
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import pytest

from tests.chaos.accounts import Kill, check_accounts, journals, results, scores
from tests.plugin.truth import bench, command, environment, run
from tests.support.endpoint import RunningEndpoint, running_endpoint
from tests.support.processes import alive, command_lines, heeding_ctrl_c, until

PROBLEMS, REPEATS, AT_ONCE = 250, 2, 16
FAULTS = {"rate_429": 0.05, "rate_500": 0.02, "rate_reset": 0.02, "rate_hang": 0.01}
MODEL = """
def answer(request, nth):
    number = int(request["messages"][0]["content"].partition(":")[0])
    return str(number % 7) if number % 3 else ["", "no idea", "7"][number % 4 % 3]
"""
SUITE = f"""
services:
  model:
    type: api
    url: "%s/chat/completions"
    protocol: chat_completions
    model: m
    timeout: 1
benchmarks:
  - name: bench_truth.py
    repeats: {REPEATS}
    max_concurrent: {AT_ONCE}
    solver: {{type: simple, service: model}}
"""
LINE = ["my.nel.yaml", "--nel-output-dir", "run", "--nel-resume"]
Send = Callable[[int, int], None]


class Blow(NamedTuple):
    """A signal, and to whom: os.kill to pytest alone, os.killpg to all its processes."""

    number: signal.Signals
    send: Send


KILL, TERM, INT = signal.SIGKILL, signal.SIGTERM, signal.SIGINT
SERIAL = [Blow(number, os.kill) for number in (KILL, TERM, INT)]
WORKERS = [Blow(KILL, os.kill), Blow(TERM, os.killpg), Blow(KILL, os.killpg), Blow(INT, os.killpg),
           Blow(TERM, os.kill)]  # fmt: skip


def blows(kinds: list[Blow], count: int, draw: random.Random) -> list[Blow]:
    """So many, each kind as often as the others, in random order."""
    chosen = [kinds[number % len(kinds)] for number in range(count)]
    draw.shuffle(chosen)
    return chosen


@contextmanager
def endpoint_for(folder: Path, **faults: float) -> Iterator[RunningEndpoint]:
    """Answers that depend on the prompt alone, a log, and a suite that asks for them."""
    folder.mkdir()
    script, log = folder / "model.py", folder / "log.jsonl"
    script.write_text(MODEL)
    bench(folder, PROBLEMS)
    with running_endpoint(
        script=str(script), log=str(log), latency=0.06, retry_after="0.2", **faults
    ) as endpoint:
        (folder / "my.nel.yaml").write_text(SUITE % endpoint.url)
        yield endpoint


@pytest.fixture(scope="module")
def calm(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The benchmark's directory of a run that nothing disturbed."""
    folder = tmp_path_factory.mktemp("calm") / "here"
    with endpoint_for(folder):
        done = run(folder, *LINE)
    assert done.returncode == 0, done.stdout + done.stderr
    return folder / "run" / "truth"


@pytest.fixture(autouse=True)
def heeded() -> Iterator[None]:
    """Whoever runs the tests may run them in the background."""
    with heeding_ctrl_c():
        yield


@contextmanager
def under_way(folder: Path, *options: str) -> Iterator["subprocess.Popen[bytes]"]:
    """A run in a session of its own; nothing of it is left behind."""
    with (folder / "output.log").open("ab") as output:
        process = subprocess.Popen(
            command(*LINE, *options),
            cwd=folder,
            env=environment(),
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        yield process
    finally:
        if process.poll() is None:
            os.killpg(process.pid, KILL)
            process.wait()


def strike(
    folder: Path, endpoint: RunningEndpoint, blow: Blow, draw: random.Random, options: list[str]
) -> Kill:
    """Start or resume the run and end it at a random moment.

    One of four dies while it starts, the others after some answers more; so every one is hit,
    however fast the machine.
    """
    before = endpoint.stats()["ok"]
    wanted, early = draw.randint(1, 40), draw.random() < 0.25
    with under_way(folder, *options) as process:
        if early:
            time.sleep(draw.uniform(0.0, 0.8))
        else:
            assert until(lambda: endpoint.stats()["ok"] >= before + wanted)
            time.sleep(draw.uniform(0.0, 0.05))
        assert process.poll() is None, "it ended before the blow"
        sent = time.monotonic()
        blow.send(process.pid, blow.number)
        code = process.wait(20)
        assert until(lambda: not _group(process.pid), 20), "processes were left behind"
    wanted_codes = {-blow.number, {TERM: 7, INT: 2}.get(blow.number)}
    assert code in wanted_codes or (early and blow.number == INT and code == 1), code
    return Kill(sent, time.monotonic())


def _group(leader: int) -> list[int]:
    """The processes of a session that are still there."""
    return [pid for pid in command_lines() if alive(pid) and _session(pid) == leader]


def _session(pid: int) -> int:
    try:
        return os.getsid(pid)
    except ProcessLookupError:
        return -1


def chaos(folder: Path, calm: Path, struck: list[Blow], draw: random.Random, *workers: str) -> int:
    """Strike so often, let it end, hold it to the undisturbed run; answers paid for twice."""
    with endpoint_for(folder, seed=draw.randint(0, 9999), **FAULTS) as endpoint:
        kills = [strike(folder, endpoint, blow, draw, [*workers]) for blow in struck]
        done = run(folder, *LINE, *workers)
        statuses = endpoint.stats()["statuses"]

    truth = folder / "run" / "truth"
    assert done.returncode == 0, done.stdout + done.stderr
    assert results(truth) == results(calm)
    assert scores(truth) == scores(calm)
    assert set(journals(truth).scored) == set(results(calm))
    assert {"200", "429", "500", "reset", "abandoned"} <= set(statuses)
    assert "INTERNALERROR" not in (folder / "output.log").read_text("utf-8", "replace")
    return check_accounts(folder / "log.jsonl", truth, kills, repeats=REPEATS, at_once=AT_ONCE)


def test_ten_kills_lose_nothing_and_pay_for_nothing_twice(
    tmp_path: Path, calm: Path, chaos_seed: int
) -> None:
    draw = random.Random(chaos_seed)

    surplus = chaos(tmp_path / "here", calm, blows(SERIAL, 10, draw), draw)

    assert surplus <= 10 * AT_ONCE


def test_kills_of_a_distributed_run_lose_nothing_either(
    tmp_path: Path, calm: Path, chaos_seed: int
) -> None:
    draw = random.Random(chaos_seed + 1)

    surplus = chaos(tmp_path / "here", calm, blows(WORKERS, 5, draw), draw, "-n2")

    assert surplus <= 5 * AT_ONCE
