"""What a suite file may say, as frozen models.

Options of plugins (services, solvers) stay raw here: the plugin's own ``Config`` validates them
while the run is planned, before any call. So a new plugin never touches this module.
"""

import re
from collections.abc import Mapping
from typing import Annotated, Any, ClassVar, Literal, TypeAlias

from pydantic import (
    AfterValidator,
    BaseModel,
    ConfigDict,
    Field,
    field_validator,
    model_validator,
)

from pytest_nel.config.metrics import Label, ScoringConfig

MAX_CONCURRENT = 10_000
"""Requests in flight at most: beyond this one process runs out of sockets, not of patience."""

MAX_REPEATS = 10_000
"""Attempts per problem at most: each is an item, and a slip of the pen would fill the memory."""

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

    not_here: ClassVar[Mapping[str, str]] = {}
    """Options of a plugin that the reference system has → why they mean nothing here."""


class PluginSpec(BaseModel):
    """``type`` plus the raw options of whatever plugin has that name."""

    model_config = ConfigDict(frozen=True, extra="allow")

    type: str

    @property
    def options(self) -> dict[str, Any]:
        """Everything but ``type``."""
        return dict(self.__pydantic_extra__ or {})


_OWN_NAMES = frozenset({"input", "messages", "model", "n", "prompt", "stream", "stream_options"})


class Generation(Model):
    """Sampling parameters; null inherits from the level below.

    The levels: solver, benchmark, service, and what the server does by itself.

    Attributes:
        temperature: 0 always takes the likeliest token.
        top_p: Share of the probability that tokens are drawn from.
        max_tokens: Tokens of an answer at most, reasoning included.
        seed: For servers that can repeat themselves.
        stop: Texts at which an answer ends.
        frequency_penalty: Against tokens by how often they were there.
        presence_penalty: Against tokens that were there.
        logprobs: Whether the log-probability of each token of the answer is asked for and kept
            in ``trajectories.jsonl``.
        top_logprobs: Of how many alternatives as well; needs ``logprobs``.
        extra_body: Further keys of the request body as the server knows them, such as ``top_k``
            or ``chat_template_kwargs``.
    """

    temperature: Annotated[float, Field(ge=0, le=2)] | None = None
    top_p: Annotated[float, Field(ge=0, le=1)] | None = None
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    seed: int | None = None
    stop: list[str] | None = None
    frequency_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    presence_penalty: Annotated[float, Field(ge=-2, le=2)] | None = None
    logprobs: bool | None = None
    top_logprobs: Annotated[int, Field(ge=1, le=20)] | None = None
    extra_body: dict[str, Any] | None = None

    @field_validator("extra_body")
    @classmethod
    def _no_second_door(cls, body: dict[str, Any] | None) -> dict[str, Any] | None:
        for name in body or {}:
            if name in cls.model_fields:
                msg = f"{name} is a setting of its own: write generation.{name}"
                raise ValueError(msg)
            if name in _OWN_NAMES:
                msg = f"{name} is what the request itself says" + (
                    ": ask several times with repeats" if name == "n" else ""
                )
                raise ValueError(msg)
        return body

    @model_validator(mode="after")
    def _alternatives_to_something(self) -> "Generation":
        if self.top_logprobs is not None and not self.logprobs:
            msg = "top_logprobs says of how many tokens, logprobs: true that they are wanted"
            raise ValueError(msg)
        return self

    def given(self) -> dict[str, Any]:
        """Only what is set, as a request says it: ``extra_body`` is not nested."""
        own = self.model_dump(exclude_none=True, exclude={"extra_body"})
        return {**own, **(self.extra_body or {})}


def layered(*levels: Mapping[str, Any] | None) -> dict[str, Any]:
    """Sampling parameters of several levels as one; what comes first counts, key by key."""
    whole: dict[str, Any] = {}
    for level in reversed([level for level in levels if level]):
        body = {**(whole.get("extra_body") or {}), **(level.get("extra_body") or {})}
        whole |= {name: value for name, value in level.items() if value is not None}
        if body:
            whole["extra_body"] = body
    return whole


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


class BudgetConfig(Model):
    """What one session may spend; then nothing more is begun, and the run is incomplete.

    What is in flight is finished and counted. A resumption has the budget anew.

    Attributes:
        max_cost: Money, in the currency of the services' prices.
        max_tokens: Prompt and completion tokens of all answers together.
        max_time: Seconds from the first attempt on.
    """

    max_cost: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None
    max_tokens: Annotated[int, Field(gt=0)] | None = None
    max_time: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None = None

    @property
    def limits(self) -> bool:
        """Whether it limits anything."""
        return any(value is not None for value in self.model_dump().values())


class NoSandboxConfig(Model):
    """Nothing runs code: solvers ask a model, and scorers read its answers."""


class ClusterConfig(Model):
    """Where the run itself happens.

    Attributes:
        type: ``local``, the only one: where pytest is started.
    """

    type: Literal["local"]


class BenchmarkConfig(Model):
    """One entry of ``benchmarks``.

    Attributes:
        name: A built-in's name, a ``file.py`` or a ``file.py:benchmark``.
        solver: How problems are answered; plugin options.
        variant: What tells it from other entries of the same benchmark; part of its name.
        generation: Sampling parameters for this benchmark; the solver's own stand before them,
            the service's behind.
        repeats: Attempts per problem.
        max_problems: Take that many problems, after shuffling; null means all.
        max_concurrent: Requests in flight (C).
        window: Attempts solved or in flight but not yet reported (W); null means
            max(16·C, 1024).
        timeout: Seconds to solve one attempt in all, retries included, and as many to judge it
            by an async scorer or a class, whose commands in a sandbox have limits of their own; a
            plain scorer cannot be ended from outside.
        shuffle_seed: Order of the problems; null means the dataset's order.
        max_system_retries: Tries of an attempt whose machinery failed.
        max_unscored: How many attempts may lack a score before the run counts as incomplete.
        max_judge_failures: How many verdicts of judges may be missing before the run counts as
            incomplete; null: any number, as long as each attempt has its own score.
        strict: Wrong and unparsed answers fail their item.
        min_score: The score (mean_reward) must reach this, or the run fails.
        evidence: What decides that: ``ci``, the whole 95 % interval, or ``point``, the score.
        params: Keyword arguments for the environment.
        scoring: Further scorers and judges.
        verifier: Name of a service of type ``gym`` that judges answers in place of the
            benchmark's own scorer.
        budget: What this benchmark may spend.
        sandbox: Where its solver and its scorer run code; ``none`` and the name of one of
            ``sandboxes`` are short for it. Equal entries share their slots.
    """

    name: str
    solver: PluginSpec
    variant: Label | None = None
    generation: Generation = Generation()
    repeats: Annotated[int, Field(ge=1, le=MAX_REPEATS)] = 1
    max_problems: Annotated[int, Field(ge=1)] | None = None
    max_concurrent: Annotated[int, Field(ge=1, le=MAX_CONCURRENT)] = 32
    window: Annotated[int, Field(ge=1)] | None = None
    timeout: Annotated[float, Field(gt=0)] = 1800.0
    shuffle_seed: int | None = 42
    max_system_retries: Annotated[int, Field(ge=1)] = 3
    max_unscored: Annotated[int, Field(ge=0)] = 0
    max_judge_failures: Annotated[int, Field(ge=0)] | None = None
    strict: bool = False
    min_score: Annotated[float, Field(ge=0, le=1)] | None = None
    evidence: Literal["ci", "point"] = "ci"
    params: dict[str, Any] = Field(default_factory=dict)
    scoring: ScoringConfig = ScoringConfig()
    verifier: str | None = None
    # what of it determines an answer is in the fingerprint, where an answer may depend on it
    sandbox: PluginSpec = Field(default=PluginSpec(type="none"), exclude=True)
    budget: BudgetConfig = BudgetConfig()

    def settled(self) -> "BenchmarkConfig":
        """The entry with its ``generation`` among the solver's options, which stand before it."""
        mine = self.generation.model_dump(exclude_none=True)
        own = self.solver.options.get("generation")
        if not mine or not isinstance(own, Mapping | None):
            return self  # nothing to say, or it is refused as what it is
        options = {**self.solver.options, "generation": layered(own, mine)}
        return self.model_copy(update={"solver": PluginSpec(type=self.solver.type, **options)})


class OutputConfig(Model):
    """Where results go.

    Attributes:
        dir: The directory of runs; each run makes its own folder inside unless
            ``timestamped`` is false.
        timestamped: Whether ``dir`` gets a folder per run.
        progress_interval: Seconds between progress lines where there is no terminal.
        journal_sync: When the journal is put on the disk: once a second, or with each record
            (for network file systems that lose what was only written).
        report: Formats of the reports written into the run's directory when it is over:
            ``markdown``, ``html``, ``csv``, ``json``, ``latex``.
        export: Where results go beside that when the run is over: ``mlflow``, ``wandb``,
            ``inspect``, or ``package.module:Class`` for an exporter of your own.
        export_config: The options of each exporter, by its name.
    """

    dir: str = "./eval_results"
    timestamped: bool = True
    progress_interval: Annotated[float, Field(gt=0)] = 30.0
    journal_sync: Literal["second", "record"] = "second"
    report: list[str] = Field(default_factory=list)
    export: list[str] = Field(default_factory=list)
    export_config: dict[str, dict[str, Any]] = Field(default_factory=dict)


class RunConfig(Model):
    """A whole suite file.

    Attributes:
        services: Endpoints and deployments by name.
        benchmarks: What is measured.
        output: Where results go.
        matrix: Names that a solver's ``service`` may have beside those of services: the benchmark
            is then measured with each of these services, and they are compared with the first.
        budget: What all benchmarks together may spend.
        cluster: Where the run happens.
        sandboxes: Sandboxes by name.
        shard_from: ``slurm_array``: each task of a Slurm array measures its part. Only a suite
            that says so is cut that way: an array may have nothing to do with it.
    """

    services: dict[str, PluginSpec]
    benchmarks: Annotated[list[BenchmarkConfig], Field(min_length=1)]
    output: OutputConfig = OutputConfig()
    matrix: dict[str, Annotated[list[str], Field(min_length=2)]] = Field(default_factory=dict)
    budget: BudgetConfig = BudgetConfig()
    cluster: ClusterConfig = ClusterConfig(type="local")
    sandboxes: dict[str, PluginSpec] = Field(default_factory=dict)
    shard_from: Literal["slurm_array"] | None = None
