"""The text of an answer, in whatever form a client sends it."""

from pytest_nel.serve.bodies import text_of


def test_a_message_without_a_role_is_the_assistants() -> None:
    found = text_of({"output": [{"type": "message", "content": "Paris"}, {"content": "Rome"}]})

    assert found == "Paris\nRome"
