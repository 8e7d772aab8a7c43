"""However a number is written, it is the same number; another number never is."""

from collections.abc import Callable
from decimal import Decimal
from fractions import Fraction

from hypothesis import assume, given
from hypothesis import strategies as st

from pytest_nel.core.types import ScorerInput
from pytest_nel.scoring.line import answer_line
from pytest_nel.scoring.number import canonical, parse_quantity
from pytest_nel.scoring.numeric import numeric_match

Written = Callable[[Decimal], str]

numbers = st.decimals(min_value=-(10**9), max_value=10**9, places=3) | st.integers(
    -(10**12), 10**12
).map(Decimal)


def plain(number: Decimal) -> str:
    return f"{number:f}"


def grouped(number: Decimal) -> str:
    return f"{number:,f}"


def zeros(number: Decimal) -> str:
    text = f"{number:f}"
    return f"{text}00" if "." in text else f"{text}.00"


def scientific(number: Decimal) -> str:
    return f"{number:e}"


def unicode_minus(number: Decimal) -> str:
    return f"{number:f}".replace("-", "−")


def thin_spaces(number: Decimal) -> str:
    return f"{number:,f}".replace(",", "\u202f")


def latex_commas(number: Decimal) -> str:
    return f"{number:,f}".replace(",", "{,}")


def full_width(number: Decimal) -> str:
    return f"{number:f}".translate({ord(c): chr(ord(c) + 0xFEE0) for c in "0123456789."})


def currency(number: Decimal) -> str:
    return f"-${-number:,f}" if number < 0 else f"${number:,f}"


def power_of_ten(number: Decimal) -> str:
    mantissa, _, exponent = f"{number:e}".partition("e")
    return f"{mantissa} \\times 10^{{{int(exponent)}}}"


WRITTEN = st.sampled_from(
    [
        plain, grouped, zeros, scientific, unicode_minus, thin_spaces, latex_commas, full_width,
        currency, power_of_ten,
    ]
)  # fmt: skip
AROUND = st.sampled_from(
    [
        "{}",
        "Answer: {}",
        "Answer: {}.",
        "**Answer:** {}",
        "**Answer: {}**",
        "Answer: **{}**",
        "The answer is {}.",
        "#### {}",
        "\\boxed{{{}}}",
        "So we get $\\boxed{{{}}}$ in 2024.",
        "First 7, then 8.\nAnswer: {}\n",
        "Answer: 77\nNo, wait.\nAnswer: {}",
        "Final answer:\n\n{}",
        "答案：{}",
        "Antwort: {}",
        "Answer: `{}`",
        "Answer: ({})",
        "Answer: {} apples",
    ]
)


@given(numbers, WRITTEN, AROUND)
def test_the_way_a_number_is_written_does_not_change_the_grade(
    number: Decimal, written: Written, around: str
) -> None:
    response = around.format(written(number))

    result = numeric_match(ScorerInput(response, plain(number)))

    assert result.reward == 1.0, (response, result)
    assert result.parsed
    assert Fraction(result.extracted_answer or "") == Fraction(number)


@given(numbers, numbers, WRITTEN, AROUND)
def test_another_number_is_never_equal(
    number: Decimal, other: Decimal, written: Written, around: str
) -> None:
    assume(number != other)

    result = numeric_match(ScorerInput(around.format(written(number)), plain(other)))

    assert result.reward == 0.0
    assert result.parsed


@given(numbers, WRITTEN, AROUND)
def test_answer_line_reads_numbers_the_same_way(
    number: Decimal, written: Written, around: str
) -> None:
    result = answer_line(ScorerInput(around.format(written(number)), plain(number)))

    assert result.reward == 1.0


@given(numbers, numbers, WRITTEN, AROUND)
def test_answer_line_never_takes_one_number_for_another(
    number: Decimal, other: Decimal, written: Written, around: str
) -> None:
    assume(number != other)

    result = answer_line(ScorerInput(around.format(written(number)), plain(other)))

    assert result.reward == 0.0


@given(st.fractions(max_denominator=1000))
def test_the_canonical_form_of_a_fraction_reads_back_exactly(value: Fraction) -> None:
    quantity = parse_quantity(canonical(value))

    assert quantity is not None
    assert quantity.value == value


@given(st.integers(-999, 999), st.integers(1, 999))
def test_a_latex_fraction_is_the_quotient(above: int, below: int) -> None:
    target = canonical(Fraction(above, below))

    result = numeric_match(ScorerInput(f"Answer: $\\frac{{{above}}}{{{below}}}$", target))

    assert result.reward == 1.0


@given(st.text(max_size=200))
def test_any_text_gets_a_verdict(response: str) -> None:
    result = numeric_match(ScorerInput(response, "5"))

    assert result.reward in (0.0, 1.0)
    assert result.parsed == (result.extracted_answer is not None)


@given(st.text(alphabet="0123456789.,-+eE/ \n$%:*{}\\=()'_×^", max_size=80))
def test_any_soup_of_number_characters_gets_a_verdict(response: str) -> None:
    result = numeric_match(ScorerInput(response, "5"))

    assert result.parsed == (result.extracted_answer is not None)
    if result.parsed:
        assert (result.reward == 1.0) == (Fraction(result.extracted_answer or "") == 5)


@given(st.integers(-999, 999), st.integers(1, 999), st.text("0123456789.,/_:", min_size=1))
def test_what_follows_a_latex_fraction_is_no_part_of_its_denominator(
    above: int, below: int, behind: str
) -> None:
    quantity = parse_quantity(f"\\frac{{{above}}}{{{below}}}{behind}")

    assert quantity is None or quantity.value == Fraction(above, below)
