"""Gate policies: what a file may say, and what that comes to for one benchmark."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated, Any, Literal, TypeAlias

from pydantic import BaseModel, BeforeValidator, ConfigDict, Field, ValidationError

from pytest_nel.config._document import Document, read_document
from pytest_nel.config.interpolate import Path as Keys
from pytest_nel.config.interpolate import Problem
from pytest_nel.config.problems import expected, got, kind, refuse, suggestion, text_of
from pytest_nel.gate.catalog import find_policy
from pytest_nel.gate.comparable import FIELDS, MUST_MATCH
from pytest_nel.gate.metrics import METRIC, SUPPORTED, supported

Tier: TypeAlias = Literal["critical", "supporting", "advisory"]
EVERY = "*"
"""The entry of ``per_category`` for categories that have none of their own."""


def _no_bool(value: object) -> object:
    if isinstance(value, bool):
        msg = "a number"
        raise ValueError(msg)  # noqa: TRY004  pydantic turns only these into its own
    return value


def _as_id(value: object) -> object:
    return str(value) if isinstance(value, int) and not isinstance(value, bool) else value


_Number: TypeAlias = Annotated[float, BeforeValidator(_no_bool)]
Share: TypeAlias = Annotated[_Number, Field(ge=0, le=1)]
NotNegative: TypeAlias = Annotated[_Number, Field(ge=0, allow_inf_nan=False)]
ProblemId: TypeAlias = Annotated[str, BeforeValidator(_as_id)]
Amount: TypeAlias = (
    Annotated[int, BeforeValidator(_no_bool), Field(ge=0, strict=True)]
    | Annotated[float, BeforeValidator(_no_bool), Field(ge=0, le=1)]
)
"""A whole number of attempts, or a share of them written with a decimal point."""


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="forbid")


class CategoryLimits(_Model):
    """What must hold in one category, on the benchmark's own metric."""

    max_drop: NotNegative | None = None
    min_score: Share | None = None


class Thresholds(_Model):
    """The keys of ``defaults`` and of each benchmark; null switches one off.

    Attributes:
        tier: Advisory benchmarks are reported and do not count.
        max_drop: How far the score may fall, on the scale of the metric (0.015 = 1.5 points).
        max_relative_drop: How far, as a share of the baseline.
        relative_guard_below: The relative limit holds only for a baseline below this.
        metric: What is compared; null: ``mean_reward``.
        direction: Which way is better.
        min_score: The score itself must reach this.
        per_category: Limits by category; ``*`` for all others.
        must_pass: Ids of problems that must be correct in every repeat.
        min_pass_rate: Share of its repeats in which a problem must be correct: one number for
            all, or one for each id.
        max_unscored: Attempts without a score: a count, or a share such as 0.01. So the next
            three.
        max_unparsed: Of the scored ones.
        max_truncated: Of the scored ones.
        max_empty: Of the scored ones.
        max_p95_latency: Seconds.
        max_cost: In the currency of the service's prices.
        max_tokens: In all.
        evidence: ``ci``: the whole 95 % interval must be inside; ``point``: the score alone.
        subset: Whether problems that both runs left out by ``max_problems`` may be missing.
    """

    tier: Tier = "supporting"
    max_drop: NotNegative | None = 0.015
    max_relative_drop: NotNegative | None = None
    relative_guard_below: Share | None = None
    metric: str | None = None
    direction: Literal["higher_is_better", "lower_is_better"] = "higher_is_better"
    min_score: Share | None = None
    per_category: dict[str, CategoryLimits] | None = None
    must_pass: list[ProblemId] | None = None
    min_pass_rate: Share | dict[ProblemId, Share] | None = None
    max_unscored: Amount | None = None
    max_unparsed: Amount | None = None
    max_truncated: Amount | None = None
    max_empty: Amount | None = None
    max_p95_latency: NotNegative | None = None
    max_cost: NotNegative | None = None
    max_tokens: NotNegative | None = None
    evidence: Literal["ci", "point"] = "ci"
    subset: Literal["refuse", "accept"] = "refuse"


class _PolicyFile(_Model):
    version: Annotated[Literal[1], BeforeValidator(_no_bool)]
    evidence: Literal["ci", "point"] | None = None
    correction: Literal["none", "holm"] = "none"
    comparable: list[str] | None = None
    defaults: Thresholds = Thresholds()
    benchmarks: dict[str, Thresholds] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class Rule:
    """What holds for one benchmark.

    Attributes:
        benchmark: Its name.
        limits: Entry over defaults.
        stated: Keys that the policy says itself; the others are built-in defaults.
        listed: Whether the policy names the benchmark.
    """

    benchmark: str
    limits: Thresholds
    stated: frozenset[str]
    listed: bool

    @property
    def gates(self) -> bool:
        """Whether it counts for the verdict."""
        return self.limits.tier != "advisory"

    @property
    def required(self) -> bool:
        """Whether it must be there."""
        return self.listed and self.gates

    @property
    def metric(self) -> str:
        """What is compared."""
        return self.limits.metric or METRIC

    @property
    def needs_baseline(self) -> bool:
        """Whether the policy itself asks for something that only a baseline can answer."""
        mine = {"max_drop", "max_relative_drop"} & self.stated
        stated = any(getattr(self.limits, name) is not None for name in mine)
        groups = (self.limits.per_category or {}).values()
        return stated or any(limits.max_drop is not None for limits in groups)


@dataclass(frozen=True, slots=True)
class Policy:
    """A policy that is right.

    Attributes:
        name: As it is shown: the file as it was given.
        defaults: For benchmarks without an entry, and for what an entry leaves out.
        benchmarks: Entries by benchmark.
        correction: ``holm``: breaches are decided with Holm's correction over benchmarks.
        comparable: Fields of the fingerprint that must be the same on both sides.
        lines: The line of each key, for messages.
        states: Whether it says anything at all.
    """

    name: str
    defaults: Thresholds
    benchmarks: Mapping[str, Thresholds]
    correction: Literal["none", "holm"] = "none"
    comparable: tuple[str, ...] = MUST_MATCH
    lines: Mapping[Keys, int] = field(default_factory=dict)
    states: bool = True

    def rule(self, benchmark: str) -> Rule:
        """What holds for this benchmark, listed or not."""
        entry = self.benchmarks.get(benchmark)
        stated = set(self.defaults.model_fields_set)
        if entry is None:
            return Rule(benchmark, self.defaults, frozenset(stated), listed=False)
        own = {name: getattr(entry, name) for name in entry.model_fields_set}
        limits = self.defaults.model_copy(update=own)
        return Rule(benchmark, limits, frozenset(stated | set(own)), listed=True)

    def rules(self) -> Iterator[Rule]:
        """Those of all listed benchmarks, in the file's order."""
        return (self.rule(name) for name in self.benchmarks)

    def place(self, *path: str) -> str:
        """``policy.yaml:12``: where a key stands, or the nearest one around it."""
        for length in range(len(path), -1, -1):
            if path[:length] in self.lines:
                return f"{self.name}:{self.lines[path[:length]]}"
        return self.name


def load_policy(path: str) -> Policy:
    """Read a policy: a file, or the name of one that comes along.

    Raises:
        ConfigError: It cannot be read, or something is wrong: one line each, with its line.
    """
    file = find_policy(path)
    return parse_policy(text_of(file, "gate policy"), path if file == Path(path) else file.name)


def parse_policy(text: str, where: str) -> Policy:
    """Read the text of a policy; ``where`` is the name that messages give to it.

    Raises:
        ConfigError: As :func:`load_policy`.
    """
    document = read_document(text)
    refuse(document.problems, document, where)
    raw = document.value
    if not isinstance(raw, dict):
        what = "nothing" if raw is None else kind(raw)
        refuse([Problem((), f"a gate policy must be a YAML mapping, got {what}")], document, where)
    raw = {key: _none_as_empty(key, value) for key, value in raw.items() if not key.startswith("_")}
    try:
        parsed = _PolicyFile.model_validate(raw)
    except ValidationError as error:
        refuse([_problem(entry, raw) for entry in error.errors(include_url=False)], document, where)
        raise  # never without problems
    states = bool(parsed.defaults.model_fields_set or parsed.benchmarks)
    policy = _policy(parsed, document, where, states=states)
    refuse(_cross_checks(policy, parsed), document, where)
    return policy


def _none_as_empty(key: str, value: Any) -> Any:
    """``benchmarks:`` with nothing below it, and entries with nothing below them."""
    if key in {"defaults", "benchmarks"} and value is None:
        return {}
    if key == "benchmarks" and isinstance(value, dict):
        return {name: {} if entry is None else entry for name, entry in value.items()}
    return value


def _policy(parsed: _PolicyFile, document: Document, where: str, *, states: bool) -> Policy:
    defaults = parsed.defaults
    if parsed.evidence is not None and "evidence" not in defaults.model_fields_set:
        defaults = defaults.model_copy(update={"evidence": parsed.evidence})
    return Policy(
        where,
        defaults,
        parsed.benchmarks,
        parsed.correction,
        MUST_MATCH if parsed.comparable is None else tuple(parsed.comparable),
        document.lines,
        states,
    )


_AMOUNTS = ("max_unscored", "max_unparsed", "max_truncated", "max_empty")
_WANTED = {
    "min_pass_rate": "a share from 0 to 1, or one for each problem id",
    **dict.fromkeys(_AMOUNTS, "a whole number of attempts, or a share such as 0.01"),
}


def _problem(error: Mapping[str, Any], raw: Mapping[str, Any]) -> Problem:
    path: Keys = tuple(error["loc"])
    union = next((at for at, part in enumerate(path) if part in _WANTED), None)
    if union is not None:  # what follows names branches of the union, too
        path = path[: union + 1]
        return Problem(path, f"expected {_WANTED[str(path[-1])]}, got {got(path, raw)}")
    if error["type"] == "missing":
        return Problem(path, "required, but missing; the only version is 1")
    if error["type"] == "extra_forbidden":
        return Problem(path, f"unknown key{_known(path)}")
    if path == ("version",):
        return Problem(path, f"unsupported gate policy version: {got(path, raw)}; expected 1")
    wanted = expected(error).removeprefix("Value error, ")
    return Problem(path, f"expected {wanted}, got {got(path, raw)}")


def _known(path: Keys) -> str:
    name = str(path[-1])
    if len(path) == 1:
        hint = (
            "; it belongs in defaults or in a benchmark" if name in Thresholds.model_fields else ""
        )
        return hint or suggestion(name, _PolicyFile.model_fields)
    if name in _PolicyFile.model_fields and name not in Thresholds.model_fields:
        return "; it belongs at the top of the file"
    fields = CategoryLimits if "per_category" in path else Thresholds
    return suggestion(name, fields.model_fields)


def _cross_checks(policy: Policy, parsed: _PolicyFile) -> Iterator[Problem]:
    for name in parsed.comparable or ():
        if name not in FIELDS:
            yield Problem(("comparable",), f"unknown field {name!r}{suggestion(name, FIELDS)}")
    stated = frozenset(policy.defaults.model_fields_set)
    yield from _entry_checks(Rule("", policy.defaults, stated, listed=False), ("defaults",))
    for rule in policy.rules():
        yield from _entry_checks(rule, ("benchmarks", rule.benchmark))


def _entry_checks(rule: Rule, path: tuple[str, ...]) -> Iterator[Problem]:
    limits = rule.limits
    if rule.required and limits.metric is None:
        message = (
            "required benchmark must resolve to an explicit metric, such as metric: mean_reward"
        )
        yield Problem(path, message)
    elif rule.gates and not supported(rule.metric):
        yield Problem(
            (*path, "metric"), f"unsupported metric {rule.metric!r}; supported metrics: {SUPPORTED}"
        )
    if limits.direction == "lower_is_better":
        for name in ("min_score", "per_category", "min_pass_rate", "must_pass"):
            if getattr(limits, name) is not None:
                yield Problem((*path, name), "has no meaning with direction: lower_is_better")
    for key, message in _no_limit(limits):
        yield Problem((*path, *key), message)
    idle = limits.relative_guard_below is not None and limits.max_relative_drop is None
    if idle and rule.listed:  # an entry may add to the defaults what makes it work
        message = "does nothing without max_relative_drop"
        yield Problem((*path, "relative_guard_below"), message)


def _no_limit(limits: Thresholds) -> Iterator[tuple[tuple[str, ...], str]]:
    """Limits that nothing could pass over: a slip of the scale, or a key that does nothing."""
    groups = limits.per_category or {}
    drops: dict[tuple[str, ...], float | None] = {("max_drop",): limits.max_drop}
    drops |= {("per_category", name, "max_drop"): own.max_drop for name, own in groups.items()}
    for key, most in drops.items():
        if most is not None and most >= 1 and limits.direction == "higher_is_better":
            yield key, f"{most:g} is no limit: scores lie in [0, 1], 0.015 is 1.5 points"
    least: dict[tuple[str, ...], object] = {("min_score",): limits.min_score}
    least[("min_pass_rate",)] = limits.min_pass_rate
    least |= {("per_category", name, "min_score"): own.min_score for name, own in groups.items()}
    for key, value in least.items():
        if value == 0:
            yield key, "0 is no limit: every score reaches it; leave it out"
