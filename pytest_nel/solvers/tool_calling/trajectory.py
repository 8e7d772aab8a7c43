"""What happened in an attempt, as a document of the Agent Trajectory Interchange Format, v1.6."""

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime

from pytest_nel.core.types import JsonObject, Message, ModelResponse
from pytest_nel.solvers._atif import document
from pytest_nel.solvers.tool_calling.tools import Called, ToolCall

_SOURCES = {"system": "system", "developer": "system", "assistant": "agent"}


class Trajectory:
    """The steps of one attempt as they happen.

    Args:
        model: The name by which the model is asked.
    """

    def __init__(self, model: str) -> None:
        self._model = model
        self._steps: list[JsonObject] = []

    def begin(self, messages: Sequence[Message]) -> None:
        """What the conversation begins with."""
        for message in messages:
            source = _SOURCES.get(str(message.get("role")), "user")
            self._add(source, _text(message.get("content")))

    def turn(
        self, reply: ModelResponse, message: str, reasoning: str | None, calls: Sequence[ToolCall]
    ) -> None:
        """A reply of the model; what comes of its calls is still to be said."""
        more: JsonObject = {"model_name": reply.model or self._model}
        if reasoning:
            more["reasoning_content"] = reasoning
        if calls:
            more["tool_calls"] = [
                {
                    "tool_call_id": call.id,
                    "function_name": call.name,
                    "arguments": call.arguments,
                }
                for call in calls
            ]
        known = {"prompt_tokens": reply.prompt_tokens, "completion_tokens": reply.completion_tokens}
        metrics: JsonObject = {name: count for name, count in known.items() if count is not None}
        extra: JsonObject = {"latency_ms": round(reply.latency_ms, 2)}
        if reply.reasoning_tokens is not None:
            extra["reasoning_tokens"] = reply.reasoning_tokens
        more["metrics"] = {**metrics, "extra": extra}
        facts = {"finish_reason": reply.finish_reason, "refusal": reply.refusal}
        if told := {name: value for name, value in facts.items() if value}:
            more["extra"] = told
        self._add("agent", message, **more)

    def observed(self, calls: Sequence[ToolCall], outcomes: Sequence[Called]) -> None:
        """What the model is told of the calls of its last reply."""
        results: list[JsonObject] = []
        for call, outcome in zip(calls, outcomes, strict=True):
            result: JsonObject = {"source_call_id": call.id, "content": outcome.content}
            if outcome.is_error:
                result["is_error"] = True
            results.append(result)
        self._steps[-1]["observation"] = {"results": results}

    def failed(self, why: str) -> None:
        """It has ended without the model's having said that it is done."""
        self._add("system", why)

    def documents(self, extra: Mapping[str, object]) -> list[JsonObject]:
        """The one document; ``extra`` says how it ended."""
        totals: dict[str, int] = {}
        asked = [step["metrics"] for step in self._steps if "metrics" in step]
        for name in ("prompt_tokens", "completion_tokens"):
            counts = [one.get(name) for one in asked]
            if counts and None not in counts:
                totals[f"total_{name}"] = sum(counts)
        whole = document("tool_calling", self._steps, model=self._model, totals=totals)
        if extra:
            whole["extra"] = dict(extra)
        return [whole]

    def _add(self, source: str, message: str, **more: object) -> None:
        step: JsonObject = {
            "step_id": len(self._steps) + 1,
            "timestamp": datetime.now(UTC).isoformat(timespec="milliseconds"),
            "source": source,
            "message": message,
        }
        self._steps.append({**step, **more})


def _text(content: object) -> str:
    """A message's text; of pictures, that they were there."""
    if not isinstance(content, list):
        return content if isinstance(content, str) else ""
    parts = []
    for part in content:
        text = part.get("text") if isinstance(part, Mapping) else part
        parts.append(text if isinstance(text, str) else "[image]")
    return "\n".join(parts)
