import time

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.scoring.reasoning import split_reasoning


@pytest.mark.parametrize(
    ("content", "answer", "reasoning"),
    [
        (" <think>x</think>\n y", "y", "x"),
        ("<THINK>x</Think>y", "y", "x"),
        ("<thinking>x</thinking>y", "y", "x"),
        ('<reasoning effort="high">x</reasoning >y', "y", "x"),
        ("<think>a</think>b<think>c</think>d", "bd", "a\n\nc"),
        ("<think>a <think>b</think> c</think> d", "d", "a\n\nb\n\nc"),
        ("<think>\n<think>a</think> b", "b", "a"),
        ("a</think> b", "b", "a"),
        ("a</think> b</think> c", "c", "a\n\nb"),
        ("<think>a, perhaps Answer: B", "", "a, perhaps Answer: B"),
        ("Answer: A <think>hm", "", "Answer: A\n\nhm"),
        ("<think></think>B", "B", None),
        ("I end with `</think>` here", "I end with `</think>` here", None),
        ("<think>`</think>` ends it</think>B", "B", "`</think>` ends it"),
        ("<thinker>a</thinker>", "<thinker>a</thinker>", None),
        ("<think/>a", "<think/>a", None),
    ],
)
def test_reasoning_is_told_from_the_answer(
    content: str, answer: str, reasoning: str | None
) -> None:
    assert split_reasoning(content) == (answer, reasoning)


def test_what_the_server_separated_comes_first() -> None:
    assert split_reasoning("<think>b</think>c", "a") == ("c", "a\n\nb")


def test_content_without_tags_is_untouched() -> None:
    assert split_reasoning("  a\n", "r") == ("  a\n", "r")


def test_tags_in_code_of_the_answer_are_text() -> None:
    code = "```xml\n<think>x</think>\n```"

    assert split_reasoning(f"<think>r</think>\n{code}") == (code, "r")
    assert split_reasoning(code) == (code, None)


def test_a_fence_left_open_in_reasoning_does_not_hide_its_end() -> None:
    content = "```py\nfoo\n</think>\nAnswer: B\n```\nx\n```"

    answer, _ = split_reasoning(content)

    assert answer.startswith("Answer: B")


@given(st.lists(st.sampled_from(["<think>", "</think>", "a", "\n", "```\n", "`", " "])))
def test_no_reasoning_is_left_behind_an_opener_and_nothing_is_lost(parts: list[str]) -> None:
    answer, reasoning = split_reasoning("".join(parts))

    letters = sum(part == "a" for part in parts)
    assert answer.count("a") + (reasoning or "").count("a") == letters


@given(st.text(alphabet="ab \n.", min_size=1), st.text(alphabet="xyz \n"))
def test_a_plain_block_splits_exactly(thought: str, answer: str) -> None:
    expected = (answer.strip(), thought.strip() or None)

    assert split_reasoning(f"<think>{thought}</think>{answer}") == expected
    assert split_reasoning(f"{thought}</think>{answer}") == expected


@pytest.mark.parametrize(
    "piece",
    ["<think>", "</think>", "<think ", "```\n<think>", "````\n```\n</think>", "<think></think>"],
)
def test_the_cost_is_linear(piece: str) -> None:
    start = time.process_time()

    split_reasoning(piece * 60_000)

    assert time.process_time() - start < 5.0
