"""What a suite file may say, as frozen models.

Options of plugins (services, solvers) stay raw here: the plugin's own ``Config`` validates them
while the run is planned, before any call. So a new plugin never touches this module.
"""

import re
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import AfterValidator, BaseModel, ConfigDict, Field

from pytest_nel.config.metrics import ScoringConfig

MAX_CONCURRENT = 10_000
"""Requests in flight at most: beyond this one process runs out of sockets, not of patience."""

_REFERENCE = re.compile(r"\$\{[A-Za-z_][A-Za-z0-9_]*\}")


def _a_reference(value: str) -> str:
    if not _REFERENCE.fullmatch(value):
        msg = (
            "expected a reference like ${API_KEY}: a literal key would be written to the "
            "run directory; export it and write ${NAME}"
        )
        raise ValueError(msg)
    return value


KeyReference: TypeAlias = Annotated[str, AfterValidator(_a_reference)]
"""``${NAME}`` of the environment variable with a key; resolved when the service starts."""


class Model(BaseModel):
    """Frozen, and no unknown key passes."""

    model_config = ConfigDict(frozen=True, extra="forbid")


class PluginSpec(BaseModel):
    """``type`` plus the raw options of whatever plugin has that name."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str

    @property
    def options(self) -> dict[str, Any]:
        """Everything but ``type``."""
        return dict(self.__pydantic_extra__ or {})


class Generation(Model):
    """Sampling parameters; null inherits from the level below (solver > service > server)."""

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    seed: int | None = None
    stop: list[str] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None

    def given(self) -> dict[str, Any]:
        """Only what is set."""
        return self.model_dump(exclude_none=True)


class Prices(Model):
    """What tokens of an endpoint cost; it determines no answer and may change at any time.

    Attributes:
        prompt: Money per million prompt tokens.
        completion: Money per million completion tokens, reasoning included.
        currency: Its ISO 4217 code.
    """

    prompt: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    completion: Annotated[float, Field(ge=0, allow_inf_nan=False)]
    currency: Annotated[str, Field(pattern=r"^[A-Z]{3}$")] = "USD"


class BenchmarkConfig(Model):
    """One entry of ``benchmarks``.

    Attributes:
        name: A built-in's name, a ``file.py`` or a ``file.py:benchmark``.
        solver: How problems are answered; plugin options.
        repeats: Attempts per problem.
        max_problems: Take that many problems, after shuffling; null means all.
        max_concurrent: Requests in flight (C).
        window: Attempts solved or in flight but not yet reported (W); null means
            max(16·C, 1024).
        timeout: Seconds to solve one attempt in all, retries included, and as many to judge it
            by an async scorer or a class; a plain scorer cannot be ended from outside.
        shuffle_seed: Order of the problems; null means the dataset's order.
        max_system_retries: Tries of an attempt whose machinery failed.
        max_unscored: How many attempts may lack a score before the run counts as incomplete.
        strict: Wrong and unparsed answers fail their item.
        min_score: The score (mean_reward) must reach this, or the run fails.
        evidence: What decides that: ``ci``, the whole 95 % interval, or ``point``, the score.
        params: Keyword arguments for the environment.
        scoring: Further scorers and judges.
    """

    name: str
    solver: PluginSpec
    repeats: Annotated[int, Field(ge=1)] = 1
    max_problems: Annotated[int, Field(ge=1)] | None = None
    max_concurrent: Annotated[int, Field(ge=1, le=MAX_CONCURRENT)] = 32
    window: Annotated[int, Field(ge=1)] | None = None
    timeout: Annotated[float, Field(gt=0)] = 1800.0
    shuffle_seed: int | None = 42
    max_system_retries: Annotated[int, Field(ge=1)] = 3
    max_unscored: Annotated[int, Field(ge=0)] = 0
    strict: bool = False
    min_score: Annotated[float, Field(ge=0, le=1)] | None = None
    evidence: Literal["ci", "point"] = "ci"
    params: dict[str, Any] = Field(default_factory=dict)
    scoring: ScoringConfig = ScoringConfig()


class OutputConfig(Model):
    """Where results go.

    Attributes:
        dir: The directory of runs; each run makes its own folder inside unless
            ``timestamped`` is false.
        timestamped: Whether ``dir`` gets a folder per run.
        progress_interval: Seconds between progress lines where there is no terminal.
        journal_sync: When the journal is put on the disk: once a second, or with each record
            (for network file systems that lose what was only written).
    """

    dir: str = "./eval_results"
    timestamped: bool = True
    progress_interval: Annotated[float, Field(gt=0)] = 30.0
    journal_sync: Literal["second", "record"] = "second"


class RunConfig(Model):
    """A whole suite file.

    Attributes:
        services: Endpoints and deployments by name.
        benchmarks: What is measured.
        output: Where results go.
        shard_from: ``slurm_array``: each task of a Slurm array measures its part. Only a suite
            that says so is cut that way: an array may have nothing to do with it.
    """

    services: dict[str, PluginSpec]
    benchmarks: Annotated[list[BenchmarkConfig], Field(min_length=1)]
    output: OutputConfig = OutputConfig()
    shard_from: Literal["slurm_array"] | None = None
