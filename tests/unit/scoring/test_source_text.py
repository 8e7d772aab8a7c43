"""Which part of a response is the program."""

import ast

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.scoring.source_text import defines, extract, prelude

PROMPT = 'from typing import List\n\n\ndef solve(x: int) -> int:\n    """Twice x."""\n'
GOOD = "def solve(x):\n    return 2 * x\n"

FOUND = [
    (f"```python\n{GOOD}```", "fence"),
    (f"```\n{GOOD}```", "fence"),
    (f"~~~py\n{GOOD}~~~", "fence"),
    (f"Plan:\n```\n1. double it\n```\nThen:\n```python\n{GOOD}```", "fence"),
    (f"```python\ndef solve(x):\n    return 3\n```\nBetter:\n```python\n{GOOD}```", "fence"),
    (f"```python\n{GOOD}```\nUse it:\n```python\nprint(solve(2))\n```", "fence"),
    (f"```python\n{GOOD}```\nOutput:\n```\n4\n```", "fence"),
    ("- Here:\n  ```python\n  def solve(x):\n      return 2 * x\n  ```", "fence"),
    (f"```python\n{GOOD}", "fence"),
    (f"```Python\r\n{GOOD}```".replace("\n", "\r\n"), "fence"),
    ("```python\nsolve = lambda x: 2 * x\n```", "fence"),
    ("```python\nif True:\n    def solve(x):\n        return 2 * x\n```", "fence"),
    ("```python\n    return 2 * x\n```", "fence_body"),
    ("```python\n    y = x\n    return y + x\n```", "fence_body"),
    (GOOD, "whole"),
    (f"Sure, here it is.\n\n{GOOD}\nIt doubles the number.", "lines"),
    (f"Sure!\nimport math\n\n{GOOD}\nThat's it", "lines"),
    ("    return 2 * x\n", "body"),
    ("    return 2 * x\n\n\nThis doubles the number.", "body"),
    ("    return 2 * x\n\n\nprint(solve(", "body"),
]
MISSING = [
    "",
    "I cannot do that.",
    "```python\ndef other(x):\n    return 2 * x\n```",
    "```javascript\nfunction solve(x) { return 2 * x }\n```",
    "return 2 * x",
    "The function solve doubles x.",
    "```python\n\x00def solve(x): return 2 * x\n```",
]


UNREAD = [
    'def solve(d):\n    return f"{d["a"]}" +\n',  # as of a Python that is newer than any
    "type N = int\n\nasync def solve[T](x: T) -> T:\n    return x then\n",
    "class solve[T]: pass then\n",
    "solve = lambda x: x then\n",
    "solve: int = 3 then\n",
]


def run(code: str) -> int:
    names: dict[str, object] = {}
    exec(compile(code, "program", "exec"), names)  # noqa: S102  # our own rows
    value: int = names["solve"](4)  # type: ignore[operator]
    return value


@pytest.mark.parametrize(("response", "rule"), FOUND)
def test_the_code_that_defines_the_entry_point_is_found_and_runs(response: str, rule: str) -> None:
    found = extract(response, "solve", PROMPT)

    assert found is not None
    assert found[1] == rule
    assert run(found[0]) == 8


@pytest.mark.parametrize("response", MISSING)
def test_a_response_without_such_code_has_none(response: str) -> None:
    assert extract(response, "solve", PROMPT) is None


@pytest.mark.parametrize("code", UNREAD)
def test_code_that_this_python_cannot_read_is_left_to_the_sandboxs(code: str) -> None:
    response = f"```python\n{code}```\nUse it:\n```python\nx == solve(3) then\n```"

    assert extract(response, "solve", PROMPT) == [code, "fence_unread"]


def test_code_that_can_be_read_goes_before_code_that_cannot() -> None:
    response = f"```python\n{GOOD}```\n```python\ndef solve(x:\n```"

    assert extract(response, "solve", PROMPT) == [GOOD, "fence"]


def test_a_name_inside_another_function_is_no_definition() -> None:
    assert not defines("def outer():\n    def solve(x):\n        return x\n", "solve")


def test_a_prompt_that_ends_in_the_middle_becomes_a_program() -> None:
    made = prelude("import math\n\ndef helper(x):\n    return x\n\ndef solve(x):\n")

    assert made.endswith("    pass\n")
    assert defines(made, "helper")


def test_a_prompt_that_is_no_python_gives_no_prelude() -> None:
    assert prelude("Write a function solve that doubles a number.") == ""


@given(st.text(alphabet=st.sampled_from(list("`~def solve():\n return12 python@")), max_size=200))
def test_whatever_is_found_and_read_is_python_that_defines_it(response: str) -> None:
    found = extract(response, "solve", PROMPT)

    if found is not None and found[1] != "fence_unread":
        ast.parse(found[0])
        assert defines(found[0], "solve")


def test_a_long_response_without_an_end_takes_no_time_out() -> None:
    response = "def solve(x):\n" + "    y = (\n" * 20_000

    assert extract(response, "solve", PROMPT) is None
