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

from pytest_nel.authoring._values import is_label, wrong_requirements
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.protocols import EvalEnvironment
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
Preset: TypeAlias = Literal["generic", "simpleqa", "healthbench"]

_ENDPOINT_TYPES: frozenset[str] = frozenset({"chat", "completions"})
_ScorerT = TypeVar("_ScorerT", bound=Callable[..., Any])
_EnvironmentT = TypeVar("_EnvironmentT", bound=type[EvalEnvironment])


@dataclass(frozen=True, eq=False, kw_only=True)
class Benchmark:
    """Problems and how to judge answers to them; what ``@benchmark`` makes of a scorer.

    Calling it calls the scorer, which is handy in tests of one's own:
    ``capitals(ScorerInput(response="Paris", target="Paris"))``.

    Attributes:
        name: The public name, also of the results' folder.
        dataset: A path relative to the file, ``hf://…``, rows, or a function that returns rows.
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
        judge: The grader among models that it needs (``generic``, ``simpleqa``,
            ``healthbench``): its scorer returns ``needs_judge()`` where it cannot decide itself;
            without a scorer every answer is graded so.
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
    judge: Preset | None = None
    scorer: Scorer | None = None
    file: str = ""
    line: int = 0

    def __post_init__(self) -> None:
        if not self.file:
            file, line = _caller()
            object.__setattr__(self, "file", file)
            object.__setattr__(self, "line", line)
        problem = _problem(self)
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
    judge: Preset | None = None,
    **more: Any,
) -> Callable[[Scorer], Benchmark]:
    """Make a :class:`Benchmark` of the scorer below: its attributes, the rest goes to ``extra``.

    Raises:
        ConfigError: An argument cannot be right; the message names file and line.
    """
    file, line = _caller()
    return partial(
        _make,
        name=name,
        dataset=dataset,
        prompt=prompt,
        target_field=target_field,
        endpoint_type=endpoint_type,
        system_prompt=system_prompt,
        field_mapping={} if field_mapping is None else field_mapping,
        extra=_merged(extra, more, f"{file}:{line}: benchmark {name!r}"),
        requirements=() if requirements is None else requirements,
        prepare_row=prepare_row,
        seed_fn=seed_fn,
        pass_at=pass_at,
        min_score=min_score,
        id_field=id_field,
        scorers={} if scorers is None else scorers,
        gold=gold,
        judge=judge,
        file=file,
        line=line,
    )


def _make(function: Scorer, **arguments: Any) -> Benchmark:
    return Benchmark(scorer=function, **arguments)


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
    problem = _scorer_problem(function)
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


def is_async(function: Callable[..., Any]) -> bool:
    """Whether calling it gives a coroutine."""
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004  # an object with an async __call__
    )


def takes(function: Callable[..., Any], count: int) -> bool:
    """Whether it can be called with that many positional arguments."""
    try:
        inspect.signature(function).bind(*range(count))
    except (TypeError, ValueError):  # TypeError also: not callable; ValueError: no signature
        return False
    return True


def _caller() -> tuple[str, int]:
    """File and line of the nearest frame outside this module."""
    frame = inspect.currentframe()
    while frame is not None and frame.f_globals.get("__name__") == __name__:
        frame = frame.f_back
    return ("?", 0) if frame is None else (frame.f_code.co_filename, frame.f_lineno)


def _argument_names() -> list[str]:
    return [entry.name for entry in fields(Benchmark) if entry.name not in {"file", "line"}]


def _problem(made: Benchmark) -> str | None:
    """What is wrong with a benchmark, or None."""
    functions = (_wrong_functions, _wrong_scorers, _wrong_gold)
    for check in (_wrong_type, _wrong_value, *functions):
        problem = check(made)
        if problem:
            return problem
    return wrong_requirements(made.requirements)


def _wrong_type(made: Benchmark) -> str | None:
    wanted: tuple[tuple[str, tuple[type, ...], str], ...] = (
        ("name", (str,), "text"),
        ("prompt", (str, Path), "text"),
        ("target_field", (str, type(None)), "the name of a field or None"),
        ("system_prompt", (str, type(None)), "text or None"),
        ("field_mapping", (Mapping,), "a mapping from field to new name"),
        ("extra", (Mapping,), "a mapping"),
        ("requirements", (list, tuple), "a list of requirements as pip takes them"),
        ("pass_at", (int, float), "a number"),
        ("min_score", (int, float, type(None)), "a score from 0 to 1 or None"),
        ("id_field", (str, type(None)), "the name of a field or None"),
        ("scorers", (Mapping,), "a mapping from name to scorer"),
    )
    for name, types, words in wanted:
        value = getattr(made, name)
        if not isinstance(value, types) or isinstance(value, bool):
            return f"{name}: expected {words}, got {value!r}"
    rows = isinstance(made.dataset, Sequence) and not isinstance(made.dataset, bytes)
    if not (rows or isinstance(made.dataset, Path) or callable(made.dataset)):
        return (
            "dataset: expected a path, hf://…, a list of dicts or a function that returns rows, "
            f"got {type(made.dataset).__name__}"
        )
    names = [*made.field_mapping, *made.field_mapping.values()]
    if not all(isinstance(name, str) for name in names):
        return "field_mapping: expected names of fields on both sides"
    return None


def _wrong_value(made: Benchmark) -> str | None:
    checks = (
        (not is_label(made.name), "name: expected text without space around it or line breaks"),
        (
            made.endpoint_type not in _ENDPOINT_TYPES,
            f"endpoint_type: expected 'chat' or 'completions', got {made.endpoint_type!r}",
        ),
        (
            not 0 < made.pass_at <= 1,
            f"pass_at: expected a reward above 0 and at most 1, got {made.pass_at!r}",
        ),
        (
            made.min_score is not None and not 0 <= made.min_score <= 1,
            f"min_score: expected a score from 0 to 1 or None, got {made.min_score!r}",
        ),
        (
            made.seed_fn is None and not str(made.prompt).strip(),
            "prompt: expected a template such as '{question}' (or a seed_fn), got nothing",
        ),
        (
            made.seed_fn is not None and bool(made.prompt),
            "prompt and seed_fn are both given; seed_fn builds the whole problem, so drop one",
        ),
        (
            made.judge not in {None, "generic", "simpleqa", "healthbench"},
            f"judge: expected 'generic', 'simpleqa' or 'healthbench', got {made.judge!r}",
        ),
        (
            not (made.scorer or made.judge or made.seed_fn or made.target_field is not None),
            "expected a scorer, since without a target there is nothing to compare with",
        ),
    )
    return next((message for wrong, message in checks if wrong), None)


def _wrong_functions(made: Benchmark) -> str | None:
    shapes = (
        ("prepare_row", made.prepare_row, 3, "(row, idx, rng)"),
        ("seed_fn", made.seed_fn, 2, "(row, idx)"),
    )
    for name, function, count, shape in shapes:
        if function is None:
            continue
        if not takes(function, count):
            return f"{name}: expected a function that takes {shape}, got {function!r}"
        if is_async(function):
            return f"{name}: expected a plain function, got an async one"
    if callable(made.dataset) and is_async(made.dataset):
        return "dataset: expected a plain function, got an async one"
    return None if made.scorer is None else _scorer_problem(made.scorer)


def _wrong_scorers(made: Benchmark) -> str | None:
    on_the_loop = made.scorer is not None and is_async(made.scorer)
    for name, function in made.scorers.items():
        if not is_label(name):
            return f"scorers: expected names without space around them, got {name!r}"
        if problem := _scorer_problem(function):
            return f"scorers[{name!r}]: {problem}"
        if is_async(function) and not on_the_loop:
            return (
                f"scorers[{name!r}]: async, but the benchmark's own scorer is plain, so nothing "
                "awaits it: make both async, or neither"
            )
    return None


def _wrong_gold(made: Benchmark) -> str | None:
    if made.gold is None or (isinstance(made.gold, str) and made.gold.strip()):
        return None
    if not callable(made.gold) or not takes(made.gold, 1) or is_async(made.gold):
        return (
            "gold: expected a template such as 'Answer: {target}', or a plain function of one "
            f"ScorerInput that returns text, got {made.gold!r}"
        )
    return None


def _scorer_problem(function: object) -> str | None:
    if isinstance(function, Benchmark):
        return "@scorer stands above @benchmark: put it below, right above the function"
    if not callable(function):
        return f"expected a scorer, a function that takes one ScorerInput, got {function!r}"
    name = getattr(function, "__name__", repr(function))
    if not takes(function, 1):
        return f"scorer {name}: expected to be called with one ScorerInput, as in {name}(sample)"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return f"scorer {name}: expected a function that returns, got one that yields"
    return None
