"""Labels of options."""

from typing import Literal

import pytest

from pytest_nel.authoring.choices import gold_letter, letters
from pytest_nel.core.errors import DataError


def test_twelve_options_are_a_to_l() -> None:
    assert "".join(letters(12)) == "ABCDEFGHIJKL"


@pytest.mark.parametrize("count", [0, -1, 27, 30])
def test_what_the_alphabet_cannot_label_is_refused(count: int) -> None:
    with pytest.raises(DataError, match="with numbers"):
        letters(count)


@pytest.mark.parametrize(
    ("answer", "kind", "letter"),
    [(1, "index0", "B"), ("1", "index0", "B"), ("B", "letter", "B"), ("b", "letter", "B")],
)
def test_a_gold_answer_means_what_the_benchmark_declares(
    answer: object, kind: Literal["index0", "letter"], letter: str
) -> None:
    assert gold_letter(answer, 4, kind=kind) == letter


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        ("B", "index0"),
        (1, "letter"),
        ("1", "letter"),
        (4, "index0"),
        (-1, "index0"),
        (True, "index0"),
        (None, "index0"),
        ("E", "letter"),
        ("", "letter"),
        ("9" * 5000, "index0"),
    ],
)
def test_an_answer_of_the_other_kind_or_out_of_range_is_refused(
    answer: object, kind: Literal["index0", "letter"]
) -> None:
    with pytest.raises(DataError, match=r"expected the (position|letter) of an option"):
        gold_letter(answer, 4, kind=kind)
