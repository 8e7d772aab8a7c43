"""Tool calls in plain text, for models or servers that have no form of their own for them."""

import json
import re
from collections.abc import Sequence

from pytest_nel.core.text import storable
from pytest_nel.core.types import JsonObject, Message
from pytest_nel.scoring.reasoning import split_reasoning
from pytest_nel.solvers.tool_calling.tools import Called, ToolCall, arguments_of

_TAGGED = re.compile(r"<tool_call>(.*?)(?:</tool_call>|\Z)", re.DOTALL)
_FENCED = re.compile(r"^```(?:json|tool_call)?[ \t]*\n(.*?)^```[ \t]*$", re.DOTALL | re.MULTILINE)
_NAMES = ("name", "tool", "function")
_ARGUMENTS = ("arguments", "parameters", "args", "input")


def instructions(tools: Sequence[JsonObject]) -> str:
    """What the system message says of the tools."""
    lines = "\n".join(json.dumps(tool.get("function", tool), ensure_ascii=False) for tool in tools)
    return (
        "You can call these tools, each described by a JSON object:\n"
        f"{lines}\n\n"
        "To call one, write a JSON object with its name and arguments between tags:\n"
        '<tool_call>{"name": "NAME", "arguments": {"ARGUMENT": "VALUE"}}</tool_call>\n'
        "Several calls may follow each other. Their results come in the next message. When no "
        "more calls are needed, give your final answer without any."
    )


def calls_in(content: str, turn: int) -> list[ToolCall]:
    """The calls of a reply: between tags, else fenced JSON objects; none within reasoning.

    A fenced object is a call only where it has a name and arguments; what stands between tags is
    meant as one, whatever it is.
    """
    answer = split_reasoning(content)[0]
    tagged = _TAGGED.findall(answer)
    if tagged:
        read = [_read(_unfenced(text)) for text in tagged]
        return [
            _call(found, trouble, f"call_{turn}_{at}") for at, (found, trouble) in enumerate(read)
        ]
    found = (_read(text)[0] for text in _FENCED.findall(answer))
    calls = [one for one in found if one is not None and _is_call(one)]
    return [_call(one, None, f"call_{turn}_{at}") for at, one in enumerate(calls)]


def results(calls: Sequence[ToolCall], outcomes: Sequence[Called]) -> Message:
    """The message that tells the model what came of its calls."""
    parts = (
        f'<tool_response name="{call.name}">\n{outcome.content}\n</tool_response>'
        for call, outcome in zip(calls, outcomes, strict=True)
    )
    return {"role": "user", "content": "\n".join(parts)}


def _unfenced(text: str) -> str:
    fenced = _FENCED.search(text.strip() + "\n")
    return fenced[1] if fenced else text


def _read(text: str) -> tuple[JsonObject | None, str | None]:
    try:
        read = json.loads(text.strip(), strict=False)
    except (ValueError, RecursionError) as error:
        return None, f"the call is not valid JSON ({error}): {storable(text.strip())[:200]}"
    if not isinstance(read, dict):
        return None, f"a call must be a JSON object, not a {type(read).__name__}"
    return read, None


def _is_call(found: JsonObject) -> bool:
    return isinstance(_first(found, _NAMES), str) and any(name in found for name in _ARGUMENTS)


def _call(found: JsonObject | None, trouble: str | None, key: str) -> ToolCall:
    if found is None:
        return ToolCall(key, "", {}, trouble)
    inner = found.get("function")
    found = inner if isinstance(inner, dict) else found
    name = _first(found, _NAMES)
    arguments, wrong = arguments_of(_first(found, _ARGUMENTS))
    return ToolCall(key, storable(name) if isinstance(name, str) else "", arguments, wrong)


def _first(found: JsonObject, names: Sequence[str]) -> object:
    return next((found[name] for name in names if name in found), None)
