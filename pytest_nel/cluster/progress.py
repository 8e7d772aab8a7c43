"""How far a run has come, read from its journals while it may still write them."""

import json
import math
from collections import Counter
from pathlib import Path
from typing import NamedTuple

from pytest_nel.core.types import JsonObject
from pytest_nel.records.gated import CHECKS
from pytest_nel.records.index import index_journals
from pytest_nel.records.plans import planned, read_plan


class BenchmarkProgress(NamedTuple):
    """Counts of one benchmark of a run.

    Attributes:
        name: The benchmark.
        expected: Attempts that are planned.
        scored: Those that have a reward.
        unscored: Those that were made and have none.
        score: Mean reward of the scored ones so far; None before the first.
    """

    name: str
    expected: int
    scored: int
    unscored: int
    score: float | None


class Ended(NamedTuple):
    """What checks.json says.

    Attributes:
        exit_code: The run's.
        verdict: Of its gate; None where it had none.
        open: Reasons of the checks that did not pass.
    """

    exit_code: int
    verdict: str | None
    open: list[str]


def progress(run_dir: Path) -> list[BenchmarkProgress]:
    """Each planned benchmark, in name order.

    Raises:
        ConfigError: A plan is damaged.
        OSError: A journal cannot be read.
    """
    return [_of(directory) for directory in planned(run_dir)]


def _of(directory: Path) -> BenchmarkProgress:
    plan = read_plan(directory)
    index = index_journals(directory / "journal")
    outcomes: Counter[bool] = Counter()
    rewards: list[float] = []
    with index.reading() as read:
        for idx in plan["problems"]:
            for repeat in range(plan["repeats"]):
                known = index.known(idx, repeat)
                if known is None or known.judgement is None:
                    continue
                outcomes[known.outcome != "unscored"] += 1
                if known.outcome != "unscored":
                    rewards.append(float(read(known.judgement).get("reward") or 0.0))
    score = math.fsum(rewards) / len(rewards) if rewards else None
    expected = len(plan["problems"]) * plan["repeats"]
    return BenchmarkProgress(plan["benchmark"], expected, outcomes[True], outcomes[False], score)


def ended(run_dir: Path) -> Ended | None:
    """The decisions of a run that is over; None where there are none that can be read."""
    try:
        found: JsonObject = json.loads((run_dir / CHECKS).read_text(encoding="utf-8"))
        code = int(found["exit_code"])
        reasons = [
            f"{check['id']}: {check['reason']}"
            for check in found["checks"]
            if check["status"] != "passed"
        ]
        gate = found.get("gate")
        verdict = None if gate is None else str(gate["verdict"])
    except (OSError, ValueError, KeyError, TypeError):
        return None
    return Ended(code, verdict, reasons)
