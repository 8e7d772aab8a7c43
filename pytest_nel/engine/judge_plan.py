"""Which judges a benchmark has, what they go by, and whose reward is the attempt's."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_nel.config.metrics import (
    EnsembleMetric,
    JudgeMetric,
    JudgingMetric,
    PairwiseMetric,
    RewardModelMetric,
    ScoringConfig,
    services_asked,
)
from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.keys import digest
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.types import JsonObject
from pytest_nel.scoring.judging.prompts import WORDS

GENERIC, SIMPLEQA, HEALTHBENCH, RUBRIC = "generic", "simpleqa", "healthbench", "rubric"
_HARMLESS = frozenset(
    {
        *("name", "timeout", "max_retries", "allow_self_judge", "rubric_file", "preset"),
        *("service", "services", "judge_service", "baseline_service"),
        *("temperature", "max_tokens"),
    }
)
"""Settings that determine no verdict; services and sampling count by what is sent."""
_SAMPLING = ("temperature", "max_tokens")


@dataclass(frozen=True, slots=True)
class JudgeSpec:
    """A judge of a benchmark.

    Attributes:
        metric: Its entry in the suite, its rubric read.
        preset: Which grader it is; of a pairwise judge and a reward model their type.
        on_request: Whether it judges only where the benchmark's scorer asks for it.
    """

    metric: JudgingMetric
    preset: str
    on_request: bool = False

    @property
    def name(self) -> str:
        """What its rewards are called."""
        return self.metric.name

    @property
    def judges(self) -> Sequence[str]:
        """The services that judge."""
        return list(services_asked(self.metric).values())

    @property
    def baseline(self) -> str | None:
        """The service that answers the problem, too, to be compared with."""
        return self.metric.baseline_service if isinstance(self.metric, PairwiseMetric) else None

    def services(self) -> Sequence[str]:
        """All services it asks."""
        return [*self.judges, *([] if self.baseline is None else [self.baseline])]

    def going_by(self) -> JsonObject:
        """What determines its verdicts beside the models and the answer."""
        settings = {
            name: value
            for name, value in self.metric.model_dump(mode="json").items()
            if name not in _HARMLESS
        }
        return {**settings, "preset": self.preset, "words": digest(dict(WORDS))}

    def sampling(self, generation: Mapping[str, Any]) -> JsonObject:
        """What is sent beside a service's ``generation``: what the suite sets, else our defaults.

        A default of ours never stands before what the service says.
        """
        return {
            name: getattr(self.metric, name)
            for name in _SAMPLING
            if name in self.metric.model_fields_set
            or (hasattr(self.metric, name) and name not in generation)
        }

    def identity(self, facts: Mapping[str, Any]) -> str:
        """``judge simpleqa by m sha256:…``, for fingerprints; of all that determines verdicts."""
        kind = self.metric.type
        named = kind if self.preset == kind else f"{kind} {self.preset}"
        models = ", ".join(str(one.get("model")) for one in facts["judges"])
        return f"{named} by {models} {digest(facts)}"


def judges_of(
    environment: EvalEnvironment, scoring: ScoringConfig
) -> tuple[tuple[JudgeSpec, ...], str | None]:
    """The judges, and the name of the metric whose reward is the attempt's (None: its scorer's).

    Raises:
        ConfigError: The benchmark needs a judge and has none, or it is not clear which; a judge
            needs what the benchmark does not have.
    """
    wanted, primary = environment.judge_preset, scoring.primary
    judges = scoring.judges
    if wanted is not None and primary is None:
        primary = _only(environment, judges)
    specs = []
    for metric in judges:
        grades = wanted if metric.name == primary else None
        specs.append(JudgeSpec(metric, _preset(metric, grades), on_request=grades is not None))
    return tuple(specs), primary


def _only(environment: EvalEnvironment, judges: Sequence[JudgingMetric]) -> str:
    if len(judges) == 1:
        return judges[0].name
    if not judges:
        msg = (
            f"benchmark {environment.name}: its answers are graded by a model (preset "
            f"{environment.judge_preset}), and the suite names none. Add to its entry:\n"
            "    scoring:\n"
            "      metrics:\n"
            "        - {name: grade, type: judge, service: NAME}\n"
            "where NAME is one of `services`, and not the one that answers"
        )
        raise ConfigError(msg)
    names = ", ".join(metric.name for metric in judges)
    msg = (
        f"benchmark {environment.name}: its answers are graded by a model, and there are several "
        f"judges ({names}): say `primary: NAME` under `scoring`"
    )
    raise ConfigError(msg)


def _preset(metric: JudgingMetric, wanted: str | None) -> str:
    if isinstance(metric, JudgeMetric | EnsembleMetric):
        return metric.preset or wanted or GENERIC
    return metric.type


def against_reference(metric: JudgingMetric, preset: str) -> bool:
    """Whether an answer is graded by what is known to be right, where that is known."""
    if not isinstance(metric, JudgeMetric | EnsembleMetric):
        return False
    return preset == SIMPLEQA or (preset == GENERIC and not metric.reference_free)


def system_of(solver: PluginSpec) -> str | None:
    """The system prompt that the suite has a solver send; None: the benchmark's own."""
    return solver.options.get("system_prompt") if solver.type == "simple" else None


def scale_of(metric: JudgingMetric) -> tuple[float, float]:
    """The worst and the best score of a metric that has a scale."""
    if isinstance(metric, RewardModelMetric):
        return metric.score_range
    if isinstance(metric, JudgeMetric | EnsembleMetric):
        return metric.min_score, metric.max_score
    return 0.0, 1.0


def with_rubrics(config: BenchmarkConfig, base: Path) -> BenchmarkConfig:
    """The entry with each ``rubric_file`` read into ``rubric``.

    Args:
        config: The benchmark's entry.
        base: The folder that a relative file is relative to.

    Raises:
        ConfigError: One cannot be read, or is empty.
    """
    metrics = [_with_rubric(metric, config.name, base) for metric in config.scoring.metrics]
    if all(new is old for new, old in zip(metrics, config.scoring.metrics, strict=True)):
        return config
    scoring = config.scoring.model_copy(update={"metrics": metrics})
    return config.model_copy(update={"scoring": scoring})


def _with_rubric(metric: Any, benchmark: str, base: Path) -> Any:  # Any: each kind of metric
    file = getattr(metric, "rubric_file", None)
    if file is None:
        return metric
    where = f"benchmark {benchmark}: rubric_file of metric {metric.name!r}: {base / file}"
    try:
        text = (base / file).read_text(encoding="utf-8-sig")
    except (OSError, UnicodeDecodeError) as error:
        msg = f"{where}: cannot be read: {error}"
        raise ConfigError(msg) from error
    if not text.strip():
        msg = f"{where}: is empty"
        raise ConfigError(msg)
    return metric.model_copy(update={"rubric": text})
