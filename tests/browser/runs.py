"""Run directories as runs leave them, with answers of a length and a look that models have."""

import json
import random
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from pytest_nel.core.types import AttemptKey, Outcome
from pytest_nel.records.conclude import rebuild
from pytest_nel.records.record import Scored, Solved
from tests.unit.records.parts_of_runs import FINGERPRINT, Whole

TOPICS = ("algebra", "geometry", "counting", "rates")
_NAMES = ("Ada", "Ben", "Chi", "Dana", "Emre", "Fay", "Goro", "Hana")
_THINGS = ("apples", "tickets", "metres of rope", "pages", "litres of paint", "stamps")
_FILLER = (
    "First I look at what is given and write it down.",
    "Then I check that the units agree before adding anything.",
    "It helps to name the unknown and to set up an equation.",
    "Substituting the value back gives the same number, so it is consistent.",
    "A quick estimate shows that the order of magnitude is right.",
)


@dataclass(frozen=True)
class Kind:
    """What a run is like.

    Attributes:
        size: Problems.
        repeats: Of each problem.
        skill: Share of right answers.
        seed: Of everything random.
        unscored: Share of attempts whose machinery failed.
        chars: About how long a response is.
    """

    size: int = 60
    repeats: int = 1
    skill: float = 0.7
    seed: int = 1
    unscored: float = 0.0
    chars: int = 700
    name: str = "word_problems"
    model: str = "qwen-7b-bf16"


def write_run(
    directory: Path,
    *kinds: Kind,
    change: Callable[[Solved, Scored], tuple[Solved, Scored]] = lambda *both: both,
) -> Path:
    """A finished run with one benchmark of each kind.

    Args:
        directory: The run's.
        kinds: Its benchmarks, of different names.
        change: What becomes of each record before it is written.
    """
    for kind in kinds:
        facts: Mapping[str, Any] = FINGERPRINT | {"model": kind.model, "dataset_size": kind.size}
        whole = Whole(kind.size, kind.repeats, name=kind.name, facts=facts)
        records = {key: change(*_record(kind, key)) for key in whole.attempts()}
        whole.part(directory, records)
    rebuild(directory)
    return directory


def hostile_run(directory: Path, evil: str) -> Path:
    """A run in which every text that comes from others is ``evil``."""

    def change(solved: Solved, scored: Scored) -> tuple[Solved, Scored]:
        solved.prompt = solved.expected = solved.response = solved.reasoning = evil
        solved.problem_id, solved.metadata = evil, {"category": evil}
        solved.error = solved.failure and evil
        why = scored.failure and evil
        return solved, replace(scored, extracted=evil, details={"method": evil}, error=why)

    write_run(directory, Kind(12, repeats=2, unscored=0.2), change=change)
    (path,) = directory.glob("*/eval-*.json")
    bundle = json.loads(path.read_text())
    bundle["benchmark"]["name"] = bundle["run_id"] = evil
    bundle["fingerprint"] |= {"models": [evil], "scorer": evil, "dataset": evil}
    path.write_text(json.dumps(bundle))
    checks = directory / "checks.json"
    content = {"checks": [{"id": evil, "status": evil, "reason": evil, "tier": evil}]}
    checks.write_text(json.dumps(content))
    return directory


def _record(kind: Kind, attempt: tuple[int, int]) -> tuple[Solved, Scored]:
    problem, repeat = attempt
    asked = random.Random(problem)  # the same for every run
    draws = random.Random(f"{kind.seed}/{problem}/{repeat}")
    left, right = asked.randint(2, 60), asked.randint(2, 60)
    who, thing = asked.choice(_NAMES), asked.choice(_THINGS)
    gold = str(left * right)
    prompt = (
        f"{who} buys {left} boxes, each of which holds {right} {thing}. How many {thing} are "
        "there in all? Think step by step, then end with a line 'Answer: N'."
    )
    outcome = _outcome(kind, draws, asked.random())
    said = gold if outcome == "correct" else str(left * right + draws.choice([-10, 1, right]))
    response = _response(draws, kind.chars, None if outcome == "unparsed" else said)
    failure = "server_error" if outcome == "unscored" else None
    error = "HTTP 503: upstream connect error or disconnect before headers" if failure else None
    solved = Solved(
        AttemptKey(kind.name, *attempt),
        f"{problem:05x}-{asked.randint(0, 16**6):06x}",
        prompt=prompt,
        expected=gold,
        metadata={"category": TOPICS[problem % len(TOPICS)], "source": "made up"},
        response="" if failure else response,
        model=None if failure else _model(kind, draws, response, outcome),
        failure=failure,
        error=error,
        started=1000.0 + problem / 50,
        solve_ms=900.0,
    )
    found = said if outcome in {"correct", "wrong"} else None
    details = {"method": "answer_line", "rule": "last_line"} if not failure else {}
    reward = None if failure else float(outcome == "correct")
    scored = Scored(outcome, reward, extracted=found, details=details, failure=failure, error=error)
    return solved, scored


def _outcome(kind: Kind, draws: random.Random, hard: float) -> Outcome:
    if draws.random() < kind.unscored:
        return "unscored"
    if 0.6 * hard + 0.4 * draws.random() < kind.skill:  # repeats of a problem are alike
        return "correct"
    return "unparsed" if draws.random() < 0.2 else "wrong"


def _response(draws: random.Random, chars: int, said: str | None) -> str:
    lines: list[str] = []
    while sum(map(len, lines)) < chars:
        one, two = draws.random() * 900, draws.random() * 90  # as hard to compress as prose
        sum_up = f"{one:.4f} * {two:.4f} = {one * two:.6f}, or {one / two:.7f} for the ratio"
        lines.append(f"Step {len(lines) + 1}. {draws.choice(_FILLER)} So {sum_up}.")
    lines.append("I am not certain about this one." if said is None else f"Answer: {said}")
    return "\n".join(lines)


def _model(kind: Kind, draws: random.Random, response: str, outcome: str) -> dict[str, Any]:
    tokens = len(response) // 4
    return {
        "model": kind.model,
        "latency_ms": round(draws.lognormvariate(7, 0.5), 1),
        "finish_reason": "length" if outcome == "unparsed" else "stop",
        "prompt_tokens": 60,
        "completion_tokens": tokens,
        "total_tokens": 60 + tokens,
        "requests": 1,
    }
