"""How requests describe tools, in each protocol."""

import pytest

from pytest_nel.http._tool_fields import tool_fields

TOOL = {"type": "function", "function": {"name": "f", "parameters": {"type": "object"}}}
FLAT = {"type": "function", "name": "f", "parameters": {"type": "object"}}
NAMED = {"type": "function", "function": {"name": "f"}}


def test_without_tools_nothing_is_said_of_them() -> None:
    assert tool_fields("chat_completions", [], "auto") == {}


@pytest.mark.parametrize("choice", ["auto", "required", NAMED])
def test_chat_completions_have_them_as_they_are(choice: object) -> None:
    said = tool_fields("chat_completions", [TOOL], choice)  # type: ignore[arg-type]  # parametrized

    assert said == {"tools": [TOOL], "tool_choice": choice}


def test_responses_have_the_functions_fields_beside_the_type() -> None:
    assert tool_fields("responses", [TOOL, FLAT], NAMED) == {
        "tools": [FLAT, FLAT],
        "tool_choice": {"type": "function", "name": "f"},
    }
    assert tool_fields("responses", [TOOL], None) == {"tools": [FLAT]}
