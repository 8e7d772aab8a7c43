"""Further scorers of a benchmark: each judges every answer, beside the benchmark's own.

Their rewards have names and keep their fractions. What one of them does wrong costs its own
reward, which is then missing; the attempt keeps its score.
"""

import asyncio
import inspect
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple

from pytest_nel.authoring.benchmark import Scorer
from pytest_nel.authoring.catalog import blame
from pytest_nel.authoring.mistakes import is_async
from pytest_nel.config.metrics import MetricConfig
from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.core.keys import digest
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.source import constants, source_digest
from pytest_nel.core.types import JsonObject, ScorerInput
from pytest_nel.environments.builtin import OURS, BenchmarkEnvironment, function_identity
from pytest_nel.scoring.catalog import SCORERS, check_config, get_scorer
from pytest_nel.scoring.result import to_verify_result

PREFIX = "scorer:"
"""Begins the key of a further scorer in ``scoring_details`` and in a bundle's scores."""


class Judged(NamedTuple):
    """What one further scorer says of an answer.

    Attributes:
        reward: In [0, 1]; None where it failed, which is missing and not 0.
        details: Facts about the judgement, the reward among them.
    """

    reward: float | None
    details: JsonObject


@dataclass(frozen=True, slots=True)
class ExtraScorer:
    """A scorer that judges beside the benchmark's own.

    Attributes:
        name: What its rewards are called.
        function: The scorer.
        config: Its ``sample.config``; None means the benchmark's own settings.
        file: Where it comes from, for identities.
        environment: Whose answers it judges.
        turn: Held while it runs in a thread beside the loop: a plain scorer need not expect to
            be called twice at once.
    """

    name: str
    function: Scorer
    config: Mapping[str, Any] | None
    file: str
    environment: EvalEnvironment
    turn: asyncio.Lock = field(default_factory=asyncio.Lock, compare=False, repr=False)

    @property
    def on_the_loop(self) -> bool:
        """Whether its judgement has to be awaited."""
        return is_async(self.function)

    def sample(
        self,
        response: str,
        expected: str,
        metadata: Mapping[str, Any],
        sandbox: Sandbox | None = None,
    ) -> ScorerInput:
        """What it sees: all that the benchmark's own scorer does, and settings of its own.

        Raises:
            ScorerError: The metadata leads to no row.
        """
        if isinstance(self.environment, BenchmarkEnvironment):
            sample = self.environment.sample(response, expected, metadata, sandbox)
            metadata = sample.metadata
        return ScorerInput(response, expected, dict(metadata), dict(self.settings), sandbox)

    @property
    def settings(self) -> Mapping[str, Any]:
        """Its ``sample.config``."""
        if self.config is not None:
            return self.config
        if isinstance(self.environment, BenchmarkEnvironment):
            return self.environment.benchmark.extra
        return {}

    def judged(self, returned: object, response: str) -> Judged:
        """What it returned, checked and made plain.

        Raises:
            ScorerError: That is no reward.
        """
        where = f"scorer {self.name!r}"
        result = to_verify_result(returned, method=self.name, where=where, response=response)
        details: JsonObject = {**result.scoring_details, "reward": result.reward}
        if result.extracted_answer is not None:
            details["extracted"] = result.extracted_answer
        if not result.parsed:
            details["parsed"] = False
        if result.metadata:
            details["metadata"] = dict(result.metadata)
        return Judged(result.reward, details)

    def failed(self, error: BaseException) -> Judged:
        """It raised: its reward is missing, and the details say why."""
        if isinstance(error, NelError):
            text = str(error)
        else:
            file = inspect.getsourcefile(_innermost(self.function)) or self.file
            text = f"scorer {self.name!r}: the scorer failed: {blame(error, file)}"
        return Judged(None, {"method": self.name, "reward": None, "error": text})

    def blank(self) -> Judged:
        """Of an empty answer: wrong, without asking the scorer."""
        return Judged(0.0, {"method": self.name, "reward": 0.0, "parsed": False, "empty": True})

    def identity(self) -> str:
        """``file.py:function sha256:… config sha256:…``, the last where it has settings."""
        named = function_identity(self.function, self.file)
        return f"{named} config {digest(dict(self.config))}" if self.config else named

    def judging(self) -> Mapping[str, Any]:
        """What determines its judgements beside answer and gold answer."""
        return {
            "source": source_digest(self.function),
            "constants": constants(self.function),
            "config": self.settings,
        }


def extra_scorers(
    environment: EvalEnvironment, metrics: Sequence[MetricConfig] = ()
) -> tuple[ExtraScorer, ...]:
    """The further scorers of a benchmark: those of its author, then those of the suite.

    Raises:
        ConfigError: A scorer is unknown or cannot work with its settings, or a name is taken.
    """
    found: dict[str, ExtraScorer] = {}
    if isinstance(environment, BenchmarkEnvironment):
        benchmark = environment.benchmark
        file = Path(benchmark.file).name
        for name, function in benchmark.scorers.items():
            found[name] = ExtraScorer(name, function, None, file, environment)
    for metric in metrics:
        if metric.name in found:
            msg = (
                f"benchmark {environment.name}: scoring.metrics: the benchmark has a scorer "
                f"{metric.name!r} itself: give this one another name, and its scorer under `scorer`"
            )
            raise ConfigError(msg)
        function = get_scorer(metric.uses)
        found[metric.name] = ExtraScorer(metric.name, function, metric.config, OURS, environment)
    for each in found.values():
        _check_settings(each)
    return tuple(found.values())


def _check_settings(each: ExtraScorer) -> None:
    """One of ours knows which settings it could not work with."""
    known = next((name for name, function in SCORERS.items() if function is each.function), None)
    if known is None:
        return
    try:
        check_config(known, each.settings)
    except ConfigError as error:
        msg = f"benchmark {each.environment.name}: scorer {each.name!r}: {error}"
        raise ConfigError(msg) from None


def _innermost(function: Any) -> Any:  # Any: partials, and objects to call
    while hasattr(function, "func"):
        function = function.func
    function = inspect.unwrap(function) if callable(function) else function
    return function if inspect.isroutine(function) else type(function)
