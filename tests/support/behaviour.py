"""What the mock endpoint answers, fails at and waits for: pure functions of what it was asked.

Every draw is a function of (seed, request body, how often that body was seen before), so two runs
that send the same requests meet the same answers, faults and latencies in whatever order they come.
"""

import hashlib
import json
import math
import re
import runpy
from collections.abc import Callable
from dataclasses import dataclass, fields
from statistics import NormalDist
from typing import Any, Literal, NamedTuple

Action = Literal["answer", "reset", "hang"]
Script = Callable[[dict[str, Any], int], str | tuple[int, str]]

GOLD = re.compile(r"\[gold=([^\]]*)\]")
UNPARSED = "I would rather not commit myself."
_NORMAL = NormalDist()
_UNIT = 2.0**-64


@dataclass(frozen=True, slots=True)
class Behaviour:
    """How an endpoint behaves; the command line has one option per field.

    Attributes:
        latency: Seconds before an answer; the median when ``sigma`` is above 0.
        sigma: Shape of the lognormal latency; 0 makes it fixed.
        seed: Changes every draw.
        rate_429: Share of requests answered 429, at once.
        retry_after: Value of the Retry-After header of a 429; empty sends none.
        rate_500: Share of requests answered 500, after the latency.
        rate_reset: Share of connections reset after the latency.
        rate_hang: Share of requests never answered.
        fail_first: The first so many sightings of each body are answered 500.
        mode: ``fixed`` sends ``answer``, ``echo`` the prompt, ``gold`` what ``[gold=…]`` in the
            prompt says, with probability ``right``.
        answer: The text of mode ``fixed``.
        template: Wraps a right or wrong answer of mode ``gold``.
        right: Share of right answers in mode ``gold``; what is left is wrong.
        unparsed: Share of answers in mode ``gold`` that contain no answer.
        empty: Share of empty answers in mode ``gold``.
        script: A Python file whose ``answer(request, nth)`` returns the text, or a status and a
            text; overrides ``mode``. ``nth`` counts the sightings of the body from 0.
        status: Answer every request with this status; 200 answers normally.
        message: The error text of ``status``.
        usage: Whether replies report tokens.
        finish_reason: The reason that replies give.
        log: A file that gets a JSON line per ended request: its prompt, when it began and ended
            (monotonic clock), and how: a status, ``reset`` or ``abandoned``. ``200`` means that
            the answer went out whole while the client was still connected.
    """

    latency: float = 0.0
    sigma: float = 0.0
    seed: int = 0
    rate_429: float = 0.0
    retry_after: str = ""
    rate_500: float = 0.0
    rate_reset: float = 0.0
    rate_hang: float = 0.0
    fail_first: int = 0
    mode: str = "fixed"
    answer: str = "42"
    template: str = "{gold}"
    right: float = 1.0
    unparsed: float = 0.0
    empty: float = 0.0
    script: str = ""
    status: int = 200
    message: str = "refused by the mock endpoint"
    usage: bool = True
    finish_reason: str = "stop"
    log: str = ""

    def __post_init__(self) -> None:
        if self.mode not in {"fixed", "echo", "gold"}:
            msg = f"mode: expected fixed, echo or gold, got {self.mode!r}"
            raise ValueError(msg)
        for field in fields(self):
            if field.name.startswith("rate_") or field.name in {"right", "unparsed", "empty"}:
                share = getattr(self, field.name)
                if not 0 <= share <= 1:
                    msg = f"{field.name}: expected a share in [0, 1], got {share}"
                    raise ValueError(msg)
        if self.right + self.unparsed + self.empty > 1 + 1e-9:
            msg = "right + unparsed + empty: expected at most 1 (right is 1 unless given)"
            raise ValueError(msg)


class Reply(NamedTuple):
    """What happens to one request: after ``delay`` seconds, ``action``."""

    delay: float
    action: Action
    status: int = 200
    body: bytes = b""
    headers: bytes = b""


class Draws(NamedTuple):
    """Three independent numbers in (0, 1) that belong to one sighting of one body."""

    latency: float
    fault: float
    answer: float


def draws(seed: int, digest: bytes, nth: int) -> Draws:
    """The random numbers of the ``nth`` sighting (from 0) of the body with that digest."""
    raw = hashlib.blake2b(b"%d|%d|" % (seed, nth) + digest, digest_size=24).digest()
    parts = (int.from_bytes(raw[i : i + 8], "big") for i in (0, 8, 16))
    return Draws(*((part + 0.5) * _UNIT for part in parts))


def prompt_of(request: dict[str, Any]) -> str:
    """All the text that a request puts to the model."""
    if "messages" not in request:
        return str(request.get("prompt", ""))
    texts: list[str] = []
    for message in request["messages"]:
        content = message.get("content") or ""
        if isinstance(content, str):
            texts.append(content)
        else:
            texts += [part.get("text", "") for part in content]
    return "\n".join(texts)


def read(body: bytes) -> tuple[dict[str, Any], str]:
    """The request and its prompt; ValueError, AttributeError or TypeError when it is none."""
    request: dict[str, Any] = json.loads(body)
    if request.get("stream"):
        msg = "the mock endpoint does not stream"
        raise ValueError(msg)
    return request, prompt_of(request)


class Model:
    """Answers requests as a :class:`Behaviour` says."""

    def __init__(self, behaviour: Behaviour) -> None:
        self.behaviour = behaviour
        how = behaviour
        rates = (how.rate_429, how.rate_500, how.rate_reset, how.rate_hang, how.fail_first)
        self.may_fail = any(rates)  # most do not: spares them the look
        self.script: Script | None = None
        if behaviour.script:
            self.script = runpy.run_path(behaviour.script)["answer"]

    def reply(self, *, chat: bool, body: bytes, digest: bytes, nth: int) -> Reply:
        """Decide about one request."""
        how = self.behaviour
        draw = draws(how.seed, digest, nth)
        delay = self.delay(draw.latency)
        if how.status != 200:
            return Reply(delay, "answer", how.status, error_body(how.status, how.message))
        fault = self._fault(draw.fault, delay, nth)
        if fault is not None:
            return fault
        try:
            request, prompt = read(body)
        except (ValueError, AttributeError, TypeError) as error:
            return Reply(0.0, "answer", 400, error_body(400, f"not a request for this: {error}"))
        status, text = self._answer(request, prompt, draw.answer, nth)
        if status != 200:
            return Reply(delay, "answer", status, error_body(status, text))
        return Reply(delay, "answer", 200, self._body(request, prompt, text, chat=chat))

    def delay(self, draw: float) -> float:
        """The latency that a draw stands for."""
        how = self.behaviour
        if how.sigma <= 0:
            return how.latency
        return how.latency * math.exp(how.sigma * _NORMAL.inv_cdf(draw))

    def _fault(self, draw: float, delay: float, nth: int) -> Reply | None:
        how = self.behaviour
        if not self.may_fail:
            return None
        if nth < how.fail_first:
            return Reply(delay, "answer", 500, error_body(500, f"failure {nth + 1} of this body"))
        header = f"Retry-After: {how.retry_after}\r\n" if how.retry_after else ""
        slow_down = Reply(0.0, "answer", 429, error_body(429, "slow down"), header.encode())
        for rate, reply in (
            (how.rate_429, slow_down),
            (how.rate_500, Reply(delay, "answer", 500, error_body(500, "out of luck"))),
            (how.rate_reset, Reply(delay, "reset")),
            (how.rate_hang, Reply(delay, "hang")),
        ):
            if draw < rate:
                return reply
            draw -= rate
        return None

    def _answer(
        self, request: dict[str, Any], prompt: str, draw: float, nth: int
    ) -> tuple[int, str]:
        how = self.behaviour
        if self.script is not None:
            said = self.script(request, nth)
            return (200, said) if isinstance(said, str) else said
        if how.mode == "fixed":
            return 200, how.answer
        if how.mode == "echo":
            return 200, prompt
        return 200, self._gold(prompt, draw)

    def _gold(self, prompt: str, draw: float) -> str:
        how = self.behaviour
        found = GOLD.findall(prompt)  # the last tag: few-shot examples come before the question
        if not found or how.right <= draw < how.right + how.unparsed:
            return UNPARSED
        if draw < how.right:
            return how.template.replace("{gold}", found[-1])
        if draw < how.right + how.unparsed + how.empty:
            return ""
        return how.template.replace("{gold}", wrong(found[-1]))

    def _body(self, request: dict[str, Any], prompt: str, text: str, *, chat: bool) -> bytes:
        reason = self.behaviour.finish_reason
        if chat:
            message = {"role": "assistant", "content": text}
            choice = {"index": 0, "message": message, "finish_reason": reason}
        else:
            choice = {"index": 0, "text": text, "finish_reason": reason}
        reply: dict[str, Any] = {
            "id": "mock",
            "object": "chat.completion" if chat else "text_completion",
            "created": 1,
            "model": request.get("model", ""),
            "choices": [choice],
        }
        if self.behaviour.usage:
            asked, said = len(prompt) // 4 + 1, (len(text) + 3) // 4
            reply["usage"] = {
                "prompt_tokens": asked,
                "completion_tokens": said,
                "total_tokens": asked + said,
            }
        return json.dumps(reply).encode()


def wrong(gold: str) -> str:
    """An answer of the same kind as ``gold`` that is not it."""
    try:
        return str(int(gold) + 1)
    except ValueError:
        return f"not {gold}"


def error_body(status: int, message: str) -> bytes:
    """An error in the shape that OpenAI's API gives it."""
    return json.dumps({"error": {"message": message, "type": "mock", "code": status}}).encode()
