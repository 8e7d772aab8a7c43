"""What is wrong with the arguments of ``@benchmark`` and ``@scorer``, in words."""

import inspect
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_nel.authoring._values import is_label, wrong_requirements, wrong_sandbox

_ENDPOINT_TYPES: frozenset[str] = frozenset({"chat", "completions"})


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


def problem_of(made: Any) -> str | None:
    """What is wrong with a benchmark, or None."""
    functions = (_wrong_functions, _wrong_scorers, _wrong_gold, _wrong_sandbox)
    for check in (_wrong_type, _wrong_value, *functions):
        problem = check(made)
        if problem:
            return problem
    return wrong_requirements(made.requirements)


def _wrong_type(made: Any) -> str | None:
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
        ("size", (int, type(None)), "the number of problems or None"),
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


def _wrong_value(made: Any) -> str | None:
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
            made.size is not None and made.size < 1,
            f"size: expected a number of problems from 1, got {made.size!r}",
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
            made.judge not in {None, "generic", "simpleqa", "healthbench", "rubric"},
            f"judge: expected 'generic', 'simpleqa', 'healthbench' or 'rubric', got {made.judge!r}",
        ),
        (
            not (made.scorer or made.judge or made.seed_fn or made.target_field is not None),
            "expected a scorer, since without a target there is nothing to compare with",
        ),
    )
    return next((message for wrong, message in checks if wrong), None)


def _wrong_functions(made: Any) -> str | None:
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
    return None if made.scorer is None else scorer_problem(made.scorer)


def _wrong_scorers(made: Any) -> str | None:
    on_the_loop = made.scorer is not None and is_async(made.scorer)
    for name, function in made.scorers.items():
        if not is_label(name):
            return f"scorers: expected names without space around them, got {name!r}"
        if problem := scorer_problem(function):
            return f"scorers[{name!r}]: {problem}"
        if is_async(function) and not on_the_loop:
            return (
                f"scorers[{name!r}]: async, but the benchmark's own scorer is plain, so nothing "
                "awaits it: make both async, or neither"
            )
    return None


def _wrong_gold(made: Any) -> str | None:
    if made.gold is None or (isinstance(made.gold, str) and made.gold.strip()):
        return None
    if not callable(made.gold) or not takes(made.gold, 1) or is_async(made.gold):
        return (
            "gold: expected a template such as 'Answer: {target}', or a plain function of one "
            f"ScorerInput that returns text, got {made.gold!r}"
        )
    return None


def _wrong_sandbox(made: Any) -> str | None:
    return wrong_sandbox(made.sandbox, awaits=made.scorer is not None and is_async(made.scorer))


def scorer_problem(function: object) -> str | None:
    """What is wrong with a scorer, or None."""
    if hasattr(function, "target_field"):  # a Benchmark
        return "@scorer stands above @benchmark: put it below, right above the function"
    if not callable(function):
        return f"expected a scorer, a function that takes one ScorerInput, got {function!r}"
    name = getattr(function, "__name__", repr(function))
    if not takes(function, 1):
        return f"scorer {name}: expected to be called with one ScorerInput, as in {name}(sample)"
    if inspect.isgeneratorfunction(function) or inspect.isasyncgenfunction(function):
        return f"scorer {name}: expected a function that returns, got one that yields"
    return None
