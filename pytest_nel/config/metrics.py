"""What ``scoring`` of a benchmark may say: further scorers, and judges that are models."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal, Self, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, model_validator

from pytest_nel.config.interpolate import Path, Problem
from pytest_nel.config.problems import suggestion

REFUSED_TYPES: Mapping[str, str] = {
    "custom": (
        "is not supported: write the scorer in Python and give it to the benchmark with "
        "`@benchmark(..., scorers={...})`, or name one that exists with type scorer"
    ),
    "sandbox": (
        "is not supported: write a scorer in Python that runs the command in `sample.sandbox`, "
        "and give it to the benchmark with `@benchmark(..., sandbox=IMAGE)`"
    ),
}
"""Metric types of the reference system that are refused, and the way out of each."""

_REFUSED_KEYS: Mapping[tuple[str, str], str] = {
    ("pairwise_judge", "max_score"): "a pairwise judge gives win, tie or loss and has no scale",
    ("pairwise_judge", "min_score"): "a pairwise judge gives win, tie or loss and has no scale",
    ("reward_model", "aspect"): "one number is read from a reward model, so there are no aspects",
}
_REFUSED_MODES: Mapping[str, str] = {
    "multi_aspect": (
        "mode multi_aspect is not supported: which aspects a server returns is no standard; "
        "serve one number, or ask for aspects with judges of their own"
    ),
    "pairwise": (
        "mode pairwise is not supported: use type pairwise_judge, which compares two answers"
    ),
}

Seconds: TypeAlias = Annotated[float, Field(gt=0, allow_inf_nan=False)]
Bound: TypeAlias = Annotated[float, Field(allow_inf_nan=False)]


def _a_label(value: str) -> str:
    if not value.strip() or value != value.strip() or not value.isprintable():
        msg = "expected text without space around it or line breaks"
        raise ValueError(msg)
    return value


Label: TypeAlias = Annotated[str, AfterValidator(_a_label)]


class _Frozen(BaseModel):
    """Frozen, and no unknown key passes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class MetricConfig(_Frozen):
    """A scorer that judges beside the benchmark's own.

    Attributes:
        name: What its rewards are called in results.
        type: ``scorer``.
        scorer: The scorer's name; null means that ``name`` is it.
        config: The scorer's settings, its ``sample.config``; null means those of the benchmark.
    """

    name: Label
    type: Literal["scorer"]
    scorer: str | None = None
    config: dict[str, Any] | None = None

    @property
    def uses(self) -> str:
        """The name of the scorer."""
        return self.name if self.scorer is None else self.scorer


class _Asked(_Frozen):
    """What every metric that asks a model has.

    Attributes:
        name: What its rewards are called in results.
        timeout: Seconds for one request to it.
        max_retries: Further requests after a reply that holds no verdict.
        allow_self_judge: Whether the model may judge its own answers.
    """

    name: Label
    timeout: Seconds = 120.0
    max_retries: Annotated[int, Field(ge=0, le=100)] = 2
    allow_self_judge: bool = False


class _Judge(_Asked):
    """What every judge that is told in words how to judge has.

    Attributes:
        rubric: What it is to look at; null means the words of the preset.
        rubric_file: A text file with the rubric, relative to the suite.
        system_prompt: In place of ours.
        temperature: Of its replies; null leaves it to the service.
        max_tokens: Of its replies; null leaves it to the service.
    """

    rubric: str | None = None
    rubric_file: str | None = None
    system_prompt: str | None = None
    temperature: Annotated[float, Field(ge=0, le=2)] | None = 0.0
    max_tokens: Annotated[int, Field(gt=0)] | None = 2048

    @model_validator(mode="after")
    def _one_rubric(self) -> Self:
        if self.rubric is not None and self.rubric_file is not None:
            msg = "expected rubric or rubric_file, not both"
            raise ValueError(msg)
        return self


class _Scaled(_Judge):
    """A judge that gives a score, or the grades of a preset.

    Attributes:
        preset: An official grader; null means that of the benchmark, else ``generic``.
        min_score: The worst score of its scale, which is reward 0.
        max_score: The best, which is reward 1.
        reference_free: Whether the gold answer is kept from it.
    """

    preset: Literal["generic", "simpleqa", "healthbench", "rubric"] | None = None
    min_score: Bound = 1.0
    max_score: Bound = 5.0
    reference_free: bool = False

    @model_validator(mode="after")
    def _a_scale(self) -> Self:
        if self.min_score >= self.max_score:
            msg = (
                f"expected min_score below max_score, got {self.min_score:g} and {self.max_score:g}"
            )
            raise ValueError(msg)
        fixed = sorted({"min_score", "max_score", "reference_free"} & self.model_fields_set)
        if self.preset not in {None, "generic"} and fixed:
            msg = f"the preset {self.preset} has its own: leave out {', '.join(fixed)}"
            raise ValueError(msg)
        return self


class JudgeMetric(_Scaled):
    """A model that judges every answer.

    Attributes:
        type: ``judge``.
        service: The service it is asked at.
        swap_check: Whether it judges twice, response and reference shown in either order.
    """

    type: Literal["judge"]
    service: str
    swap_check: bool = False

    @model_validator(mode="after")
    def _something_to_swap(self) -> Self:
        if self.swap_check and (self.reference_free or self.preset not in {None, "generic"}):
            what = "reference_free" if self.reference_free else f"the preset {self.preset}"
            msg = f"swap_check shows response and reference in either order; {what} leaves none"
            raise ValueError(msg)
        return self


class EnsembleMetric(_Scaled):
    """Several models that judge every answer, each for itself.

    Attributes:
        type: ``ensemble_judge``.
        services: The services they are asked at.
        aggregation: How their rewards become one.
        min_judges: How many of them must have a verdict; null means all.
    """

    type: Literal["ensemble_judge"]
    services: Annotated[list[str], Field(min_length=2)]
    aggregation: Literal["mean", "median", "majority_vote"] = "mean"
    min_judges: Annotated[int, Field(ge=1)] | None = None

    @model_validator(mode="after")
    def _enough(self) -> Self:
        if len(set(self.services)) < len(self.services):
            msg = "expected services that differ, got one of them twice"
            raise ValueError(msg)
        if self.min_judges is not None and self.min_judges > len(self.services):
            msg = f"expected at most {len(self.services)} min_judges, got {self.min_judges}"
            raise ValueError(msg)
        return self


class PairwiseMetric(_Judge):
    """A model that compares every answer with another one to the same problem.

    Attributes:
        type: ``pairwise_judge``.
        judge_service: The service that compares.
        baseline_service: The service whose model gives the other answers.
        baseline_field: The field of the data with the other answers.
        swap_check: Whether it compares in both orders; where they disagree it is a tie.
    """

    type: Literal["pairwise_judge"]
    judge_service: str
    baseline_service: str | None = None
    baseline_field: str | None = None
    swap_check: bool = True

    @model_validator(mode="after")
    def _one_baseline(self) -> Self:
        if (self.baseline_service is None) == (self.baseline_field is None):
            msg = "expected baseline_service or baseline_field, and not both"
            raise ValueError(msg)
        return self


class RewardModelMetric(_Asked):
    """A model that replies to a conversation with one number.

    Attributes:
        type: ``reward_model``.
        service: The service it is asked at.
        mode: ``single``: one number.
        score_range: The number that is reward 0 and the one that is reward 1.
        threshold: In [0, 1]: rewards from here on are 1, others 0; null keeps the fraction.
    """

    type: Literal["reward_model"]
    service: str
    mode: Literal["single"] = "single"
    score_range: tuple[Bound, Bound] = (0.0, 1.0)
    threshold: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _a_range(self) -> Self:
        if self.score_range[0] >= self.score_range[1]:
            msg = "expected score_range as [low, high] with low below high"
            raise ValueError(msg)
        return self


JudgingMetric: TypeAlias = JudgeMetric | EnsembleMetric | PairwiseMetric | RewardModelMetric
AnyMetric: TypeAlias = Annotated[MetricConfig | JudgingMetric, Field(discriminator="type")]

METRICS: Mapping[str, type[BaseModel]] = {
    "ensemble_judge": EnsembleMetric,
    "judge": JudgeMetric,
    "pairwise_judge": PairwiseMetric,
    "reward_model": RewardModelMetric,
    "scorer": MetricConfig,
}


class ScoringConfig(_Frozen):
    """How answers are judged beside the benchmark's own scorer.

    Attributes:
        metrics: Further scorers and judges; their names are unique.
        primary: The one whose reward is the attempt's; null means the benchmark's own scorer,
            or the judge of a benchmark that needs one.
    """

    metrics: list[AnyMetric] = Field(default_factory=list)
    primary: str | None = None

    @property
    def scorers(self) -> list[MetricConfig]:
        """Those that ask no model."""
        return [metric for metric in self.metrics if isinstance(metric, MetricConfig)]

    @property
    def judges(self) -> list[JudgingMetric]:
        """Those that do."""
        return [metric for metric in self.metrics if not isinstance(metric, MetricConfig)]


def services_asked(metric: JudgingMetric) -> dict[str, str]:
    """The services that judge, by the key under which each stands; a baseline is none of them."""
    if isinstance(metric, EnsembleMetric):
        return {f"services.{at}": name for at, name in enumerate(metric.services)}
    if isinstance(metric, PairwiseMetric):
        return {"judge_service": metric.judge_service}
    return {"service": metric.service}


def metric_model(section: Mapping[str, Any]) -> type[BaseModel]:
    """The model of a metric by its type; that of a scorer where it has none that is known."""
    return METRICS.get(str(section.get("type")), MetricConfig)


def type_problems(path: Path, section: Mapping[str, Any]) -> Iterator[Problem]:
    """What is wrong with a metric's type, or with what belongs to another type."""
    given = section.get("type")
    kind = str(given)
    if given is None:
        yield Problem((*path, "type"), "required, but missing")
    elif kind in REFUSED_TYPES:
        yield Problem((*path, "type"), f"metric type {kind!r} {REFUSED_TYPES[kind]}")
    elif kind not in METRICS:
        known = (*METRICS, *REFUSED_TYPES)
        said = f"unknown metric type {kind!r}{suggestion(kind, known)}"
        yield Problem((*path, "type"), said)
    for key in section:
        if (why := _REFUSED_KEYS.get((kind, key))) is not None:
            yield Problem((*path, key), f"not supported: {why}; leave it out")
    mode = str(section.get("mode"))
    if kind == "reward_model" and mode in _REFUSED_MODES:
        yield Problem((*path, "mode"), _REFUSED_MODES[mode])
