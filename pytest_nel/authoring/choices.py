"""Labels of multiple-choice options, and what a dataset means by its gold answer."""

from string import ascii_uppercase
from typing import Literal

from pytest_nel.core.errors import DataError


def letters(count: int) -> tuple[str, ...]:
    """``A``, ``B``, … for that many options.

    Raises:
        DataError: There are none, or more than the alphabet has.
    """
    if not 1 <= count <= len(ascii_uppercase):
        msg = (
            f"expected 1 to {len(ascii_uppercase)} options to label with letters, got {count}; "
            "label more of them with numbers"
        )
        raise DataError(msg)
    return tuple(ascii_uppercase[:count])


def gold_letter(answer: object, count: int, *, kind: Literal["index0", "letter"]) -> str:
    """The label of the right option, by what the *benchmark* says its answers are.

    Nothing is guessed: ``1`` is B in one dataset and A in another.

    Args:
        answer: The dataset's value, ``1`` or ``"1"`` for an index, ``"B"`` or ``"b"`` for a
            letter.
        count: How many options there are.
        kind: ``index0`` for positions counted from 0, ``letter`` for labels.

    Raises:
        DataError: The answer is of the other kind, or there is no such option.
    """
    labels = letters(count)
    text = str(answer).strip() if isinstance(answer, int | str) else ""
    if kind == "index0":
        is_index = text.isascii() and text.isdigit() and not isinstance(answer, bool)
        if not is_index or int(text[:9]) >= count or len(text) > 9:
            msg = f"expected the position of an option, 0 to {count - 1}, got {answer!r}"
            raise DataError(msg)
        return labels[int(text)]
    if text.upper() not in labels:
        msg = f"expected the letter of an option, A to {labels[-1]}, got {answer!r}"
        raise DataError(msg)
    return text.upper()
