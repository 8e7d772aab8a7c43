"""What is special about a reply, for the record beside its score."""

from pytest_nel.core.types import ModelResponse


def answer_flags(response: ModelResponse) -> dict[str, bool]:
    """The flags that are true: ``truncated``, ``refusal``, ``tool_call``, ``empty``.

    ``empty`` is an answer without text that neither a refusal nor a tool call explains.
    """
    flags = {
        "truncated": response.finish_reason == "length",
        "refusal": bool(response.refusal),
        "tool_call": bool(response.tool_calls),
        "empty": not response.content.strip() and not response.refusal and not response.tool_calls,
    }
    return {name: True for name, true in flags.items() if true}
