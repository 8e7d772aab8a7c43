"""Scores by group."""

import pytest

from tests.unit.records.attempts import Pair, attempt, bundle_of, scores_of


def of(problem: int, reward: float | None = 1.0, **metadata: object) -> Pair:
    return attempt(problem, 0, reward, solved={"seed_metadata": metadata})


def categories(pairs: list[Pair], repeats: int = 1) -> dict[str, dict[str, object]]:
    found: dict[str, dict[str, object]] = bundle_of(pairs, repeats)["benchmark"]["categories"]
    return found


@pytest.mark.parametrize("first", [0, 1])
def test_categories_are_there_whatever_row_comes_first(first: int) -> None:
    """The reference system looks at the first row alone."""
    pairs = [of(0), of(1, 0.0, category="x")]

    found = categories([pairs[first], pairs[1 - first]])

    assert {name: facts["mean_reward"] for name, facts in found.items()} == {
        "unknown": 1.0,
        "x": 0.0,
    }


def test_without_any_category_there_are_none() -> None:
    assert "categories" not in bundle_of([of(0), of(1)])["benchmark"]


def test_where_every_row_has_a_category_none_is_unknown() -> None:
    assert list(categories([of(0, category="y"), of(1, category="x")])) == ["x", "y"]


def test_a_category_of_that_name_is_not_the_missing_one() -> None:
    found = categories([of(0, 1.0, category="unknown"), of(1, 0.0)])

    assert found["unknown"]["mean_reward"] == 1.0
    assert found["unknown_"]["mean_reward"] == 0.0


def test_a_category_counts_attempts_problems_and_unparsed_answers() -> None:
    pairs = [
        attempt(0, 0, 1.0, metadata={"category": "x"}),
        attempt(0, 1, 0.0, metadata={"category": "x"}, outcome="unparsed"),
        attempt(1, 0, 1.0, metadata={"category": "x"}),
        attempt(1, 1, None, metadata={"category": "x"}),
    ]

    facts = categories(pairs, 2)["x"]

    assert (facts["n"], facts["n_problems"], facts["n_unparsed"]) == (3, 2, 1)
    assert facts["mean_reward"] == 0.75
    assert 0 <= float(str(facts["ci_lower"])) < 0.75 < float(str(facts["ci_upper"])) <= 1


def test_short_texts_and_switches_break_the_scores_down() -> None:
    pairs = [
        attempt(
            problem,
            0,
            float(problem % 2),
            details={"rule": "box" if problem % 2 else "line", "method": "m", "correct": True},
            solved={"seed_metadata": {"hard": problem < 3, "level": problem}},
        )
        for problem in range(6)
    ]

    found = scores_of(pairs)["breakdowns"]

    assert set(found) == {"rule", "hard"}  # method is constant, level a number
    assert [(row["group"], row["n"], row["mean_reward"]) for row in found["rule"]] == [
        ("box", 3, 1.0),
        ("line", 3, 0.0),
    ]
    assert [row["group"] for row in found["hard"]] == ["False", "True"]
    assert set(found["hard"][0]) == {
        *("group", "n", "mean_reward"),
        *("ci_lower", "ci_upper", "ci_method"),
    }


def test_a_field_that_a_scored_row_lacks_breaks_nothing_down() -> None:
    whole = [attempt(p, 0, 1.0, details={"rule": "ab"[p % 2]}) for p in range(4)]
    lacking = attempt(9, 0, 0.0, details={})
    unscored = attempt(9, 0, None)

    assert "breakdowns" not in scores_of([*whole, lacking])
    assert "breakdowns" not in scores_of([lacking, *whole])
    assert "rule" in scores_of([unscored, *whole])["breakdowns"]


@pytest.mark.parametrize(("values", "there"), [(50, True), (51, False)])
def test_more_than_fifty_values_are_no_groups(values: int, *, there: bool) -> None:
    pairs = [of(problem, 1.0, source=f"s{problem % values}") for problem in range(120)]

    assert ("breakdowns" in scores_of(pairs)) is there


def test_a_group_for_each_problem_says_nothing() -> None:
    assert "breakdowns" not in scores_of([of(p, 1.0, source=f"s{p}") for p in range(10)])


def test_long_texts_are_no_groups() -> None:
    pairs = [of(problem, 1.0, text="ab"[problem % 2] * 100) for problem in range(6)]

    assert "breakdowns" not in scores_of(pairs)


def test_of_two_fields_of_one_name_the_scorers_is_shown() -> None:
    pairs = [
        attempt(
            problem,
            0,
            1.0,
            details={"kind": "ab"[problem % 2]},
            solved={"seed_metadata": {"kind": "xy"[problem % 2]}},
        )
        for problem in range(4)
    ]

    groups = [row["group"] for row in scores_of(pairs)["breakdowns"]["kind"]]

    assert groups == ["a", "b"]
