r"""MATH-500: equal as mathematics, however it is written."""

import pytest

from benchmarks.math500 import math500
from tests.benchmarks.judging import Row, json_lines, problem, problems, tried


def row(answer: str) -> Row:
    return {
        "problem": "What is it?",
        "solution": f"It is $\\boxed{{{answer}}}$.",
        "answer": answer,
        "subject": "Algebra",
        "level": 3,
        "unique_id": "test/algebra/1.json",
    }


VERDICTS = [
    (r"\frac{3}{4}", r"Answer: $\frac{3}{4}$", "right"),
    (r"\frac{3}{4}", r"Thus \[\boxed{\dfrac34}\]", "right"),
    (r"\frac{3}{4}", "**Answer:** 0.75", "right"),
    (r"\frac{3}{4}", "The final answer is 3/4.", "right"),
    (r"\frac{3}{4}", r"Answer: $\frac{6}{8}$", "right"),
    (r"\frac{3}{4}", r"Answer: $\frac{4}{3}$", "wrong"),
    (r"\frac{3}{4}", r"Answer: $-\frac{3}{4}$", "wrong"),
    (r"\frac{3}{4}", r"Answer: 3", "wrong"),
    (r"\left( 3, \frac{\pi}{2} \right)", r"Answer: $(3, \pi/2)$", "right"),
    (r"\left( 3, \frac{\pi}{2} \right)", r"$\boxed{\left(3,\frac{\pi}{2}\right)}$", "right"),
    (r"\left( 3, \frac{\pi}{2} \right)", r"Answer: $(\frac{\pi}{2}, 3)$", "wrong"),
    ("p - q", "Answer: $-q+p$", "right"),
    ("p - q", "Answer: $q - p$", "wrong"),
    ("x^2+2x+1", r"\boxed{(x+1)^2}", "right"),
    ("x^2+2x+1", r"\boxed{(x-1)^2}", "wrong"),
    (r"2\sqrt{3}", r"Answer: $\sqrt{12}$", "right"),
    (r"2\sqrt{3}", "Answer: 3.46", "wrong"),
    (r"\text{Evelyn}", "The answer is **Evelyn**.", "right"),
    (r"\text{Evelyn}", "Answer: Angela", "wrong"),
    (r"90^\circ", "Answer: 90 degrees", "right"),
    (r"[-2,7]", r"$$\boxed{x \in [-2,7]}$$", "right"),
    (r"[-2,7]", r"Answer: $(-2,7)$", "wrong"),
    ("11,\\! 111", "Answer: 11111", "right"),
    ("42", "I tried \\boxed{41}, which fails. So the answer is \\boxed{42}.", "right"),
    ("42", "Answer: \\boxed{}", "unparsed"),
    ("42", "Answer: $ANSWER", "unparsed"),
    ("42", "", "unparsed"),
    ("42", "  ", "unparsed"),
]


@pytest.mark.parametrize(("answer", "response", "verdict"), VERDICTS)
def test_a_response_gets_the_verdict_that_a_person_would_give(
    answer: str, response: str, verdict: str
) -> None:
    assert problem(math500, row(answer)).verdict(response) == verdict


def test_the_solver_sees_neither_answer_nor_solution() -> None:
    seed = problem(math500, row("4711")).seed

    assert seed.expected_answer == "4711"
    assert seed.metadata["category"] == "Algebra"
    assert "4711" not in seed.prompt + str(seed.metadata)


def test_every_gold_answer_is_right_boxed_or_not_and_another_is_wrong() -> None:
    rows = json_lines("math500_test.jsonl")
    found = problems(math500, rows)
    gold = [each.seed.expected_answer for each in found]
    numbers = [(p, g) for p, g in zip(found, gold, strict=True) if g.isdecimal()]

    assert len(found) == math500.size
    for form in ("Answer: {}", "Answer: ${}$", "So it is \\[\\boxed{{{}}}.\\]"):
        wrong = [
            g for p, g in zip(found, gold, strict=True) if p.verdict(form.format(g)) != "right"
        ]
        assert wrong == []
    assert {p.verdict(f"Answer: {int(g) + 1}") for p, g in numbers} == {"wrong"}
    assert {p.verdict(r["solution"]) for p, r in zip(found, rows, strict=True)} == {"right"}
    assert tried(math500, rows[:60]) == ("passed", None)
