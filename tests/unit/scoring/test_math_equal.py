"""``math_equal``: what is the same, what is not, and what no response can make it do."""

import itertools
import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.bounded import OutOfBounds
from pytest_nel.scoring.equal import _decide, math_equal

SHARED = Path(os.environ.get("NEL_SHARED", Path(__file__).parents[3].parent / "shared"))


def judge(answer: str, target: str) -> VerifyResult:
    return math_equal(ScorerInput(f"\\boxed{{{answer}}}", target))


EQUAL = [
    (r"\frac{1}{2}", "0.5"),
    (r"\dfrac12", r"\frac{1}{2}"),
    (r"3\frac14", "13/4"),
    ("3 1/4", "3.25"),
    (r"0.\overline{3}", "1/3"),
    (r"0.1\overline{6}", r"\frac16"),
    (r"11,\! 111,\! 111,\! 100", "11111111100"),
    ("1,234x", "1234x"),
    ("x+1", "1+x"),
    ("(x+1)^2", "x^2+2x+1"),
    ("(x+1)(x-1)", "x^2-1"),
    (r"\frac{x^2-1}{x-1}", "x+1"),
    ("x**2 + 2*x", "x^2+2x"),
    ("x²", "x^2"),
    (r"\sqrt{12}", r"2\sqrt3"),
    ("sqrt(12)", r"2\sqrt{3}"),
    (r"\frac{\sqrt2}{2}", r"1/\sqrt{2}"),
    (r"\sqrt{2}+\sqrt{3}", r"\sqrt{5+2\sqrt{6}}"),
    (r"\sqrt[3]{-8}", "-2"),
    (r"\sqrt{x^2}", "|x|"),
    (r"2^{x+1}", r"2\cdot 2^x"),
    (r"\sin 30^\circ", r"\frac12"),
    (r"\sin^2 x+\cos^2 x", "1"),
    (r"\frac{\sin x}{\cos x}", r"\tan x"),
    (r"\sin^{-1} x", r"\arcsin x"),
    (r"\log_2 8", "3"),
    (r"\log 100", "2"),
    (r"\ln(x^2)", r"2\ln x"),
    (r"e^{i\pi}", "-1"),
    (r"2\sqrt{-1}", "2i"),
    (r"\binom{5}{2}", "10"),
    ("5!", "120"),
    (r"\lfloor 3.7 \rfloor", "3"),
    ("2π/3", r"\frac{2\pi}{3}"),
    (r"5\sqrt3\text{ cm}", r"5\sqrt{3}"),
    (r"5\sqrt{3} \mbox{ cm}^2", r"5\sqrt{3}"),
    (r"\frac{200}{3}\%", r"\frac{200}{3}"),
    (r"\frac{\pi}{3}^\circ", r"\frac{\pi}{3}"),
    (r"\$5\sqrt{2}", r"5\sqrt{2}"),
    ("x=5", "5"),
    ("5", "x=5"),
    ("x = 2 + 3 = 5", "5"),
    ("5=x", "5"),
    ("1+x=f", "x+1"),
    ("2+3=5", "5"),
    ("y=3+2x", "y=2x+3"),
    ("2x-y+3=0", "y=2x+3"),
    ("2x^2+2y^2=2", "y^2+x^2-1=0"),
    ("f(x)=1+x", "x+1"),
    (r"5\sqrt2\approx 7.07", r"5\sqrt2"),
    (r"5\sqrt2\approx 7.07", "7.07"),
    (r"1\pm\sqrt5", r"1-\sqrt5, 1+\sqrt5"),
    (r"\{1\pm\sqrt{5},-2\}", r"\{-2, 1+\sqrt5, 1-\sqrt5\}"),
    (r"\{1,2\}", "2,1"),
    (r"\{1,2,2\}", r"\{2,1\}"),
    ("x=1 or x=2", "2, 1"),
    (r"1\text{ and }2", "2,1"),
    ("1, 2, and 3", "3,2,1"),
    ("y=2,x=1", "x=1,y=2"),
    ("(x,y)=(1,2)", "(1,2)"),
    (r"\left(3,\frac\pi2\right)", r"(3, \pi/2)"),
    ("x>3", r"(3,\infty)"),
    ("3<x", r"(3,\infty)"),
    (r"-4 \le x < 2", "[-4,2)"),
    (r"2 > x \ge -4", "[-4,2)"),
    (r"x\in[-2,7]", r"-2\le x\le 7"),
    (r"(-\infty,2)\cup(3,\infty)", "x<2 or x>3"),
    (r"(3,\infty)\cup(-\infty,2)", r"(-\infty,2)\cup(3,\infty)"),
    (r"\mathbb{R}", r"(-\infty,\infty)"),
    (r"y \le 2x+1", r"2x-y+1 \ge 0"),
    (
        r"\begin{pmatrix}1&2\\3&4\end{pmatrix}",
        r"\begin{bmatrix} 1 & 2 \\ 3 & \frac{8}{2} \end{bmatrix}",
    ),
    ("1/2x", r"\frac{x}{2}"),
    (r"\text{Evelyn}", "Evelyn"),
    ("C", r"\text{(C)}"),
]
DIFFERENT = [
    ("x+1", "x+2"),
    (r"\sqrt{x^2}", "x"),
    ("|x-90|", "90-x"),
    ("|x+90|", "x+90"),
    (r"\log x", r"\ln x"),
    ("3.14", r"\pi"),
    ("2.718281828", "e"),
    ("0.3333", r"\frac13"),
    (r"10^{100}+1", "10^{100}"),
    (r"\frac{\pi}{3}", r"60^\circ"),
    (r"50\%", "0.5"),
    (r"2\sqrt{3} \text{ cm}", r"2\sqrt{3}\text{ m}"),
    ("x=2", "y=2"),
    ("x=1,y=2", "x=2,y=1"),
    ("5x - 7y + 11z + 4 = 0", "0"),
    ("x^2=1", "x=1"),
    ("2+3=6", "6"),
    ("(1,2)", "(2,1)"),
    ("(2,4)", r"(2,\infty)"),
    ("[1,2)", "(1,2]"),
    ("1,2", "1,2,3"),
    ("1,1,2", "1,2,2"),
    ("1,2", "(1,2)"),
    (r"x\ge 3", r"(3,\infty)"),
    (r"x<3", r"(3,\infty)"),
    (r"y\ge 2x+1", r"2x-y+1\ge0"),
    ("40_9", "40"),
    (r"2516_8", "2516_7"),
    ("AB", "BA"),
    (r"\begin{pmatrix}1&2\\3&4\end{pmatrix}", r"\begin{pmatrix}1&3\\2&4\end{pmatrix}"),
    (r"\begin{pmatrix}1\\2\end{pmatrix}", r"\begin{pmatrix}1&2\end{pmatrix}"),
    (r"\text{Evelyn}", "Navin"),
    ("2\\pi", "2"),
    ("1/0", "5"),
    (r"\infty", "5"),
    (r"-\infty", r"\infty"),
]


@pytest.mark.parametrize(("answer", "target"), EQUAL)
def test_the_same_in_another_form_is_correct(answer: str, target: str) -> None:
    result = judge(answer, target)

    assert (result.reward, result.scoring_details["rule"]) == (1.0, "boxed")


@pytest.mark.parametrize(("target", "answer"), EQUAL)
def test_the_same_is_correct_the_other_way_round(answer: str, target: str) -> None:
    assert judge(answer, target).reward == 1.0


@pytest.mark.parametrize(("answer", "target"), DIFFERENT)
def test_another_answer_is_wrong(answer: str, target: str) -> None:
    result = judge(answer, target)

    assert (result.reward, result.parsed) == (0.0, True)


@pytest.mark.parametrize(("target", "answer"), [pair for pair in DIFFERENT if pair[0] != "1/0"])
def test_another_answer_is_wrong_the_other_way_round(answer: str, target: str) -> None:
    result = judge(answer, target)

    assert (result.reward, result.parsed) == (0.0, True)


@pytest.mark.parametrize(
    ("response", "outcome"),
    [
        (r"First $\boxed{3}$. No: $\boxed{\frac{4}{2}}$.", ("2", "boxed")),
        (r"\boxed{3} is wrong. Answer: $2$", ("2", "label")),
        (r"\boxed{2}. To check the answer: it is plausible", ("2", "boxed")),
        (r"\boxed{\boxed{2}}", ("2", "boxed")),
        ("Answer: $2$", ("2", "label")),
        ("#### 2", ("2", "hash")),
        ("So\n$x = 2$", ("2", "last_line")),
        ("Hence the value of the sum is $2$ in total.", ("2", "last_formula")),
        (r"Hence the value is \(2\).", ("2", "last_formula")),
    ],
)
def test_the_final_answer_is_found(response: str, outcome: tuple[str, str]) -> None:
    target, rule = outcome

    result = math_equal(ScorerInput(response, target))

    assert (result.reward, result.scoring_details["rule"]) == (1.0, rule)


@pytest.mark.parametrize("response", ["", "  \n", r"\boxed{}", "Answer:", "x" * 10_000])
def test_what_is_no_answer_is_unparsed(response: str) -> None:
    result = math_equal(ScorerInput(response, "5"))

    assert (result.reward, result.parsed, result.extracted_answer) == (0.0, False, None)


def test_a_target_may_be_a_whole_solution_with_a_box() -> None:
    assert judge("1+x", r"We see that $\boxed{x+1}$ it is.").reward == 1.0


@pytest.mark.parametrize("target", ["", "  ", "$$", "{}", "()"])
def test_a_target_that_says_nothing_is_refused(target: str) -> None:
    with pytest.raises(ScorerError, match="wants a target"):
        judge("5", target)


def test_a_percentage_off_by_a_hundred_gets_a_hint() -> None:
    assert "factor 100" in judge(r"50\%", "0.5").scoring_details["hint"]


def test_what_cannot_be_decided_is_wrong_and_says_so() -> None:
    result = judge("9^{9^{9^{9}}}", "5")

    assert result.reward == 0.0
    assert result.scoring_details["rule"] == "undecided"
    assert "could not be decided: too large" in result.scoring_details["hint"]


def test_a_target_that_cannot_be_evaluated_leaves_the_attempt_unscored() -> None:
    with pytest.raises(ScorerError, match="cannot be evaluated"):
        judge("x+1", "9^{9^{9^{9}}}")


@pytest.mark.parametrize(
    "answer",
    [
        "__import__('os').system('touch {file}')",
        "().__class__.__bases__[0].__subclasses__()",
        "exec(open('/etc/passwd').read())",
        r"\input{{{file}}}",
        r"\write18{{touch {file}}}",
        "9**9**9**9",
        "x^{{10^{{10^{{10}}}}}}",
        "(2x)^{{10^9}}",
        "99999!",
        r"\frac{{1}}" * 500,
        "{{" * 50_000,
        "(" * 5_000,
        "-" * 3_000 + "5",
        "2^" * 700 + "2",
        r"\sqrt" * 700 + "2",
        "1/" * 700 + "1",
        "(x+1)(x+2)" * 60,
        "1," * 500_000,
        r"\sin(10^{{1000}})",
        "\x00\ud800",
    ],
)
def test_no_response_executes_hangs_or_fills_the_memory(answer: str, tmp_path: Path) -> None:
    file = tmp_path / "touched"
    began = time.monotonic()

    result = judge(answer.format(file=file), "x^2+1")

    assert result.reward == 0.0
    assert not file.exists()
    assert time.monotonic() - began < 30


def test_an_answer_has_one_limit_however_many_readings_and_targets_there_are() -> None:
    asked = []

    def exhausted(task: str, *arguments: Any) -> None:
        asked.append((task, arguments))
        raise OutOfBounds

    decided = _decide(["x+1", "x+2"], r"\pi \approx 3.14", exhausted)

    assert (decided, len(asked)) == ((None, ""), 1)


def test_a_tower_of_powers_is_stopped() -> None:
    result = judge("e^{e^{e^{e^{e}}}}", "5")

    assert (result.reward, result.scoring_details["rule"]) == (0.0, "undecided")
    assert judge("x+1", "1+x").reward == 1.0  # the next one is served


ATOMS = st.sampled_from(
    ["x", "y", "2", "3", "7", r"\pi", r"\frac{1}{2}", r"\sqrt{5}", "a_1", "0.5"]
)
FORMULAS = st.recursive(
    ATOMS,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from(["+", "-", r"\cdot "]), inner).map(
            lambda t: f"({t[0]}{t[1]}{t[2]})"
        ),
        st.tuples(inner, inner).map(lambda t: f"\\frac{{{t[0]}}}{{{t[1]}+11}}"),
        st.tuples(inner, st.integers(2, 3)).map(lambda t: f"({t[0]})^{{{t[1]}}}"),
    ),
    max_leaves=4,
)


@given(FORMULAS)
def test_a_formula_equals_itself_however_it_is_set(formula: str) -> None:
    settings = [
        formula,
        f" {formula}. ",
        f"${formula}$",
        formula.replace("(", r"\left( ").replace(")", r" \right)"),
        formula.replace(r"\frac", r"\dfrac"),
        formula.replace("+", r" \, + \; "),
        f"0 + {formula}",
    ]

    assert [judge(form, formula).reward for form in settings] == [1.0] * len(settings)


@given(FORMULAS, FORMULAS)
def test_equality_is_symmetric(left: str, right: str) -> None:
    assert judge(left, right).reward == judge(right, left).reward


@given(FORMULAS)
def test_one_more_is_another_answer(formula: str) -> None:
    assert judge(f"{formula}+1", formula).reward == 0.0


@given(
    st.text(alphabet=st.sampled_from(list("\\{}()[]^_$|,=+-*/!%°±<>.0123456789xyeifractsqnol \n")))
)
def test_any_text_gets_a_verdict(text: str) -> None:
    result = math_equal(ScorerInput(text, "x+1"))

    assert result.reward in {0.0, 1.0}


def test_without_sympy_it_says_what_to_install() -> None:
    code = (
        "import sys\n"
        "sys.modules['sympy'] = None\n"  # what an import of it raises is ImportError
        "from pytest_nel.core.errors import ConfigError\n"
        "from pytest_nel.scoring.catalog import get_scorer\n"
        "try: get_scorer('math_equal')\n"
        "except ConfigError as error: print(error)\n"
    )
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(filter(None, sys.path))}

    shown = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, check=True, env=environment
    )

    assert shown.stdout == "math_equal needs the package sympy: pip install 'pytest-nel[math]'\n"


def golds() -> list[str]:
    path = SHARED / "data/math500_test.jsonl"
    if not path.exists():
        pytest.skip(f"no MATH-500 rows at {path} (set NEL_SHARED)")
    rows: list[dict[str, Any]] = [json.loads(line) for line in path.read_text("utf-8").splitlines()]
    return sorted({row["answer"] for row in rows})


@pytest.mark.parametrize(
    "form", ["\\boxed{{{}}}", "Answer: ${}$", "Answer: {}", "So it is $\\boxed{{ {} }}$.", "{}"]
)
def test_every_gold_answer_of_math500_equals_itself(form: str) -> None:
    missed = [
        gold for gold in golds() if math_equal(ScorerInput(form.format(gold), gold)).reward != 1
    ]

    assert missed == []


SAME = {
    ("-2,1", "1,-2"),
    ("10,\\!080", "10080"),
    ("120", "120^\\circ"),
    ("15", "15\\mbox{ cm}^2"),
    ("2 \\sqrt{5}", "2\\sqrt{5}"),
    ("30", "30^\\circ"),
    ("36", "36^\\circ"),
    ("36", "\\$36"),
    ("5", "x=5"),
    ("90", "90^\\circ"),
    ("\\frac14", "\\frac{1}{4}"),
}


@pytest.mark.slow
@pytest.mark.simulation  # 45,000 comparisons: no version of Python changes them
def test_gold_answers_of_math500_equal_each_other_only_where_they_mean_the_same() -> None:
    equal = {pair for pair in itertools.combinations(golds(), 2) if judge(*pair).reward == 1}

    assert equal == SAME
