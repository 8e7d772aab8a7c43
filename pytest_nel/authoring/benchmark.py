"""``@benchmark``, ``@scorer`` and ``@register``: a benchmark is a value, and nothing is registered.

Whoever needs a benchmark looks at the attributes of its module, so importing a file twice does no
harm. Everything that can be wrong with the decorators' arguments is refused where they stand.
"""

import difflib
import inspect
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, fields
from functools import partial
from pathlib import Path
from typing import Any, Literal, TypeAlias, TypeVar

from pytest_nel.authoring.mistakes import problem_of, scorer_problem
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import SandboxSpec
from pytest_nel.core.types import ScorerInput, SeedResult

Row: TypeAlias = dict[str, Any]  # Any: what a dataset holds
#: Returns a VerifyResult, a dict with ``reward`` or ``correct``, a bool or a number; or a
#: coroutine of one of these.
Scorer: TypeAlias = Callable[[ScorerInput], Any]
DatasetSpec: TypeAlias = str | Path | Sequence[Mapping[str, Any]] | Callable[..., Iterable[Any]]
#: ``prepare_row(row, idx, rng)``; rng is a random.Random of that row's own.
PrepareRow: TypeAlias = Callable[..., Row]
SeedFunction: TypeAlias = Callable[[Row, int], SeedResult]

Gold: TypeAlias = Callable[[ScorerInput], str | None]
Preset: TypeAlias = Literal["generic", "simpleqa", "healthbench", "rubric"]

_ScorerT = TypeVar("_ScorerT", bound=Callable[..., Any])
_EnvironmentT = TypeVar("_EnvironmentT", bound=type[EvalEnvironment])


@dataclass(frozen=True, eq=False, kw_only=True)
class Benchmark:
    """Problems and how to judge answers to them; what ``@benchmark`` makes of a scorer.

    Calling it calls the scorer, which is handy in tests of one's own:
    ``capitals(ScorerInput(response="Paris", target="Paris"))``.

    Attributes:
        name: The public name, also of the results' folder.
        dataset: A path relative to the file, ``hf://…``, ``https://…#sha256=…``, rows, or a
            function that returns rows.
        prompt: A template with ``{field}``, or the name of a ``.txt`` or ``.md`` file.
        target_field: The field with the gold answer; None for a benchmark that has none.
        endpoint_type: ``chat`` or ``completions``: the protocol the benchmark is written for.
        system_prompt: Sent before the prompt, unless the solver has its own.
        field_mapping: Field of the dataset → further name for it.
        extra: Settings for the scorer, its ``sample.config``.
        requirements: Packages the benchmark needs, as pip takes them; checked when it is loaded.
        prepare_row: Changes a row before anything is made of it.
        seed_fn: Builds the whole problem, in place of ``prompt`` and ``target_field``.
        pass_at: The reward from which an attempt counts as correct.
        min_score: What the score must reach, where suite and command line do not say.
        id_field: The field that names a problem; None means ``id`` where every row has one.
        scorers: Further scorers by name; each judges every answer, beside ``scorer``.
        gold: A right answer as a model would write it, for the self-test: a template such as
            ``"Answer: {target}"``, or a function of a :class:`ScorerInput` without a response
            (None from it: this row has none). Without it the gold answer is tried alone and in
            the usual forms.
        size: How many problems the whole set has; a run of a set with more or fewer says so.
        judge: The grader among models that it needs (``generic``, ``simpleqa``,
            ``healthbench``, ``rubric``): its scorer returns ``needs_judge()`` where
            it cannot decide itself; without a scorer every answer is graded so.
        sandbox: What its code runs in: an image's name, or a :class:`SandboxSpec`. The solver
            gets one, and the scorer, which is then async, a fresh one as ``sample.sandbox``.
        scorer: Judges an answer; None means equality without regard to case and outer space.
        file: Where the benchmark is written.
        line: As above.
    """

    name: str
    dataset: DatasetSpec
    prompt: str | Path = ""
    target_field: str | None = "target"
    endpoint_type: Literal["chat", "completions"] = "chat"
    system_prompt: str | None = None
    field_mapping: Mapping[str, str] = field(default_factory=dict)
    extra: Mapping[str, Any] = field(default_factory=dict)
    requirements: Sequence[str] = ()
    prepare_row: PrepareRow | None = None
    seed_fn: SeedFunction | None = None
    pass_at: float = 1.0
    min_score: float | None = None
    id_field: str | None = None
    scorers: Mapping[str, Scorer] = field(default_factory=dict)
    gold: str | Gold | None = None
    size: int | None = None
    judge: Preset | None = None
    sandbox: str | SandboxSpec | None = None
    scorer: Scorer | None = None
    file: str = ""
    line: int = 0

    def __post_init__(self) -> None:
        if not self.file:
            file, line = _caller()
            object.__setattr__(self, "file", file)
            object.__setattr__(self, "line", line)
        problem = problem_of(self)
        if problem:
            msg = f"{self.file}:{self.line}: benchmark {self.name!r}: {problem}"
            raise ConfigError(msg)

    def __call__(self, sample: ScorerInput) -> Any:  # Any: what the author's scorer returns
        """Run the scorer; without one, say whether response and target are equal."""
        return equals_target(sample) if self.scorer is None else self.scorer(sample)


def equals_target(sample: ScorerInput) -> dict[str, Any]:
    """Compare without regard to case and outer space; an empty response is never correct."""
    answer = sample.response.strip()
    correct = bool(answer) and answer.casefold() == str(sample.target).strip().casefold()
    return {"reward": float(correct), "extracted": answer or None}


def benchmark(  # noqa: PLR0913, PLR0917  # the public signature: one argument each
    name: str,
    dataset: DatasetSpec,
    prompt: str | Path = "",
    target_field: str | None = "target",
    endpoint_type: Literal["chat", "completions"] = "chat",
    system_prompt: str | None = None,
    field_mapping: Mapping[str, str] | None = None,
    extra: Mapping[str, Any] | None = None,
    requirements: Sequence[str] | None = None,
    prepare_row: PrepareRow | None = None,
    seed_fn: SeedFunction | None = None,
    *,
    pass_at: float = 1.0,
    min_score: float | None = None,
    id_field: str | None = None,
    scorers: Mapping[str, Scorer] | None = None,
    gold: str | Gold | None = None,
    size: int | None = None,
    judge: Preset | None = None,
    sandbox: str | SandboxSpec | None = None,
    **more: Any,
) -> Callable[[Scorer], Benchmark]:
    """Make a :class:`Benchmark` of the scorer below: its attributes, the rest goes to ``extra``.

    A ConfigError with file and line says which argument cannot be right.
    """
    return partial(
        _make,
        name=name,
        dataset=dataset,
        prompt=prompt,
        target_field=target_field,
        endpoint_type=endpoint_type,
        system_prompt=system_prompt,
        field_mapping={} if field_mapping is None else field_mapping,
        extra=(extra, more),
        requirements=requirements or (),
        prepare_row=prepare_row,
        seed_fn=seed_fn,
        pass_at=pass_at,
        min_score=min_score,
        id_field=id_field,
        scorers={} if scorers is None else scorers,
        gold=gold,
        size=size,
        judge=judge,
        sandbox=sandbox,
        place=_caller(),
    )


def _make(
    function: Scorer, place: tuple[str, int], extra: tuple[Any, Any], **arguments: Any
) -> Benchmark:
    file, line = place
    merged = _merged(*extra, f"{file}:{line}: benchmark {arguments['name']!r}")
    return Benchmark(scorer=function, file=file, line=line, extra=merged, **arguments)


def _merged(extra: object, more: Mapping[str, Any], place: str) -> Mapping[str, Any]:
    """Further keyword arguments join ``extra``, unless one looks like a slip of the pen."""
    for key in more:
        near = difflib.get_close_matches(key, _argument_names(), n=1, cutoff=0.75)
        if near:
            msg = (
                f"{place}: {key}= is no argument; did you mean {near[0]}=? "
                f"(for the scorer's settings write extra={{{key!r}: …}})"
            )
            raise ConfigError(msg)
    if extra is not None and not isinstance(extra, Mapping):
        msg = f"{place}: extra: expected a mapping, got {extra!r}"
        raise ConfigError(msg)
    twice = sorted(more.keys() & (extra or {}).keys())
    if twice:
        msg = f"{place}: {twice[0]!r} is given as an argument and in extra"
        raise ConfigError(msg)
    return {**(extra or {}), **more}


def scorer(function: _ScorerT) -> _ScorerT:
    """Declare a function (or an async one) as a scorer: it takes one :class:`ScorerInput`.

    The function comes back unchanged, so it can be called and tested as it is.

    Raises:
        ConfigError: It cannot be called with one argument, or it is a benchmark already.
    """
    problem = scorer_problem(function)
    if problem:
        file, line = _caller()
        msg = f"{file}:{line}: {problem}"
        raise ConfigError(msg)
    return function


def register(name: str) -> Callable[[_EnvironmentT], _EnvironmentT]:
    """Give an :class:`EvalEnvironment` class its public name; nothing global is changed.

    Raises:
        ConfigError: The name is blank, or what is decorated is no such class.
    """
    file, line = _caller()
    if not str(name).strip() or callable(name):
        msg = f"{file}:{line}: @register wants a name, as in @register('capitals'), got {name!r}"
        raise ConfigError(msg)

    def decorate(cls: _EnvironmentT) -> _EnvironmentT:
        if not _is_environment(cls):
            msg = f"{file}:{line}: @register wants a subclass of EvalEnvironment, got {cls!r}"
            raise ConfigError(msg)
        cls.name = name
        return cls

    return decorate


def _is_environment(value: object) -> bool:
    return inspect.isclass(value) and issubclass(value, EvalEnvironment)


def _caller() -> tuple[str, int]:
    """File and line of the nearest frame outside this module."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return ("?", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _argument_names() -> list[str]:
    return [entry.name for entry in fields(Benchmark) if entry.name not in {"file", "line"}]
