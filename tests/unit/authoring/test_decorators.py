"""The decorators: what they make, and what they refuse."""

from collections.abc import Callable
from typing import Any

import pytest

from pytest_nel.authoring.benchmark import (
    Benchmark,
    benchmark,
    register,
    scorer,
)
from pytest_nel.authoring.requirements import check_requirements
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.types import ScorerInput

ROWS = [{"q": "1+1", "target": "2"}]


def right(sample: ScorerInput) -> bool:
    return bool(sample.response == sample.target)


def make(function: Any = right, **arguments: Any) -> Benchmark:
    given = {"name": "b", "dataset": ROWS, "prompt": "{q}", **arguments}
    return benchmark(**given)(function)


def test_a_decorated_scorer_is_a_benchmark_that_can_be_called() -> None:
    @benchmark(name="sums", dataset=ROWS, prompt="{q}")
    @scorer
    def sums(sample: ScorerInput) -> dict[str, bool]:
        return {"correct": sample.response == sample.target}

    assert isinstance(sums, Benchmark)
    assert sums.name == "sums"
    assert sums.file == __file__
    assert sums(ScorerInput(response="2", target="2")) == {"correct": True}


def test_an_undecorated_function_is_a_scorer_too() -> None:
    assert make(right).scorer is right


def test_the_scorer_decorator_gives_the_function_back() -> None:
    assert scorer(right) is right


def test_further_keyword_arguments_become_extra() -> None:
    made = make(extra={"a": 1}, tolerance=0.1)

    assert made.extra == {"a": 1, "tolerance": 0.1}


def test_without_a_scorer_equality_decides_and_nothing_is_never_right() -> None:
    made = Benchmark(name="b", dataset=ROWS, prompt="{q}")

    def reward(response: str, target: str) -> Any:
        return made(ScorerInput(response=response, target=target))["reward"]

    assert reward(" Paris\n", "paris") == 1.0
    assert reward("Rome", "paris") == 0.0
    assert reward("", "") == 0.0


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"name": 5}, "name: expected text"),
        ({"name": ""}, "name: expected text"),
        ({"name": "a\nb"}, "name: expected text"),
        ({"dataset": 5}, "dataset: expected a path"),
        ({"dataset": None}, "dataset: expected a path"),
        ({"prompt": ""}, "prompt: expected a template"),
        ({"prompt": 5}, "prompt: expected text"),
        ({"target_field": 5}, "target_field: expected the name"),
        ({"endpoint_type": "responses"}, "endpoint_type: expected 'chat' or 'completions'"),
        ({"system_prompt": 5}, "system_prompt: expected text"),
        ({"field_mapping": ["a"]}, "field_mapping: expected a mapping"),
        ({"field_mapping": {"a": 1}}, "field_mapping: expected names"),
        ({"extra": 5}, "extra: expected a mapping"),
        ({"requirements": "numpy"}, "requirements: expected a list"),
        ({"requirements": ["not a requirement!"]}, "no requirement that pip takes"),
        ({"prepare_row": lambda row: row}, "takes (row, idx, rng)"),
        ({"prepare_row": 5}, "takes (row, idx, rng)"),
        ({"seed_fn": lambda row: row, "prompt": ""}, "takes (row, idx)"),
        ({"seed_fn": lambda row, _: row}, "seed_fn builds the whole problem"),
        ({"pass_at": 0}, "pass_at: expected a reward"),
        ({"pass_at": 1.5}, "pass_at: expected a reward"),
        ({"pass_at": True}, "pass_at: expected a number"),
        ({"id_field": 5}, "id_field: expected the name"),
        ({"size": "9"}, "size: expected the number of problems or None"),
        ({"size": 0}, "size: expected a number of problems from 1, got 0"),
        ({"extra": {"x": 1}, "x": 2}, "'x' is given as an argument and in extra"),
        ({"promt": "x"}, "did you mean prompt=?"),
        ({"requirement": []}, "did you mean requirements=?"),
    ],
)
def test_an_argument_that_cannot_be_right_is_refused_with_its_place(
    arguments: dict[str, Any], words: str
) -> None:
    with pytest.raises(ConfigError) as caught:
        make(**arguments)

    assert words in str(caught.value)
    assert str(caught.value).startswith(f"{__file__}:")


@pytest.mark.parametrize(
    ("function", "words"),
    [
        (5, "a function that takes one ScorerInput"),
        (lambda: 1, "called with one ScorerInput"),
        (lambda _a, _b: 1, "called with one ScorerInput"),
        ([].copy, "called with one ScorerInput"),
    ],
)
@pytest.mark.parametrize("decorate", [scorer, make])
def test_something_that_is_no_scorer_is_refused(
    function: object, words: str, decorate: Callable[[Any], object]
) -> None:
    with pytest.raises(ConfigError) as caught:
        decorate(function)

    assert words in str(caught.value)
    assert __file__ in str(caught.value)


def test_a_scorer_that_yields_is_refused() -> None:
    def yields(sample: ScorerInput) -> Any:
        yield sample

    with pytest.raises(ConfigError, match="one that yields"):
        scorer(yields)


def test_decorators_in_the_wrong_order_are_explained() -> None:
    with pytest.raises(ConfigError, match="@scorer stands above @benchmark"):
        scorer(make())


def test_a_benchmark_with_neither_target_nor_scorer_judges_nothing() -> None:
    with pytest.raises(ConfigError, match="expected a scorer"):
        Benchmark(name="b", dataset=ROWS, prompt="{q}", target_field=None)


def test_register_names_a_class_and_nothing_else() -> None:
    @register("mine")
    class Mine(EvalEnvironment):
        pass

    assert Mine.name == "mine"
    assert EvalEnvironment.name == ""


@pytest.mark.parametrize("wrong", ["", " "])
def test_register_wants_a_name(wrong: str) -> None:
    with pytest.raises(ConfigError, match=r"@register wants a name"):
        register(wrong)


def test_register_without_parentheses_is_explained() -> None:
    class Mine(EvalEnvironment):
        pass

    with pytest.raises(ConfigError, match=r"@register\('capitals'\)"):
        register(Mine)  # type: ignore[arg-type]  # the mistake under test


def test_register_wants_an_environment() -> None:
    with pytest.raises(ConfigError, match="subclass of EvalEnvironment"):
        register("x")(dict)  # type: ignore[type-var]  # the mistake under test


def test_packages_that_are_missing_are_named_with_the_pip_line() -> None:
    made = make(
        requirements=["pytest>=1", "no-such-package-nel", "pyyaml>=99", "x; python_version<'3'"]
    )

    with pytest.raises(ConfigError) as caught:
        check_requirements(made)

    assert "pip install 'no-such-package-nel' 'pyyaml>=99'" in str(caught.value)


def test_packages_that_are_there_are_fine() -> None:
    check_requirements(make(requirements=["pytest>=1"]))
