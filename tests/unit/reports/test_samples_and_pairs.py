"""Which attempts a page holds, how long their texts are, and how two runs pair."""

import json
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.records.places import Place
from pytest_nel.reports.pairs import Flip, pair
from pytest_nel.reports.samples import Light, Limits, chosen, scan, texts


def light(
    problem: int, outcome: str = "correct", *, repeat: int = 0, name: str = "", **more: Any
) -> Light:
    rewards = {"correct": 1.0, "wrong": 0.0, "unparsed": 0.0, "unscored": None}
    reward = more.get("reward", rewards[outcome])
    place = Place(0, 0, more.get("length", 100))
    return Light(place, problem + 1, problem, repeat, name, outcome, reward)


def results(path: Path, *rows: dict[str, Any] | str) -> Path:
    listed = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("".join(f"{line}\n" for line in listed))
    return path


def test_rows_of_the_reference_system_have_outcomes_by_their_reward(tmp_path: Path) -> None:
    rows: list[dict[str, Any]] = [{"problem_idx": 0, "reward": r} for r in (1, 0.5, 0, None)]
    path = results(tmp_path / "results.jsonl", *rows)

    found, damaged = scan(path)

    assert [row.outcome for row in found] == ["correct", "correct", "wrong", "unscored"]
    assert damaged == 0


LOST = {"problem_idx": 0, "reward": 0.0, "scoring_details": {"error_category": "infra_error"}}


def test_what_the_reference_system_lost_is_unscored_and_no_flip(tmp_path: Path) -> None:
    rows = [LOST, LOST | {"problem_idx": 1, "scoring_details": {}}]
    ours, _ = scan(results(tmp_path / "ours", *rows))
    theirs, _ = scan(
        results(tmp_path / "theirs", *({"problem_idx": n, "reward": 1} for n in (0, 1)))
    )

    found = pair(ours, theirs)

    assert [(row.outcome, row.reward) for row in ours] == [("unscored", None), ("wrong", 0.0)]
    assert found.flips == [Flip(1, 1, "regression")]
    assert found.counts == {"unscored": 1, "regression": 1}


@pytest.mark.parametrize(
    "row", [{"problem_idx": "0"}, {"problem_idx": -1}, {"problem_idx": 0, "outcome": "great"}]
)
def test_what_a_gate_takes_for_no_row_is_none_here(tmp_path: Path, row: dict[str, Any]) -> None:
    path = results(tmp_path / "results.jsonl", {"reward": 1, **row})

    assert scan(path) == ([], 1)


def test_damaged_lines_are_counted_and_the_others_keep_their_place(tmp_path: Path) -> None:
    good = {"problem_idx": 7, "repeat": 0, "reward": 1, "outcome": "correct", "prompt": "ä"}
    path = results(tmp_path / "results.jsonl", "{", "", "[]", "3", good)

    found, damaged = scan(path)
    (entry,) = texts(path, found, Limits())

    assert (damaged, found[0].line, entry["p"]) == (3, 5, "ä")


def test_a_long_response_keeps_beginning_and_end_and_says_what_is_missing(tmp_path: Path) -> None:
    row = {"problem_idx": 0, "reward": 1, "model_response": "a" * 500 + "m" * 900 + "z" * 600}
    path = results(tmp_path / "results.jsonl", row)
    found, _ = scan(path)

    (entry,) = texts(path, found, Limits(response=300))

    assert entry["n"] == {"r": 1700}
    assert entry["r"] == "a" * 100 + "\n[… 1,700 characters left out …]\n" + "z" * 200


def test_answers_that_are_no_text_are_shown_as_json(tmp_path: Path) -> None:
    row = {"problem_idx": 0, "reward": 1, "extracted_answer": [1, 2], "expected_answer": 0}
    path = results(tmp_path / "results.jsonl", row)
    found, _ = scan(path)

    (entry,) = texts(path, found, Limits())

    assert (entry["x"], entry["e"]) == ("[1, 2]", "0")


def test_what_does_not_fit_leaves_out_correct_ones_first() -> None:
    rows = [light(n, "wrong" if n % 10 == 0 else "correct") for n in range(100)]

    taken = chosen(rows, 19, Limits())

    assert len(taken) == 19
    assert {n for n in taken if n % 10 == 0} == set(range(0, 100, 10))
    assert max(taken) > 80


def test_too_much_text_leaves_out_rows_too() -> None:
    rows = [light(n, "wrong" if n < 5 else "correct", length=1000) for n in range(50)]

    taken = chosen(rows, 50, Limits(characters=10_000))

    assert taken[:5] == [0, 1, 2, 3, 4]
    assert len(taken) == 10


@given(
    st.lists(st.sampled_from(["correct", "wrong", "unparsed", "unscored"]), max_size=60),
    st.integers(0, 70),
    st.integers(0, 9000),
)
def test_a_choice_is_never_too_large_and_all_where_all_fits(
    outcomes: list[str], budget: int, characters: int
) -> None:
    rows = [light(n, outcome, length=100) for n, outcome in enumerate(outcomes)]

    taken = chosen(rows, budget, Limits(characters=characters))

    assert taken == sorted(set(taken))
    assert len(taken) <= budget
    assert 100 * len(taken) <= characters
    if len(rows) <= budget and 100 * len(rows) <= characters:
        assert taken == list(range(len(rows)))


def test_a_problem_with_two_ids_is_known_by_its_position_as_gates_know_it() -> None:
    ours = [light(0, name="a"), light(0, name="b", repeat=1)]

    assert pair(ours, ours).by == "problem_idx"


def test_problems_are_paired_by_id_where_both_sides_have_them() -> None:
    """One side was measured on another order of the same data."""
    ours = [light(0, "wrong", name="b"), light(1, name="a")]
    theirs = [light(0, name="a"), light(1, name="b")]

    found = pair(ours, theirs)

    assert (found.by, found.pairs) == ("problem_id", 2)
    assert found.flips == [Flip(0, 1, "regression")]


def test_problems_are_paired_by_index_where_one_side_has_no_ids() -> None:
    ours = [light(0, "wrong", name="b"), light(1, name="a")]
    theirs = [light(0), light(1, "wrong")]

    found = pair(ours, theirs)

    assert found.by == "problem_idx"
    assert found.flips == [Flip(0, 0, "regression"), Flip(1, 1, "improvement")]


def test_ids_that_two_problems_share_identify_none() -> None:
    ours = [light(0, name="a"), light(1, "wrong", name="a")]

    found = pair(ours, ours)

    assert (found.by, found.pairs, found.flips) == ("problem_idx", 2, [])


def test_repeats_pair_with_repeats() -> None:
    ours = [light(0, "wrong", repeat=0), light(0, repeat=1)]
    theirs = [light(0, repeat=0), light(0, "wrong", repeat=1), light(0, repeat=2)]

    found = pair(ours, theirs)

    assert [flip.kind for flip in found.flips] == ["regression", "improvement"]
    assert (found.unmatched, found.only_candidate, found.only_baseline) == (1, 0, 0)


def test_problems_that_one_side_lacks_are_counted() -> None:
    ours = [light(n, repeat=r) for n in (0, 1) for r in (0, 1)]
    theirs = [light(n) for n in (1, 2, 3)]

    found = pair(ours, theirs)

    assert (found.only_candidate, found.only_baseline, found.unmatched) == (1, 2, 1)
    assert found.pairs == 1


def test_an_attempt_without_a_score_is_no_flip() -> None:
    found = pair([light(0, "unscored"), light(1)], [light(0), light(1, "unscored")])

    assert (found.pairs, found.flips) == (0, [])
    assert found.counts == Counter(unscored=2)


def test_fractional_rewards_that_moved_are_shown_as_such() -> None:
    ours = [light(0, "wrong", reward=0.25), light(1, "wrong", reward=0.5)]
    theirs = [light(0, "wrong", reward=0.5), light(1, "wrong", reward=0.25)]

    found = pair(ours, theirs)

    assert [flip.kind for flip in found.flips] == ["lower", "higher"]
    assert found.counts == Counter(neither=2)


outcomes = st.lists(st.sampled_from(["correct", "wrong", "unparsed", "unscored"]), max_size=30)


@given(outcomes, outcomes)
def test_every_attempt_is_counted_once(now: list[str], before: list[str]) -> None:
    ours = [light(n, outcome) for n, outcome in enumerate(now)]
    theirs = [light(n, outcome) for n, outcome in enumerate(before)]

    found = pair(ours, theirs)

    counted = sum(found.counts.values())
    assert counted == min(len(now), len(before))
    assert found.pairs == counted - found.counts["unscored"]
    assert found.only_candidate == max(0, len(now) - len(before))
    assert found.only_baseline == max(0, len(before) - len(now))


@pytest.mark.parametrize("swap", [False, True])
def test_the_order_of_rows_changes_nothing_but_positions(swap: bool) -> None:  # noqa: FBT001
    ours = [light(n, "wrong" if n % 3 else "correct", name=f"p{n}") for n in range(9)]
    theirs = [light(n, "wrong" if n % 2 else "correct", name=f"p{n}") for n in range(9)]

    found = pair(ours[::-1] if swap else ours, theirs)

    assert found.counts == Counter(regression=3, improvement=1, both=2, neither=3)
