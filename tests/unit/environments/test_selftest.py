"""A scorer is tried on its own benchmark."""

import asyncio
import json
import time
from collections.abc import Callable
from typing import Any

import pytest

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.types import ScorerInput, SeedResult, VerifyResult
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.environments.selftest import Found, selftest
from pytest_nel.scoring.choice import multichoice_regex
from pytest_nel.scoring.judging.request import needs_judge
from pytest_nel.scoring.line import answer_line
from pytest_nel.scoring.numeric import numeric_match

Rows = list[dict[str, Any]]


def rows(*targets: Any) -> Rows:
    return [{"question": f"q{at}", "target": target} for at, target in enumerate(targets)]


def tried(scorer: Any, data: Rows | None = None, **arguments: Any) -> Found:
    data = rows("60", "7") if data is None else data
    given = {"name": "sums", "dataset": data, **arguments}
    if "seed_fn" not in given:
        given["prompt"] = "{question}"
    environment = BenchmarkEnvironment(Benchmark(scorer=scorer, **given))
    return selftest(environment, range(len(environment)), asyncio.run)


def refusal(scorer: Any, data: Rows | None = None, **arguments: Any) -> str:
    with pytest.raises(ConfigError) as caught:
        tried(scorer, data, **arguments)
    return str(caught.value)


def same(sample: ScorerInput) -> bool:
    return bool(sample.response == sample.target)


def in_words(sample: ScorerInput) -> dict[str, Any]:
    """Understands one form and no other."""
    before, mark, answer = sample.response.partition("I would say ")
    return {"correct": bool(mark) and answer == sample.target, "extracted": answer or before}


@pytest.mark.parametrize("scorer", [None, same, numeric_match, answer_line])
def test_a_scorer_that_takes_the_bare_answer_passes(scorer: Any) -> None:
    assert tried(scorer) == Found("passed")


def test_a_usual_form_of_the_answer_is_enough() -> None:
    data = [{"question": "q", "target": "B"}, {"question": "r", "target": "C"}]

    assert tried(multichoice_regex, data) == Found("passed")


@pytest.mark.parametrize("prefix", ["Answer: ", "#### ", "The answer is "])
def test_each_usual_form_is_tried(prefix: str) -> None:
    def only(sample: ScorerInput) -> bool:
        answer = sample.response.removeprefix(prefix).rstrip(".")
        return bool(answer != sample.response and answer == sample.target)

    assert tried(only).status == "passed"


def test_a_boxed_answer_is_tried() -> None:
    def only(sample: ScorerInput) -> bool:
        return bool(sample.response == f"\\boxed{{{sample.target}}}")

    assert tried(only).status == "passed"


def test_trailing_zeros_taken_off_the_response_are_found() -> None:
    def strips(sample: ScorerInput) -> dict[str, Any]:
        number = sample.response.removeprefix("Answer: ").rstrip("0").rstrip(".")
        return {"correct": number == sample.target, "extracted": number}

    said = refusal(strips, rows("7", "60"), name="mgsm")

    assert "test_selftest.py:" in said
    assert "benchmark 'mgsm': self-test of the scorer" in said
    assert "mgsm rows[1] (id " in said
    assert "the gold answer '60' gets 0 and must get 1; the scorer read '6' out of it" in said
    assert "'Answer: 60'" in said
    assert "gold=" in said
    assert "--nel-no-selftest" in said


def test_a_gold_answer_that_is_corrupt_but_consistent_passes_for_nobody_can_tell() -> None:
    assert tried(numeric_match, rows("6", "7")) == Found("passed")


def test_an_empty_answer_that_is_rewarded_is_refused() -> None:
    def contained(sample: ScorerInput) -> bool:
        return sample.response in str(sample.target)

    said = refusal(contained)

    assert "an empty answer gets 1 and must get 0" in said


def test_a_fraction_for_an_empty_answer_is_refused_too() -> None:
    said = refusal(lambda sample: 1.0 if sample.response == sample.target else 0.25)

    assert "an empty answer gets 0.25 and must get 0" in said


def test_a_scorer_that_raises_on_an_empty_answer_passes_for_it_is_never_given_one() -> None:
    def careless(sample: ScorerInput) -> bool:
        return bool(sample.response[0] + sample.response[1:] == sample.target)

    assert tried(careless) == Found("passed")


def test_a_scorer_that_raises_on_the_gold_answer_is_refused_with_its_line() -> None:
    def broken(sample: ScorerInput) -> bool:
        return bool(sample.metadata["no such field"])

    said = refusal(broken)

    assert "the gold answer '60' cannot be judged" in said
    assert "KeyError: 'no such field'" in said


def test_a_scorer_that_returns_no_reward_for_the_gold_answer_is_refused() -> None:
    said = refusal(lambda _: None)

    assert "cannot be judged" in said
    assert "the scorer returned" in said


def test_a_scorer_that_would_end_the_process_is_refused() -> None:
    def leaves(sample: ScorerInput) -> bool:
        raise SystemExit(sample.response or "nothing")

    assert "SystemExit" in refusal(leaves)


def test_full_marks_are_those_of_pass_at() -> None:
    def half(sample: ScorerInput) -> float:
        return 0.5 if sample.response == sample.target else 0.0

    assert tried(half, pass_at=0.5).status == "passed"
    assert "gets 0.5 and must get 1" in refusal(half)


def test_the_author_may_say_the_form_as_a_template() -> None:
    assert "must get 1" in refusal(in_words)
    assert tried(in_words, gold="I would say {target}").status == "passed"


def test_a_template_may_name_fields_of_the_row() -> None:
    data = [{"question": "q", "target": "60", "style": "I would say"}]

    assert tried(in_words, data, gold="{style} {target}").status == "passed"


def test_a_template_of_a_field_that_is_not_there_is_refused() -> None:
    said = refusal(same, gold="{anser}")

    assert "gold: " in said
    assert "no field 'anser'" in said


def test_with_a_form_of_the_author_no_other_is_tried() -> None:
    said = refusal(same, gold="I would say {target}")

    assert "the gold answer 'I would say 60' gets 0 and must get 1" in said
    assert "no better" not in said


def test_the_author_may_say_the_form_as_a_function() -> None:
    assert tried(in_words, gold=lambda sample: f"I would say {sample.target}").status == "passed"


def test_a_function_may_leave_out_rows() -> None:
    data = rows("60", "unanswerable")

    def gold(sample: ScorerInput) -> str | None:
        return None if sample.target == "unanswerable" else f"I would say {sample.target}"

    assert tried(in_words, data, gold=gold).status == "passed"


def test_a_function_that_fails_is_named_with_its_line() -> None:
    said = refusal(same, gold=lambda sample: sample.metadata["nope"])

    assert "gold failed" in said
    assert "KeyError: 'nope'" in said


def test_a_function_that_returns_no_text_is_refused() -> None:
    def gold(sample: ScorerInput) -> Any:
        return len(sample.target)

    assert "gold must return text or None, it returned int" in refusal(same, gold=gold)


@pytest.mark.parametrize("gold", ["  ", 7, ["x"]])
def test_a_form_that_can_be_none_is_refused_where_it_stands(gold: Any) -> None:
    with pytest.raises(ConfigError, match=r"test_selftest\.py:\d+: benchmark 'b': gold: expected"):
        Benchmark(name="b", dataset=rows("1"), prompt="{question}", gold=gold)


def test_a_list_of_accepted_answers_is_tried_by_its_first() -> None:
    def any_of(sample: ScorerInput) -> bool:
        return bool(sample.response in json.loads(sample.target))

    assert tried(any_of, rows(["eighteen", "18"], ["2"])).status == "passed"


def test_the_target_of_a_seed_function_counts() -> None:
    def seed(row: dict[str, Any], idx: int) -> SeedResult:
        return SeedResult(row["question"], expected_answer=f"{row['target']}{idx}")

    assert tried(same, seed_fn=seed).status == "passed"
    assert "the gold answer '600' gets 0" in refusal(lambda _: 0.0, seed_fn=seed)


def test_without_a_gold_answer_only_the_empty_answer_is_tried() -> None:
    found = tried(lambda sample: len(sample.response) > 3, target_field=None)

    assert found.status == "not possible: there is no gold answer"
    assert "an empty answer gets 1" in refusal(lambda _: True, target_field=None)


def test_an_async_scorer_is_left_alone_unless_its_author_says_what_is_right() -> None:
    calls = []

    async def judge(sample: ScorerInput) -> bool:
        calls.append(sample.response)
        await asyncio.sleep(0)
        return bool(sample.response == sample.target)

    assert tried(judge).status.startswith("not possible: the scorer is async")
    assert calls == []
    assert tried(judge, gold="{target}").status == "passed"
    assert calls != []


def test_an_async_scorer_with_a_form_must_give_full_marks() -> None:
    async def judge(sample: ScorerInput) -> float:
        await asyncio.sleep(0)
        return 0.2 * bool(sample.response)

    assert "gets 0.2 and must get 1" in refusal(judge, gold="{target}")


def test_the_reason_of_the_scorer_is_told() -> None:
    def judge(sample: ScorerInput) -> VerifyResult:
        why = "it returned a value of type function, which has no plain form"
        return VerifyResult(0.0, sample.response or None, {"error": why})

    assert (
        refusal(judge, gold="{target}")
        .split(" out of it ")[1]
        .startswith("(it returned a value of type function, which has no plain form)")
    )


def test_a_class_judges_in_a_way_of_its_own() -> None:
    found = selftest(EvalEnvironment(), [0], asyncio.run)

    assert found.status == "not possible: a class judges in a way of its own"


def test_a_scorer_that_is_always_right_is_named() -> None:
    found = tried(lambda sample: bool(sample.response), rows("1", "2", "3"))

    assert found.status == "passed"
    assert found.warning == (
        "sums: its scorer gave full marks to each of 2 wrong answers in the self-test "
        "(gold answers of other problems)"
    )


def test_equal_gold_answers_are_no_wrong_answers() -> None:
    assert tried(lambda sample: bool(sample.response), rows("yes", "Yes ")).warning is None


def test_a_scorer_may_change_what_it_is_given() -> None:
    def takes(sample: ScorerInput) -> bool:
        metadata: Any = sample.metadata
        return bool(metadata.pop("question") and sample.response == sample.target)

    assert tried(takes).status == "passed"


def test_only_planned_problems_are_tried() -> None:
    environment = BenchmarkEnvironment(
        Benchmark(name="b", dataset=rows("1", "60"), prompt="{question}", scorer=same)
    )
    refuses_sixty: Callable[[ScorerInput], bool] = lambda sample: sample.response == "1"  # noqa: E731
    other = BenchmarkEnvironment(
        Benchmark(name="b", dataset=rows("1", "60"), prompt="{question}", scorer=refuses_sixty)
    )

    assert selftest(environment, [1], asyncio.run).status == "passed"
    assert selftest(other, [0], asyncio.run).status == "passed"


def test_of_many_rows_a_hundred_are_tried_and_equal_ones_once() -> None:
    asked: list[str] = []

    def counts(sample: ScorerInput) -> bool:
        asked.append(sample.response)
        return bool(sample.response == sample.target)

    many = [{"question": f"q{at // 2}", "target": str(at // 2)} for at in range(14_000)]
    started = time.perf_counter()
    environment = BenchmarkEnvironment(
        Benchmark(name="b", dataset=many, prompt="{question}", scorer=counts)
    )
    built = time.perf_counter()

    selftest(environment, range(14_000), asyncio.run)

    assert time.perf_counter() - built < max(0.5, built - started)
    assert asked.count("") == 50


def test_a_slow_scorer_is_tried_on_one_row() -> None:
    asked: list[str] = []

    def slow(sample: ScorerInput) -> bool:
        asked.append(sample.response)
        time.sleep(0.3)
        return bool(sample.response == sample.target)

    assert tried(slow, rows(*map(str, range(50)))) == Found("passed")
    assert asked == ["", "0"]


def test_a_slow_scorer_of_rows_without_a_right_answer_is_tried_on_three() -> None:
    asked: list[str] = []

    def slow(sample: ScorerInput) -> bool:
        asked.append(sample.response)
        time.sleep(0.3)
        return False

    found = tried(slow, rows(*map(str, range(50))), gold=lambda _: None)

    assert found.status == "not possible: there is no gold answer"
    assert asked == [""] * 3


def test_the_form_that_was_understood_is_tried_first_on_the_next_row() -> None:
    asked: list[str] = []

    def hash_only(sample: ScorerInput) -> bool:
        asked.append(sample.response)
        return bool(sample.response == f"#### {json.loads(sample.target)[0]}")

    data = rows(["1", "one"], ["2", "two"], ["3", "three"])

    assert tried(hash_only, data).status == "passed"
    assert asked[asked.index("#### 1") + 1 :] == ["", "#### 2", "", "#### 3", "#### 2"]


def test_what_only_a_model_can_judge_is_not_tried() -> None:
    def asks(sample: ScorerInput) -> object:
        return 1.0 if sample.response == "60" else needs_judge()

    alone = tried(None, judge="generic")
    always = tried(lambda _: needs_judge(), judge="generic", gold="{target}")
    sometimes = tried(asks, rows("60"), judge="generic")

    expected = "not possible: a model judges, and asking it costs something"
    assert alone.status == always.status == expected
    assert sometimes.status == "passed"
