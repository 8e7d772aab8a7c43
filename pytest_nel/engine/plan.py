"""What will be attempted: which problems, in which order, how often. Made once, before any call."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_nel.config.schema import BenchmarkConfig
from pytest_nel.core.errors import ConfigError, DataError
from pytest_nel.core.keys import problem_order, safe_name, shard_range
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.types import AttemptKey, JsonObject
from pytest_nel.engine.judge_plan import JudgeSpec, judges_of
from pytest_nel.engine.judge_rubrics import refuse_without_rubrics
from pytest_nel.environments.scorers import ExtraScorer, extra_scorers


@dataclass(frozen=True, slots=True)
class BenchmarkPlan:
    """One benchmark of a run, resolved.

    Attributes:
        id: Unique in the run; directory name, node-id part and ``AttemptKey.benchmark``.
        config: Its entry in the suite, command-line overrides applied.
        environment: Seeds problems and verifies answers.
        problems: Dataset positions in the order they are attempted.
        selected: Problems of all shards together.
        shard: (index, count) where this is one part of them.
        facts: Fingerprint parts known before the run.
        scorers: Further scorers.
        judges: Models that judge.
        primary: The metric whose reward is the attempt's; None: the benchmark's own scorer.
        selftest: What became of the scorer's self-test; None where nobody asked for one. No part
            of the fingerprint: it changes no score.
    """

    id: str
    config: BenchmarkConfig
    environment: EvalEnvironment
    problems: list[int]
    selected: int
    shard: tuple[int, int] | None = None
    facts: JsonObject = field(default_factory=dict)
    scorers: tuple[ExtraScorer, ...] = ()
    judges: tuple[JudgeSpec, ...] = ()
    primary: str | None = None
    selftest: str | None = None

    @property
    def names(self) -> frozenset[str]:
        """What people call it; a name without the variant means all its variants."""
        return frozenset(
            name for name in (self.id, self.environment.name, self.config.name) if name
        )

    @property
    def repeats(self) -> int:
        """Attempts per problem."""
        return self.config.repeats

    @property
    def window(self) -> int:
        """W: attempts that may be begun and not yet reported."""
        return self.config.window or max(16 * self.config.max_concurrent, 1024)

    def keys(self) -> Iterator[AttemptKey]:
        """Every attempt, problem by problem."""
        for problem in self.problems:
            for repeat in range(self.repeats):
                yield AttemptKey(self.id, problem, repeat)

    def twin(self, problem: int) -> str:
        """What tells it from others that are asked the same, for answers of other runs.

        Two models of a matrix may have one name: each is asked itself.
        """
        own = self.environment.twin(problem)
        return own if self.config.variant is None else f"{own}|{self.config.variant}"

    def judging(self) -> Mapping[str, Any]:
        """What determines judgements beside the answer and the gold answer."""
        own = dict(self.environment.judging())
        if self.scorers:
            own["scorers"] = {each.name: each.judging() for each in self.scorers}
        if self.primary is not None:
            own["primary"] = self.primary
        return own

    def as_json(self) -> JsonObject:
        """The object of plan.json: the same in every process that plans the same run."""
        settings: dict[str, Any] = self.config.model_dump(mode="json")
        tested = {} if self.selftest is None else {"selftest": self.selftest}
        return {
            "benchmark": self.id,
            "environment": self.environment.name,
            "problems": self.problems,
            "selected": self.selected,
            "shard": None if self.shard is None else list(self.shard),
            "repeats": self.repeats,
            "config": settings,
            "fingerprint": self.facts,
            **tested,
        }


def make_plan(
    config: BenchmarkConfig,
    environment: EvalEnvironment,
    size: int,
    *,
    taken: frozenset[str] = frozenset(),
    shard: tuple[int, int] | None = None,
    facts: JsonObject | None = None,
) -> BenchmarkPlan:
    """Decide which problems are attempted and in which order.

    The order is that of ``random.Random(shuffle_seed)`` over all positions, cut to
    ``max_problems``: raising the limit only adds problems. What an interrupted run has judged in
    this order (as plain scorers do) is a fair sample; judged as answers came in (async scorers,
    environments written as a class), it holds more of the quick ones, and the summary says so.
    A shard is a contiguous part of what remains, so all of them together are the whole.

    Raises:
        DataError: There is no problem to attempt.
        ConfigError: A further scorer is unknown, or its name is taken; a judge is missing, or
            lacks the rubrics that it goes by; one of the problems cannot be run.
    """
    if size <= 0:
        msg = f"{environment.name or config.name}: the dataset has no rows: nothing to measure"
        raise DataError(msg)
    problems = problem_order(size, config.shuffle_seed)[: config.max_problems]
    selected = len(problems)
    if shard is not None:
        start, end = shard_range(selected, *shard)
        problems = problems[start:end]
    environment.problems_chosen(problems)
    scorers = extra_scorers(environment, config.scoring.scorers)
    judges, primary = judges_of(environment, config.scoring)
    refuse_without_rubrics(environment, judges, problems)
    _refuse_taken(environment, scorers, judges)
    known = dict(facts or {}) | {"dataset_size": size, "shuffle_seed": config.shuffle_seed}
    if scorers:
        known["scorers"] = {each.name: each.identity() for each in scorers}
    return BenchmarkPlan(
        id=_unique(_name(environment, config), taken),
        config=config,
        environment=environment,
        problems=problems,
        selected=selected,
        shard=shard,
        facts=known,
        scorers=scorers,
        judges=judges,
        primary=primary,
    )


def _name(environment: EvalEnvironment, config: BenchmarkConfig) -> str:
    name = environment.name or config.name
    return name if config.variant is None else f"{name}-{config.variant}"


def _refuse_taken(
    environment: EvalEnvironment, scorers: Sequence[ExtraScorer], judges: Sequence[JudgeSpec]
) -> None:
    for name in {each.name for each in scorers} & {each.name for each in judges}:
        msg = (
            f"benchmark {environment.name}: scoring.metrics: the benchmark has a scorer {name!r} "
            "itself: give this judge another name"
        )
        raise ConfigError(msg)


def _unique(name: str, taken: frozenset[str]) -> str:
    first = safe_name(name)
    unique, number = first, 1
    while unique in taken:
        number += 1
        unique = f"{first}-{number}"
    return unique
