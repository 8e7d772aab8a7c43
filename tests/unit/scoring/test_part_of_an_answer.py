"""A part of an answer is no answer: what follows the target's value makes it another one."""

import json
import os
import re
from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.catalog import get_scorer
from pytest_nel.scoring.equal import math_equal
from pytest_nel.scoring.line import answer_line

SHARED = Path(os.environ.get("NEL_SHARED", Path(__file__).parents[3].parent / "shared"))
Scorer = Callable[[ScorerInput], VerifyResult]
SCORERS = pytest.mark.parametrize("scorer", [math_equal, answer_line])
GOLDS = [
    "1", "0", "-3", "3.5", "1,234", r"\frac{1}{2}", r"-\frac34", r"3\frac14", r"2\sqrt{3}", "x+1",
    "p - q", "(1,2)", "[1,2)", r"(3, \frac{\pi}{2})", "1,2", r"\{1,2\}", "x=5", r"10\%",
    r"90^\circ", r"\$36", r"5\text{ cm}", r"\text{Evelyn}", r"\text{(C)}", "52_8", r"(3,\infty)",
    r"\begin{pmatrix}1\\2\end{pmatrix}", r"1 \pm \sqrt{19}", "6:30", "i", r"\pi",
]  # fmt: skip
ADDED = [
    r", \sqrt{2}", " and x", "(x+1)", "–x", r",\ 7", " or 7", r"\text{ or }7", "; y=3", ". But 7",
    r"\approx 7", " for n even, 7 for n odd", " (x=2)", ", 7", ",+4", ",.5", " — 7", " and 7",
    ", unless n is odd", ", or seven", r" $\sqrt{7}$", ". No, it is seven", " if n is odd",
]  # fmt: skip


def math500() -> list[str]:
    path = SHARED / "data/math500_test.jsonl"
    if not path.exists():
        pytest.skip(f"no MATH-500 rows at {path} (set NEL_SHARED)")
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    return sorted({row["answer"] for row in rows})


def passed(scorer: Scorer, golds: list[str], form: str, added: str) -> list[str]:
    """The gold answers that still count when something is added; zero times something is zero."""
    return [
        gold
        for gold in golds
        if not re.search(r"(?:^|= )0$", gold)
        and scorer(ScorerInput(form.format(f"{gold}{added}"), gold)).reward == 1
    ]


@SCORERS
@pytest.mark.parametrize(
    "form", ["\\boxed{{{}}}", "Answer: {}", "Answer: ${}$", "The answer is {}"]
)
@pytest.mark.parametrize("added", ADDED)
def test_an_answer_and_something_more_is_another_answer(
    scorer: Scorer, form: str, added: str
) -> None:
    assert passed(scorer, GOLDS, form, added) == []


@SCORERS
@pytest.mark.parametrize("added", [r", \sqrt{2}", " and x", "(x+1)", "–x"])
def test_a_gold_answer_of_math500_and_something_more_is_another_answer(
    scorer: Scorer, added: str
) -> None:
    assert passed(scorer, math500(), "\\boxed{{{}}}", added) == []


WRONG = [
    (r"1, \sqrt{2}", "1"), (r"0, \pi", "0"), ("3,+4", "3"), ("5 and 7", "5"), ("2(x+1)", "2"),
    (r"3–\sqrt{2}", "3"), (r"5,\text{ or }7", "5"), ("5 for n even, 7 for n odd", "5"),
    (r"1\approx 2\approx 3\approx 4", "3"), (r"x=5 \approx 7", "7"), (r"x=5 \approx 7", "5"),
    (r"1\approx 2", "1"), (r"1\approx 2", "2"), (r"5\approx 5.3", "5"),
    (r"\pi\approx 3.2", r"\pi"), (r"\pi\approx\text{three}", r"\pi"), (r"\frac{1}{2}3", "1/23"),
    (r"\frac{1}{2},345", "1/2345"), (r"\frac123", "1/23"), (r"\frac{1}{2}3", r"\frac12"),
    (r"3\frac{-1}{2}", r"3-\frac{1}{2}"), (r"x\frac{-1}{2}", r"x-\frac{1}{2}"),
    (r"x \frac{-a}{2}", r"x-\frac{a}{2}"), ("1 2x", "12x"), ("x 1 2", "x12"), ("x_1 2", "x_{12}"),
    (r"\sin 30", r"\sin 30^\circ"), (r"\cos 60^\circ", r"\cos 60"), ("AB-CD", "ABCD"),
    ("AB - CD", "AB CD"), ("a xy", "xy"), ("xy!", "xy"), ("AB'", "AB"), ("A'B'", "AB"),
    ("AB, CD", "AB CD"), ("5 less than x", "5"), ("5 more than x", "5"), ("5 in base two", "5"),
    ("5 tenths", "5"), ("5 hundredths", "5"), ("3 fifths", "3"), ("5 mod 7", "5"),
    (r"5 \mod 7", "5"), ("5!", "5"), ("5^2", "5"), ("5²", "5"), ("5i", "5"), ("5e", "5"),
    ("5x", "5"), ("5 x", "5"), (r"5\pi", "5"), (r"5\%", "0.05"), ("5:7", "5"), ("5/7", "5"),
    ("5 to 7", "5"), ("5–7", "5"), ("5±1", "5"), (r"5 \pm 1", "5"), (r"\pm 5", "5"), ("≥5", "5"),
    (r"x \ge 5", "5"), ("x > 5", "5"), (r"x \ne 5", "5"), ("not 5", "5"), ("-5", "5"),
    ("|5|-10", "5"), (r"5\cdot 2", "5"), ("(5, 7)", "5"), ("[5]", "[5,5]"), (r"\{5, 7\}", "5"),
    ("5; 7", "5"), ("5 7", "5"), ("5 7", "57"), ("5, 7", "7"), ("7 or 5", "5"),
    ("1, 2, 3, 4, 5", "5"), (r"i^n", r"\cos(\frac{n\pi}{2})"), ("(-1)^n", "1"),
    (r"\sin(n\pi)", "0"), ("1", r"\{\}"), (r"\{0\}", r"\{\}"), (r"\{\}", "0"),
    (r"1\text{ million}", "1"), (r"1\text{ million}", "1000"), ("1.5 million", "1.5"),
    ("3/2^3", r"(\frac32)^3"), ("2^1/2", r"2^{\frac12}"), (r"\boxed{1, \boxed{2}}", "2"),
    ("5 (7)", "5"), ("5 dollars and 7 cents", "5"), ("5 dollars, 7 cents", "5"), ("5 ≈ 7", "5"),
    ("5 = 7", "5"), ("5 = 7", "7"), ("x = 5 = 7", "7"), ("y = 5, 7", "5"), ("5 + C", "5"),
    (r"5\text{ if }x>0", "5"), (r"5 \text{ or } -5", "5"), (r"5\text{ mod }7", "5"),
]  # fmt: skip
RIGHT = [
    (r"1\text{ million}", "1000000"), (r"\$1.5 \text{ million}", "1500000"),
    ("2 million", "2000000"), (r"1.5\text{ million dollars}", "1500000"),
    ("(-1)^n", r"\cos(n\pi)"), ("(-1)^{n+2}", "(-1)^n"), (r"\cos(\pi k)", "(-1)^k"),
    (r"\{\}", r"\emptyset"), (r"\{\}", r"\{\}"), (r"\{ \}", r"\varnothing"),
    (r"\emptyset", r"\{\}"), (r"5\sqrt2\approx 7.07", r"5\sqrt2"),
    (r"x=5\sqrt2\approx 7.07", r"5\sqrt2"), (r"5\sqrt2\approx 7.07", "7.07"),
    (r"x \approx 7.07", "7.07"), (r"\frac13\approx 0.333\ldots", r"\frac13"),
    (r"\frac23\approx 0.67", r"\frac23"), (r"\frac23\approx 0.66", r"\frac23"),
    (r"1000\pi\approx 3{,}142", r"1000\pi"),
    (r"5\sqrt2\text{ cm}\approx 7.07\text{ cm}", r"5\sqrt2"), (r"\frac{-1}{2}", r"-\frac12"),
    (r"(\frac{-1}{2}, 1)", r"(-\frac12, 1)"), ("2 x", "2x"), (r"2\pi r", r"2 \pi r"),
    ("3 1/2", "3.5"), (r"\frac{1}{2}\text{ cm}", "0.5"), ("5 dollars a day", "5"),
    ("5 apples", "5"), ("18 square inches", "18"), ("5, 7", "7, 5"), ("5 and 7", "5, 7"),
    (r"5 \text{ or } 7", "7, 5"), (r"\text{yes}", "Yes"), ("1 2/3", r"\frac53"),
    (r"\sin 30^\circ", r"\frac12"), ("0.50", r"\frac12"), (r"10{,}000", "10000"),
]  # fmt: skip


@pytest.mark.parametrize(("answer", "target"), WRONG)
def test_a_wrong_answer_that_resembles_the_target_scores_nothing(answer: str, target: str) -> None:
    rewards = {
        (scorer.__name__, form): scorer(ScorerInput(form.format(answer), target)).reward
        for scorer in (math_equal, answer_line)
        for form in ("\\boxed{{{}}}", "Answer: {}")
    }

    assert set(rewards.values()) == {0.0}, rewards


@pytest.mark.parametrize(("answer", "target"), RIGHT)
def test_a_right_answer_in_another_form_scores(answer: str, target: str) -> None:
    rewards = {
        form: math_equal(ScorerInput(form.format(answer), target)).reward
        for form in ("\\boxed{{{}}}", "Answer: ${}$")
    }

    assert set(rewards.values()) == {1.0}, rewards


@SCORERS
@pytest.mark.parametrize(
    ("response", "target"),
    [
        ("Answer: 18. She earns it daily.", "18"),
        ("Answer: 18 dollars. She earns it daily.", "18"),
        ("Answer: 18 (since 9*2 is 18)", "18"),
        ("Answer: 18, since 9*2 = 18", "18"),
        ("Answer: 1,234 because she earns so much", "1234"),
        ("Answer: 18, which she earns daily.", "18"),
        ("Answer: 18 — that is what she earns.", "18"),
        ("The answer is 18 dollars, because she sells eggs.", "18"),
        (r"Answer: $\frac12$. That is all we need.", r"\frac12"),
        ("Answer: Evelyn. She is the fastest student.", r"\text{Evelyn}"),
    ],
)
def test_words_about_the_answer_do_not_change_it(
    scorer: Scorer, response: str, target: str
) -> None:
    assert scorer(ScorerInput(response, target)).reward == 1.0


@SCORERS
@pytest.mark.parametrize(
    "response",
    [
        "Answer: 5, seven",
        "Answer: 5. Seven.",
        "Answer: 5. Or maybe seven.",
        "Answer: 5, since n is even, else 7",
        "Answer: 5 because n is even and 7 because n is odd",
        "Answer: 5, Paris",
        "Answer: 5. Paris. London.",
        "Answer: 5, which isn't right",
        "Answer: 5. That is not it.",
        "Answer: 5 (or seven)",
        "Answer: 5 (wrong)",
        "Answer: 5 – x",
        "Answer: 5, which is less than the value",
    ],
)
def test_words_that_take_the_answer_back_are_a_part_of_it(scorer: Scorer, response: str) -> None:
    assert scorer(ScorerInput(response, "5")).reward == 0.0


@SCORERS
@pytest.mark.parametrize(
    ("response", "target", "reward"),
    [
        (r"x=\boxed{5} or x=\boxed{7}", "7", 0.0),
        (r"x=\boxed{5} or x=\boxed{7}", "5", 0.0),
        (r"x=\boxed{5} or x=\boxed{7}", "5, 7", 1.0),
        (r"\boxed{5}, \boxed{7}", "5,7", 1.0),
        (r"The roots are $\boxed{5}$ and $\boxed{7}$.", "7,5", 1.0),
        (r"\boxed{5} (positive) and \boxed{7}", "7", 0.0),
        (r"First \boxed{5}. Then \boxed{7}.", "7", 1.0),
        ("\\boxed{5}\n\\boxed{7}", "7", 1.0),
        (r"Not \boxed{5} but \boxed{7}", "7", 1.0),
        (r"\boxed{2+3}=\boxed{5}", "5", 1.0),
        (r"$\boxed{15\frac{39}{40}}$, or $\boxed{\frac{639}{40}}$", r"\frac{639}{40}", 1.0),
        (r"\boxed{5}, that is \boxed{5}", "5", 1.0),
    ],
)
def test_boxes_of_one_sentence_are_a_list(
    scorer: Scorer, response: str, target: str, reward: float
) -> None:
    assert scorer(ScorerInput(response, target)).reward == reward


@pytest.mark.parametrize(
    ("scorer", "target"),
    [("numeric_match", "7"), ("mcq_extract", "B"), ("multichoice_regex", "B")],
)
def test_boxes_of_one_sentence_are_more_than_one_choice(scorer: str, target: str) -> None:
    response = r"\boxed{5} or \boxed{7}" if target == "7" else r"\boxed{A} or \boxed{B}"

    result = get_scorer(scorer)(ScorerInput(response, target))

    assert (result.reward, result.parsed) == (0.0, False)


def test_a_number_boxed_twice_is_one_number() -> None:
    response = r"It is $\boxed{0.5}$, or $\boxed{\frac12}$."

    assert get_scorer("numeric_match")(ScorerInput(response, "0.5")).reward == 1.0
