"""Asks a judge: constrained to JSON where the endpoint can, again where nothing can be read."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pytest_nel.core.errors import FailureKind, GracefulError, InfraError, NoVerdict
from pytest_nel.core.types import JsonObject, ModelResponse
from pytest_nel.http.client import ModelClient
from pytest_nel.scoring.judging.prompts import Question
from pytest_nel.scoring.judging.replies import Verdict
from pytest_nel.scoring.reasoning import split_reasoning

_UNSUPPORTED = frozenset({400, 415, 422, 501})
"""Statuses with which endpoints refuse a field that they do not know."""
_FINAL = frozenset({FailureKind.CONTEXT_WINDOW, FailureKind.BUDGET})
_RAW = 4_000
_PATIENCE = 20
"""Requests in a row without a reply after which a judge is left alone for a while."""
_REST = 60.0


@dataclass(slots=True)
class Spent:
    """What one model has cost one judgement.

    Attributes:
        model: The name it reports.
        calls: Replies.
        cached: Those of them that were found and not asked for; they cost nothing.
        requests: HTTP requests, those in vain included.
        prompt_tokens: Over the replies that say them, as ``completion_tokens``.
        without_usage: Replies that do not.
        latency_ms: Milliseconds of all replies together.
        unreadable: Replies that held no verdict.
    """

    model: str = ""
    calls: int = 0
    cached: int = 0
    requests: int = 0
    prompt_tokens: int = 0
    completion_tokens: int = 0
    without_usage: int = 0
    latency_ms: float = 0.0
    unreadable: int = 0

    def add(self, reply: ModelResponse) -> None:
        """Count a reply."""
        self.model = reply.model or self.model
        self.calls += 1
        if reply.requests == 0:
            self.cached += 1
            return
        self.requests += reply.requests
        self.prompt_tokens += reply.prompt_tokens or 0
        self.completion_tokens += reply.completion_tokens or 0
        self.without_usage += reply.prompt_tokens is None or reply.completion_tokens is None
        self.latency_ms = round(self.latency_ms + reply.latency_ms, 2)

    def as_json(self) -> JsonObject:
        """Its fields."""
        return {name: getattr(self, name) for name in self.__slots__}


def together(earlier: Mapping[str, Any], now: Mapping[str, Any]) -> JsonObject:
    """What two tries of one judgement have cost together, each given as JSON by service."""
    both: JsonObject = dict(now)
    for service, old in earlier.items():
        new = both.get(service)
        if new is None:
            both[service] = old
            continue
        numbers = {
            name: round(value + old.get(name, 0), 2)
            for name, value in new.items()
            if isinstance(value, int | float)
        }
        both[service] = {"model": new.get("model") or old.get("model"), **numbers}
    return both


class Said(NamedTuple):
    """A verdict, and the reply that it was read from."""

    verdict: Verdict
    raw: str
    model: str

    def as_json(self) -> JsonObject:
        """For records; long texts are cut."""
        facts: JsonObject = {
            "score": self.verdict.score,
            "verdict": self.verdict.label,
            "reasoning": self.verdict.reasoning[:_RAW],
            "raw": _shortened(self.raw),
            "model": self.model,
        }
        return {name: value for name, value in facts.items() if value not in (None, "")}


def _shortened(raw: str) -> str:
    """Without its middle: the verdict stands at the end."""
    return raw if len(raw) <= _RAW else f"{raw[: _RAW // 4]}\n[…]\n{raw[-3 * _RAW // 4 :]}"


def _lacking(question: Question, text: str, *, cut: bool) -> str:
    if cut:
        return "it was cut off at the token limit"
    return "" if question.form is None else question.form.lacking(text)


@dataclass(slots=True)
class Reach:
    """What asking an endpoint has shown.

    Attributes:
        plain: It takes no JSON schema.
        lost: Requests in a row that brought no reply.
        why: What the last of them said.
        until: When it may be asked again (monotonic clock).
    """

    plain: bool = False
    lost: int = 0
    why: str = ""
    until: float = 0.0

    @property
    def rests(self) -> bool:
        """Whether it is left alone for now."""
        return self.lost >= _PATIENCE and time.monotonic() < self.until

    def failed(self, error: InfraError) -> None:
        """Count a request without a reply; a refusal will be the same for all."""
        refused = error.kind is FailureKind.AUTH
        self.lost = _PATIENCE if refused else self.lost + (error.kind not in _FINAL)
        in_a_row = "it refuses" if refused else f"{self.lost} requests in a row brought no reply"
        self.why = f"{in_a_row}; the last: {error}"
        self.until = math.inf if refused else time.monotonic() + _REST


@dataclass(slots=True)
class Panelist:
    """A model that judges, as one metric asks it.

    Attributes:
        service: Its service.
        client: Asks it; shares the limit of all clients of that endpoint.
        reach: What is known of the endpoint; all panelists of a service share it.
        sampling: Parameters of its replies.
        retries: Further requests after a reply that holds no verdict.
    """

    service: str
    client: ModelClient
    reach: Reach
    sampling: Mapping[str, Any] = field(default_factory=dict)
    retries: int = 2

    async def ask(self, question: Question, spent: Spent) -> Said:
        """Ask until a reply holds a verdict.

        Raises:
            NoVerdict: There was no reply, or none that could be read.
        """
        raw = reason = ""
        for number in range(self.retries + 1):
            reply = await self.reply(question, spent, again=number > 0)
            raw = reply.content
            text, _ = split_reasoning(raw)
            cut = reply.finish_reason == "length"
            verdict = None if cut else question.read(text)
            if verdict is not None:
                return Said(verdict, raw, reply.model or self.client.endpoint.model)
            reason = _lacking(question, text, cut=cut)
            spent.unreadable += 1
        count, text = self.retries + 1, repr(" ".join(raw.split())[:200])
        text += f" ({reason})" if reason else ""
        if count == 1:
            msg = f"judge {self.service!r}: the reply holds no verdict: {text}"
        else:
            msg = (
                f"judge {self.service!r}: none of {count} replies holds a verdict; the last: {text}"
            )
        raise NoVerdict(msg, unreadable=True)

    async def reply(
        self, question: Question, spent: Spent, *, again: bool = False
    ) -> ModelResponse:
        """Ask once; what the client can retry it has.

        Raises:
            NoVerdict: There was no reply.
        """
        if self.reach.rests:
            msg = f"judge {self.service!r} is not asked: {self.reach.why}"
            raise NoVerdict(msg)
        try:
            reply = await self._sent(question, spent, again=again)
        except InfraError as error:
            spent.requests += error.requests
            self.reach.failed(error)
            failure = NoVerdict(f"judge {self.service!r} gave no reply: {error}")
            if error.kind is FailureKind.AUTH:
                failure.kind = error.kind  # no other attempt will fare better
            raise failure from error
        except GracefulError as error:  # an interceptor refuses: the endpoint is not to blame
            msg = f"judge {self.service!r} was not asked: {error}"
            raise NoVerdict(msg) from error
        if reply.requests:
            self.reach.lost = 0
        spent.add(reply)
        return reply

    async def _sent(self, question: Question, spent: Spent, *, again: bool) -> ModelResponse:
        messages = question.messages(again=again)
        if question.schema and not self.reach.plain:
            wanted = {
                "type": "json_schema",
                "json_schema": {"name": "verdict", "strict": True, "schema": question.schema},
            }
            try:
                return await self.client.chat(messages, response_format=wanted, **self.sampling)
            except InfraError as error:
                if error.status not in _UNSUPPORTED or error.kind in _FINAL:
                    raise
                spent.requests += error.requests
            reply = await self.client.chat(messages, **self.sampling)
            self.reach.plain = True  # only now: what it refused was the schema
            return reply
        return await self.client.chat(messages, **self.sampling)
