"""What is masked of a failure's report, and what is let be."""

from typing import NamedTuple

import pytest

from pytest_nel.hooks.masking import masked

KEY = "sk-planted-1234567890"


def redact(text: str) -> str:
    return text.replace(KEY, "[API key]")


class Alive:
    """An object of somebody else's that a report may hold."""

    def __init__(self) -> None:
        self.api_key = KEY


class Pair(NamedTuple):
    """One that cannot be changed."""

    name: str


def test_texts_in_lists_and_mappings_are_masked() -> None:
    assert masked([f"a {KEY}", {"x": (KEY, 1)}], redact) == ["a [API key]", {"x": ("[API key]", 1)}]


def test_a_traceback_of_pytest_is_masked() -> None:
    with pytest.raises(ValueError, match="sk-planted") as caught:
        raise ValueError(KEY)

    shown = masked(caught.getrepr(showlocals=True), redact)

    assert "[API key]" in str(shown)
    assert f"ValueError: {KEY}" not in str(shown)


def test_objects_of_others_stay_as_they_are() -> None:
    alive, pair = Alive(), Pair(KEY)

    assert masked([alive, pair], redact) == [alive, pair]
    assert alive.api_key == KEY
