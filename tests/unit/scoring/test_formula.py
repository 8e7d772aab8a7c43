"""Reading formulas: what the trees are, and that no text does any harm."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.scoring.formula import parse
from pytest_nel.scoring.tokens import NotFormula
from pytest_nel.scoring.tree import Tree, branches, holds

X: Tree = ["name", "x"]


def number(text: str) -> Tree:
    return ["number", text]


@pytest.mark.parametrize(
    ("text", "tree"),
    [
        ("x", X),
        ("1.50", number("3/2")),
        ("1e3", number("1000")),
        (".5", number("1/2")),
        (r"3\frac14", number("13/4")),
        (r"3\frac{7}{4}", ["*", number("3"), ["/", number("7"), number("4")]]),
        (r"\frac34x", ["*", ["/", number("3"), number("4")], X]),
        (r"\sqrt2x", ["*", ["root", number("2"), number("2")], X]),
        (r"\log_28", ["log", number("2"), number("8")]),
        ("x_{10}", ["name", "x_10"]),
        ("x_1^2", ["^", ["name", "x_1"], number("2")]),
        ("2516_8", ["name", "2516 base 8"]),
        ("-x^2", ["*", number("-1"), ["^", X, number("2")]]),
        ("x^10", ["^", X, number("10")]),
        ("2^3^4", ["^", number("2"), ["^", number("3"), number("4")]]),
        (r"\sin 2x", ["call", "sin", ["*", number("2"), X]]),
        ("sinx", ["call", "sin", X]),
        (r"\sin(x)x", ["*", ["call", "sin", X], X]),
        (r"\sin^{-1}x", ["call", "arcsin", X]),
        ("[1,2)", ["ordered", "[", ")", number("1"), number("2")]),
        (r"\{1\}", ["set", number("1")]),
        (r"\emptyset", ["set"]),
        ("1,234", number("1234")),
        ("(1,234)", ["ordered", "(", ")", number("1"), number("234")]),
        ("1<x", ["relation", ["<"], number("1"), X]),
    ],
)
def test_a_formula_is_read(text: str, tree: Tree) -> None:
    assert parse(text) == tree


@pytest.mark.parametrize(
    "text",
    [
        "", "(", "(1,2", "{1", "x2", "2 3", "1+", "/2", "hello", r"\int x", r"\ldots", "x!!", ")",
        r"\frac{1}", r"\begin{cases}1\end{cases}", r"\begin{pmatrix}1&2\\3\end{pmatrix}", "1..2",
        "x^", "a=", r"\unknown", "|x", "1e9999", "9" * 1001, "x" * 4001, "(" * 41 + "x" + ")" * 41,
        "-" * 50 + "x", "^" * 50, "x^" * 50 + "x", "A \\cap B",
    ],
)  # fmt: skip
def test_what_is_no_formula_is_refused(text: str) -> None:
    with pytest.raises(NotFormula):
        parse(text)


@given(st.text())
def test_any_text_is_a_formula_or_is_not(text: str) -> None:
    try:
        tree = parse(text)
    except NotFormula:
        return
    assert isinstance(json.loads(json.dumps(tree)), list)


MATHS = list("\\{}()[]^_|,;=+-*/!°±≤∞π√<>.0123456789xyeifractsqnol \n&")
PIECES = ["\\frac", "\\sqrt", "\\left(", "\\pm", "\\overline{3}", "\\begin{pmatrix}", "\\log_"]


@given(st.lists(st.sampled_from([*MATHS, *PIECES]), max_size=60).map("".join))
def test_any_heap_of_signs_is_a_formula_or_is_not(text: str) -> None:
    try:
        tree = parse(text)
    except NotFormula:
        return
    assert isinstance(json.loads(json.dumps(tree)), list)


def test_plus_minus_is_two_formulas_with_the_same_sign_throughout() -> None:
    plus, minus = branches(parse(r"x \pm y \mp 1"))

    assert plus == ["+", X, ["name", "y"], number("-1")]
    assert minus == ["+", X, ["*", number("-1"), ["name", "y"]], number("1")]
    assert not holds(plus, "±")
