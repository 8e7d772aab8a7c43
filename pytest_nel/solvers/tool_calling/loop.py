"""One attempt: ask the model, do what it calls for, tell it, until it calls for nothing more."""

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from pytest_nel.core.errors import FailureKind, GracefulError, InfraError
from pytest_nel.core.exchange import keep_progress
from pytest_nel.core.types import WORKED, JsonObject, Message, ModelResponse, SolveResult
from pytest_nel.http.answer import answer_flags
from pytest_nel.http.client import ModelClient
from pytest_nel.http.failures import classify
from pytest_nel.scoring.reasoning import split_reasoning
from pytest_nel.solvers.tool_calling import text_calls
from pytest_nel.solvers.tool_calling.context import Conversation, answer_room
from pytest_nel.solvers.tool_calling.routing import Router
from pytest_nel.solvers.tool_calling.tools import Called, ToolCall, calls_of, sendable
from pytest_nel.solvers.tool_calling.totals import together
from pytest_nel.solvers.tool_calling.trajectory import Trajectory

_WORK_COUNTS = (FailureKind.TURN_BUDGET, FailureKind.CONTEXT_WINDOW)
"""What ends an attempt that may nevertheless have done its work in the sandbox."""


@dataclass(frozen=True, slots=True)
class Rules:
    """How attempts go.

    Attributes:
        max_turns: Replies of the model at most.
        artifact: What is judged is the sandbox, not the last message.
        in_text: Calls are written into the answer's text.
        max_context_tokens: Of a prompt at most; None does not limit it.
        sampling: Parameters that override the endpoint's.
    """

    max_turns: int
    artifact: bool
    in_text: bool
    max_context_tokens: int | None
    sampling: Mapping[str, Any]


class _Ended(NamedTuple):
    kind: FailureKind
    error: str


class Rollout:
    """One attempt.

    Args:
        client: Whom to ask.
        router: The tools.
        rules: How it goes.
        messages: What the conversation begins with.
    """

    def __init__(
        self, client: ModelClient, router: Router, rules: Rules, messages: Sequence[Message]
    ) -> None:
        self._client, self._router, self._rules = client, router, rules
        tools = router.described
        self._native = [] if rules.in_text else tools
        head = _with_instructions(messages, tools) if rules.in_text else list(messages)
        fixed = len(json.dumps(self._native)) if self._native else 0
        self._talk = Conversation(head, rules.max_context_tokens, fixed)
        self._trajectory = Trajectory(client.endpoint.model)
        self._trajectory.begin(head)
        self._replies: list[ModelResponse] = []
        self._said = ""
        self._counts: dict[str, int] = {"turns": 0, "tool_calls": 0, "tool_errors": 0}

    async def run(self) -> SolveResult:
        """Go on until the model is done, or may not go on.

        Raises:
            InfraError: The machinery failed; the session knows what was done until then.
            GracefulError: An interceptor refused the first request.
        """
        began = time.perf_counter()
        keep_progress(self._so_far)
        ended = await self._turns()
        return self._result(ended, time.perf_counter() - began)

    def _so_far(self) -> SolveResult:
        """What there is of an attempt that others end; a text before calls is no last message."""
        content = self._answer() if self._rules.artifact else ""
        return SolveResult(
            response=content,
            model_response=together(self._replies, content, 0.0) if self._replies else None,
            trajectory=self._trajectory.documents({"status": "error", "error": "was ended"}),
            scoring_details={**self._counts},
        )

    async def _turns(self) -> _Ended | None:
        limit = self._rules.max_turns
        for turn in range(1, limit + 1):
            reply = await self._asked()
            if isinstance(reply, _Ended):
                return reply
            calls = self._heard(reply, turn)
            if not calls:
                return None
            outcomes = await self._router.call(calls)
            self._told(reply, calls, outcomes)
        return _Ended(FailureKind.TURN_BUDGET, f"max_turns_exhausted ({limit} turns)")

    async def _asked(self) -> ModelResponse | _Ended:
        """The next reply, for a shorter conversation where the model cannot take all of it."""
        self._talk.fit()
        while True:
            try:
                reply = await self._client.chat(
                    self._talk.messages, tools=self._native, **self._rules.sampling
                )
            except (GracefulError, InfraError) as error:
                ended = self._refused(error)
                if ended is not None:
                    return ended
                self._talk.fit()
                continue
            self._talk.learn(reply.prompt_tokens)
            return reply

    def _refused(self, error: GracefulError | InfraError) -> _Ended | None:
        """Why the attempt has ended, or None: it may go on with a shorter conversation.

        Raises:
            GracefulError, InfraError: The same, where the attempt has not begun or is to have no
                score.
        """
        if isinstance(error, InfraError):
            kind = error.kind
        else:
            kind = classify(str(error)) or FailureKind.MODEL_ERROR
        too_long = kind is FailureKind.CONTEXT_WINDOW
        if not self._replies or (isinstance(error, InfraError) and not too_long):
            raise error
        if too_long and self._talk.refused(str(error), self._answer_room()):
            return None
        return _Ended(kind, str(error))

    def _answer_room(self) -> int:
        return answer_room({**self._client.endpoint.generation, **self._rules.sampling})

    def _heard(self, reply: ModelResponse, turn: int) -> list[ToolCall]:
        """Note a reply; the calls in it."""
        self._replies.append(reply)
        if self._rules.in_text:
            calls = text_calls.calls_in(reply.content, turn)
        else:
            calls = calls_of(reply.tool_calls, turn)
        answer, reasoning = split_reasoning(reply.content, reply.reasoning_content)
        self._trajectory.turn(reply, answer, reasoning, calls)
        self._said = reply.content if answer.strip() else ""
        self._counts["turns"] = turn
        self._counts["tool_calls"] += len(calls)
        return calls

    def _told(
        self, reply: ModelResponse, calls: Sequence[ToolCall], outcomes: Sequence[Called]
    ) -> None:
        """Note what came of the calls of a reply, for the model and for people."""
        self._counts["tool_errors"] += sum(outcome.is_error for outcome in outcomes)
        self._trajectory.observed(calls, outcomes)
        if self._rules.in_text:
            said: Message = {"role": "assistant", "content": reply.content}
            self._talk.add([said, text_calls.results(calls, outcomes)])
            return
        results = [
            {"role": "tool", "tool_call_id": call.id, "content": outcome.content}
            for call, outcome in zip(calls, outcomes, strict=True)
        ]
        self._talk.add([_as_said(reply, calls), *results])

    def _answer(self) -> str:
        """What the last reply said: what came before was said on the way to it, and no answer.

        Where the sandbox is what is judged, work there counts without a word.
        """
        worked = self._rules.artifact and self._counts["tool_calls"] > 0
        return self._said or (WORKED if worked else "")

    def _result(self, ended: _Ended | None, seconds: float) -> SolveResult:
        content = self._answer()
        details: JsonObject = {**self._counts}
        if self._talk.dropped:
            details["omitted_messages"] = self._talk.dropped
        extra: JsonObject = {}
        reward = None
        if ended is not None:
            self._trajectory.failed(ended.error)
            details |= {"error": ended.error, "error_category": str(ended.kind)}
            extra = {"status": "error", "error": ended.error}
            if not (self._rules.artifact and ended.kind in _WORK_COUNTS):
                reward, content = 0.0, ""
        last = together(self._replies, content, seconds)
        flags = answer_flags(last)
        if ended is not None:
            flags.pop("empty", None)
        return SolveResult(
            response=content,
            model_response=last,
            trajectory=self._trajectory.documents(extra),
            reward=reward,
            scoring_details={**flags, **details},
        )


def _as_said(reply: ModelResponse, calls: Sequence[ToolCall]) -> Message:
    """The assistant's message as it goes back; arguments are valid JSON whatever they were."""
    message: Message = {"role": "assistant"}
    if reply.content:
        message["content"] = reply.content
    message["tool_calls"] = [
        {
            "id": call.id,
            "type": "function",
            "function": {
                "name": sendable(call.name),
                "arguments": json.dumps(call.arguments, ensure_ascii=False),
            },
        }
        for call in calls
    ]
    return message


def _with_instructions(messages: Sequence[Message], tools: Sequence[JsonObject]) -> list[Message]:
    """The messages with what the model has to know of tools in the system message."""
    text = text_calls.instructions(tools)
    first = messages[0] if messages else {}
    if first.get("role") in ("system", "developer") and isinstance(first.get("content"), str):
        return [{**first, "content": f"{first['content']}\n\n{text}"}, *messages[1:]]
    return [{"role": "system", "content": text}, *messages]
