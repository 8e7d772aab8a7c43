"""GSM8K: the number at the end of a solution, by value."""

import pytest

from benchmarks.gsm8k import gsm8k
from pytest_nel import DataError
from tests.benchmarks.judging import Row, environment, json_lines, problem, problems, tried

ROW: Row = {
    "question": "A baker packs 24 boxes with 60 rolls each. How many rolls are that?",
    "answer": "24 boxes hold 24*60 = <<24*60=1440>>1440 rolls.\n#### 1,440",
}
VERDICTS = [
    ("The answer is 1440.", "right"),
    ("The answer is 1,440.", "right"),
    ("24 × 60 = 1440\n\n**The answer is 1440**", "right"),
    ("First, 24*60 = 1440.\nThe answer is $1440$.", "right"),
    ("So we get \\[ \\boxed{1440} \\]", "right"),
    ("**Final Answer:** 1440 rolls", "right"),
    ("#### 1440", "right"),
    ("<answer>1440</answer>", "right"),
    ("1440", "right"),
    ("The baker packs 24 times 60 rolls, and that is 1440 rolls.", "right"),
    ("The answer is 1440.00", "right"),
    ("The answer is 144. Wait, 24*60 is 1440.\nThe answer is 1440.", "right"),
    ("## Step 1\n20*60 = 1200\n## Step 2\n4*60 = 240\n\nThe answer is 1200 + 240 = 1440.", "right"),
    ("The final answer is: $\\boxed{1\\,440}$", "right"),
    ("The answer is **1 440**.", "right"),
    ("The answer is 144.", "wrong"),
    ("The answer is 14400.", "wrong"),
    ("The answer is 1.44.", "wrong"),
    ("The answer is -1440.", "wrong"),
    ("24 boxes × 60 rolls = 1440 rolls, minus the 40 that broke.\nThe answer is 1400.", "wrong"),
    ("The answer is 1440 per day, so \\boxed{2880} for two days.", "wrong"),
    ("The answer is 24 × 60.", "unparsed"),
    ("The answer is 1440 or 1450.", "unparsed"),
    ("I cannot solve this.", "unparsed"),
    ("", "unparsed"),
    (" \n", "unparsed"),
]


@pytest.mark.parametrize(("response", "verdict"), VERDICTS)
def test_a_response_gets_the_verdict_that_a_person_would_give(response: str, verdict: str) -> None:
    assert problem(gsm8k, ROW).verdict(response) == verdict


def test_the_solver_sees_the_question_and_neither_number_nor_solution() -> None:
    seed = problem(gsm8k, ROW).seed

    assert seed.expected_answer == "1440"
    assert seed.prompt.endswith(f"Problem: {ROW['question']}")
    assert "1440" not in seed.prompt + str(seed.metadata)


@pytest.mark.parametrize("answer", ["1440", "#### ", "#### many", "#### 1 or 2"])
def test_a_row_without_a_number_is_refused(answer: str) -> None:
    with pytest.raises(DataError, match="gsm8k: expected a solution that ends in '#### 18'"):
        environment(gsm8k, [{**ROW, "answer": answer}])


def test_every_gold_answer_is_right_and_ten_times_it_is_wrong() -> None:
    rows = json_lines("gsm8k_test.jsonl")
    found = problems(gsm8k, rows)

    gold = [each.seed.expected_answer for each in found]

    assert len(found) == gsm8k.size
    assert {p.verdict(f"The answer is {g}.") for p, g in zip(found, gold, strict=True)} == {"right"}
    assert {p.verdict(f"#### {g}0") for p, g in zip(found, gold, strict=True) if g != "0"} == {
        "wrong"
    }
    # The solutions of the data set, which end in ####, are responses as well.
    assert {p.verdict(r["answer"]) for p, r in zip(found, rows, strict=True)} == {"right"}
    assert tried(gsm8k, rows[:200]) == ("passed", None)
