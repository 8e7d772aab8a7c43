"""Run directories as runs leave them, made without running anything."""

import random
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.types import AttemptKey, JsonObject, Outcome
from pytest_nel.engine.plan import make_plan
from pytest_nel.records.journal import JournalWriter, journal_name
from pytest_nel.records.plans import write_plan
from pytest_nel.records.record import Scored, Solved
from pytest_nel.records.rundir import RunFacts

FINGERPRINT: JsonObject = {
    "dataset": "rows",
    "rows_hash": "sha256:1",
    "prompts": "sha256:2",
    "scorer": "b.py:s",
    "solver": "sha256:3",
    "model": "m",
    "answering": {"model": "m", "sampling.temperature": 0},
    "versions": {"pytest-nel": "0", "python": "3.11.0"},
}


class Named(EvalEnvironment):
    """Only its name is wanted."""

    def __init__(self, name: str) -> None:
        self.name = name


@dataclass(frozen=True)
class Whole:
    """What a run measures; parts of it are made by :meth:`part`."""

    size: int = 6
    repeats: int = 1
    max_problems: int | None = None
    seed: int | None = 42
    name: str = "b"
    targets: tuple[str, ...] = ("b.py",)
    timeout: float = 60.0
    facts: Mapping[str, Any] = field(default_factory=lambda: FINGERPRINT)

    def plan(self, shard: tuple[int, int] | None = None) -> JsonObject:
        """The object of plan.json."""
        config = BenchmarkConfig(
            name=self.name,
            solver=PluginSpec(type="custom"),
            repeats=self.repeats,
            max_problems=self.max_problems,
            shuffle_seed=self.seed,
            timeout=self.timeout,
        )
        facts = dict(self.facts)
        made = make_plan(config, Named(self.name), self.size, shard=shard, facts=facts)
        return made.as_json() | {"suite": "b.py", "turn": 1}

    def attempts(self, shard: tuple[int, int] | None = None) -> list[tuple[int, int]]:
        """(problem, repeat), in the order of the plan."""
        problems = self.plan(shard)["problems"]
        return [(problem, repeat) for problem in problems for repeat in range(self.repeats)]

    def part(
        self,
        directory: Path,
        records: Mapping[tuple[int, int], tuple[Solved, Scored]] | None = None,
        *,
        shard: tuple[int, int] | None = None,
        writers: int = 1,
        only: Iterable[tuple[int, int]] | None = None,
    ) -> Path:
        """Write a run directory: these records, or right answers to all of its attempts."""
        folder = directory / self.name
        write_plan(folder, self.plan(shard))
        facts = RunFacts(directory.name, "2026-01-02T03:04:05Z", list(self.targets), shard)
        (directory / "run.json").write_text(facts.as_text())
        wanted = list(self.attempts(shard) if only is None else only)
        journals = [journal(folder, f"gw{number}") for number in range(writers)]
        for number, attempt in enumerate(wanted):
            made = record(attempt, 1.0) if records is None else records.get(attempt)
            if made is not None:
                keep(journals[number % writers], *made)
        for one in journals:
            one.close()
        return directory


def journal(folder: Path, writer: str, turn: int = 1) -> JournalWriter:
    """A journal of a benchmark's directory."""
    return JournalWriter(folder / "journal" / journal_name(writer, turn), {"run_id": "r"})


def keep(into: JournalWriter, solved: Solved, scored: Scored | None) -> None:
    """Write what an attempt leaves; without a judgement, where none is given."""
    into.started(solved.key)
    into.solved(solved)
    if scored is not None:
        into.scored(solved.key, scored)
    into.flush()


def record(
    attempt: tuple[int, int], reward: float | None, response: str = "a"
) -> tuple[Solved, Scored]:
    """A finished attempt; without a reward, the machinery has failed."""
    outcome: Outcome = "unscored" if reward is None else "correct" if reward else "wrong"
    why = "server_error" if reward is None else None
    key = AttemptKey("b", *attempt)
    solved = Solved(
        key,
        f"p{key.problem_idx}",
        prompt="q",
        expected="a",
        response="" if why else response,
        model=None if why else {"model": "m", "latency_ms": 1.0 + attempt[0], "requests": 1},
        failure=why,
        error=why,
        started=1000.0 + key.problem_idx,
        solve_ms=5.0,
    )
    return solved, Scored(outcome, reward, failure=why, error=why)


class AlsoScored(Scored):
    """A judgement beside which a further scorer has judged."""

    def as_json(self, key: AttemptKey) -> JsonObject:
        """The same with the further scorer's reward."""
        return super().as_json(key) | {"scorer_rewards": {"f1": (key.problem_idx % 5) / 4}}


def random_records(
    attempts: Iterable[tuple[int, int]], seed: int
) -> dict[tuple[int, int], tuple[Solved, Scored]]:
    """Records of all kinds; of some attempts there is none."""
    draws = random.Random(seed)
    return {attempt: _drawn(attempt, draws) for attempt in attempts if draws.random() > 0.1}


def _drawn(attempt: tuple[int, int], draws: random.Random) -> tuple[Solved, Scored]:
    solved, scored = record(attempt, draws.choice([0.0, 0.0, 1.0, 1.0, 0.5, None]))
    if solved.model is not None:
        tokens = {"prompt_tokens": draws.randrange(99), "completion_tokens": draws.randrange(99)}
        solved.model = {**solved.model, **tokens}
    solved.metadata = {
        "category": draws.choice(["x", "y", ""]),
        "cluster": f"text {attempt[0] // 3}",
        "hard": draws.random() < 0.5,
    }
    details = {"rule": draws.choice(["line", "box"])}
    extracted = draws.choice(["a", "b", "c"])
    more = AlsoScored(
        scored.outcome,
        scored.reward,
        None if scored.reward is None else extracted,
        details,
        failure=scored.failure,
        error=scored.error,
    )
    return solved, more
