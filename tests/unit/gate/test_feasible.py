"""What no candidate could give is found before anything is measured, with the line of the file."""

import re
from typing import Any

import pytest

from pytest_nel.gate.feasible import (
    MIN_PAIRED,
    Planned,
    needed_for_drop,
    needed_for_relative,
    needed_for_score,
    unmeetable,
)
from pytest_nel.gate.policy import parse_policy
from pytest_nel.stats.intervals import wilson
from pytest_nel.stats.paired import paired_difference


def plan(problems: int = 1000, **more: Any) -> Planned:
    return Planned(**({"problems": problems, "total": problems, "repeats": 1} | more))


def lines(limits: str, planned: Planned, *, baseline: bool = True) -> list[str]:
    keys = limits if "metric:" in limits else f"metric: mean_reward\n    {limits}"
    text = f"version: 1\nbenchmarks:\n  mmlu:\n    {keys}\n"
    return unmeetable(parse_policy(text, "p.yaml"), {"mmlu": planned}, baseline=baseline)


@pytest.mark.parametrize("most", [0.005, 0.01, 0.015, 0.05, 0.2])
def test_the_minimum_for_a_drop_is_where_equal_answers_begin_to_pass(most: float) -> None:
    needed = needed_for_drop(most)

    assert needed is not None
    for n, passes in ((needed - 1, False), (needed, True)):
        found = paired_difference([1.0] * n, [1.0] * n)
        assert found is not None
        assert (-found.low <= most) == passes


@pytest.mark.parametrize("most", [0.01, 0.05, 0.2])
def test_the_minimum_for_a_relative_drop_is_where_equal_perfect_answers_begin_to_pass(
    most: float,
) -> None:
    needed = needed_for_relative(most)

    assert needed is not None
    for n, passes in ((needed - 1, False), (needed, True)):
        found = paired_difference([1.0 - most] * n, [1.0] * n)
        assert found is not None
        assert (found.low >= -1e-9) == passes


@pytest.mark.parametrize("least", [0.5, 0.9, 0.99])
def test_the_minimum_for_a_score_is_where_a_perfect_one_begins_to_pass(least: float) -> None:
    needed = needed_for_score(least)

    assert needed is not None
    found = wilson(needed, needed)
    assert found is not None
    assert found.low >= least  # with Student's t below 100 problems it takes a few more


@pytest.mark.parametrize(
    ("limits", "enough"),
    [
        ("max_drop: 0.01", 381),
        ("max_drop: 0.99", MIN_PAIRED),
        ("max_drop: 0.01\n    evidence: point", MIN_PAIRED),
        ("max_drop: null\n    max_relative_drop: 0.01", 385),
        ("max_drop: null\n    min_score: 0.99", 381),
    ],
)
def test_too_few_problems_are_refused_and_the_minimum_said(limits: str, enough: int) -> None:
    few, there = lines(limits, plan(enough - 1)), lines(limits, plan(enough))

    assert len(few) == 1
    assert re.match(r"p\.yaml:[56]: mmlu: \w+: [\d.]+ cannot be shown with ", few[0])
    assert f"at least {enough:,} are needed" in few[0]
    assert there == []


@pytest.mark.parametrize("limit", ["max_drop: 0", "max_drop: null\n    min_score: 1"])
def test_where_no_number_is_enough_that_is_said(limit: str) -> None:
    [line] = lines(limit, plan(1_000_000))

    assert "no number is enough" in line
    assert "evidence: point" in line


@pytest.mark.parametrize(
    "limits",
    [
        "max_drop: 0\n    evidence: point",
        "max_drop: null\n    min_score: 1\n    evidence: point",
        "max_drop: 0\n    tier: advisory",
        "max_drop: 0\n    direction: lower_is_better",
        "max_drop: 0.05\n    max_relative_drop: 0.0001\n    relative_guard_below: 0.2",
    ],
)
def test_what_may_be_met_is_not_refused(limits: str) -> None:
    assert lines(limits, plan(1000)) == []


def test_a_drop_is_no_question_without_a_baseline() -> None:
    assert lines("max_drop: 0.001", plan(100), baseline=False) == []


@pytest.mark.parametrize(
    ("limits", "planned", "said"),
    [
        ("metric: pass@4", plan(repeats=3), "metric: pass@4 needs 4 repeats, there are 3"),
        (
            "metric: 'scorer:f1'",
            plan(scorers=("bleu",)),
            "has no further scorer 'f1'; it has: bleu",
        ),
        ("max_cost: 3", plan(), "max_cost: the service has no prices: add `prices` to it"),
        ("max_unscored: 0", plan(500, total=1000), "500 of 1,000 problems are planned"),
        (
            "must_pass: [a, zz]",
            plan(ids=("a",)),
            "must_pass: no problem that is planned has the id zz",
        ),
        ("min_pass_rate: {zz: 1}", plan(ids=("a",)), "min_pass_rate: no problem that is planned"),
        (
            "per_category: {law: {max_drop: 0.1}}",
            plan(categories={"art": 1000}),
            "per_category.law: no problem has this category; there are: art",
        ),
        (
            "per_category: {law: {max_drop: 0.1}}",
            plan(categories={"law": 10}),
            "per_category.law.max_drop: category 'law': 0.1 cannot be shown with 10 problems",
        ),
        (
            "per_category: {'*': {max_drop: 0.1}}",
            plan(categories={}),
            "per_category.*: no problem has a category",
        ),
        (
            "per_category: {'*': {min_score: 0.9}}",
            plan(categories={"law": 10}),
            "per_category.*.min_score: category 'law': 0.9 cannot be shown with 10 problems",
        ),
    ],
)
def test_what_the_benchmark_does_not_have_is_refused_with_its_line(
    limits: str, planned: Planned, said: str
) -> None:
    [line] = lines(limits, planned)

    assert re.match(r"p\.yaml:[345]: mmlu: ", line)
    assert said in line


@pytest.mark.parametrize(
    ("limits", "planned"),
    [
        ("metric: pass@4", plan(repeats=4)),
        ("metric: 'scorer:f1'", plan(scorers=("f1",))),
        ("max_cost: 3", plan(priced=True)),
        ("subset: accept", plan(500, total=1000)),
        ("must_pass: [a]", plan(ids=("a",))),
        ("must_pass: [a]", plan(ids=None)),
        ("per_category: {law: {max_drop: 0.1}}", plan(categories={"law": 1000})),
        ("per_category: {law: {max_drop: 0.1}}", plan(categories=None)),
    ],
)
def test_what_it_has_is_not_refused(limits: str, planned: Planned) -> None:
    assert lines(limits, planned) == []


def test_a_limit_of_the_defaults_is_named_where_it_stands() -> None:
    text = (
        "version: 1\ndefaults:\n  metric: mean_reward\n  max_drop: 0.001\nbenchmarks: {mmlu: {}}\n"
    )

    found = unmeetable(parse_policy(text, "p.yaml"), {"mmlu": plan(100)}, baseline=True)

    assert [line.split(" ")[0] for line in found] == ["p.yaml:4:"]
