"""The case about ``nel gate``: many benchmarks, many rows, two runs."""

import json
import random
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pytest_nel.records.record import dumps
from tests.perf.bench import Bench, median
from tests.perf.figures import Figure
from tests.perf.machine import ROOT, Measured, measure
from tests.perf.plugin_run import CaseFailed
from tests.support.stored import FINGERPRINT

_PROCESSES = 5  # at most: four and the one that asks
_CHOICES = "\n".join(f"{letter}. a choice that reads like the others" for letter in "ABCD")


def gate(bench: Bench) -> Iterator[Figure]:
    """A whole ``nel gate`` over 100 benchmarks of 14,000 rows a side."""
    benchmarks, rows = bench.size(100, 3), bench.size(14_000, 1000)
    costs: list[Measured] = []
    with tempfile.TemporaryDirectory(prefix="nelspeed-") as folder:
        place = Path(folder)
        size = write_runs(place, benchmarks, rows)
        (wall, cpu), span = _measured(bench, place, benchmarks, costs)
    note = f"{benchmarks} x {rows:,} rows a side, {size:,} B each"
    yield Figure("nel gate", wall, "s", target=20.0, span=span, note=note)
    yield Figure("nel gate, CPU of all processes", cpu, "s", adjust="cpu", span=span)
    yield Figure(
        "nel gate, memory of all processes",
        _PROCESSES * max(cost.rss for cost in costs),
        "MB",
        target=1000,
        span=span,
        note=f"five times {max(cost.rss for cost in costs):.0f} MB, the most of one",
    )


def _measured(
    bench: Bench, place: Path, benchmarks: int, costs: list[Measured]
) -> tuple[tuple[float, float], tuple[int, int]]:
    command = [bench.python, "-m", "pytest_nel.cli.main", "gate", "base", "cand", "-p", "p.yaml"]

    def run() -> float:
        cost = measure(command, place / "log", env={"PYTHONPATH": str(ROOT)}, cwd=place)
        if cost.status != 0 or f"All {benchmarks} gated" not in (place / "log").read_text():
            msg = f"nel gate: exit {cost.status}\n{cost.output[-2000:]}"
            raise CaseFailed(msg)
        costs.append(cost)
        return cost.wall

    (walls,), span = bench.interleaved(run)
    return (median(walls), median([cost.cpu for cost in costs])), span


def write_runs(place: Path, benchmarks: int, rows: int) -> int:
    """Write ``base``, ``cand`` and ``p.yaml``; the bytes of a row.

    The benchmarks of a side have the same rows, so that writing them is quick; reading is not.
    """
    policy = "version: 1\ndefaults: {metric: mean_reward, max_drop: 0.03}\n"
    (place / "p.yaml").write_text(policy, encoding="utf-8")
    content = b""
    for side in ("base", "cand"):
        content = _results(rows, random.Random(side))
        for at in range(benchmarks):
            folder = place / side / f"bench_{at:03}"
            folder.mkdir(parents=True)
            (folder / "results.jsonl").write_bytes(content)
            bundle = _bundle(folder.name, rows, content.count(b'"reward":1'))
            (folder / "eval-20260101T000000Z-b.json").write_text(bundle, encoding="utf-8")
    return len(content) // rows


def _results(rows: int, chance: random.Random) -> bytes:
    return "".join(f"{dumps(_row(at, chance))}\n" for at in range(rows)).encode()


def _row(at: int, chance: random.Random) -> dict[str, object]:
    """As long as a row of a multiple-choice benchmark with a short explanation."""
    right = chance.random() < 0.7
    answer = chance.choice("ABCD")
    return {
        "problem_idx": at,
        "repeat": 0,
        "problem_id": f"test/{at}",
        "outcome": "correct" if right else "wrong",
        "reward": float(right),
        "scorer_rewards": {},
        "prompt": f"Question {at}: which of these?\n{_CHOICES}",
        "model_response": f'It says "{at}", so\nit must be the one that is left.\nAnswer: {answer}',
        "extracted_answer": answer,
        "expected_answer": answer if right else "A",
        "scoring_details": {"method": "choice", "rule": "answer line"},
        "metadata": {"category": chance.choice(["law", "history", "physics"]), "source": "test"},
        "tokens": chance.randrange(80, 400),
        "latency_ms": round(chance.uniform(200, 4000), 3),
        "finish_reason": "stop",
    }


def _bundle(name: str, rows: int, right: int) -> str:
    counts = ("n_results", "n_planned", "n_total", "n_attempted", "n_scored")
    scores = {"mean_reward": {"value": right / rows}}
    about = {"name": name, "samples": rows, "repeats": 1, "scores": scores}
    return json.dumps(
        {"benchmark": about, "fingerprint": dict(FINGERPRINT), **dict.fromkeys(counts, rows)}
    )
