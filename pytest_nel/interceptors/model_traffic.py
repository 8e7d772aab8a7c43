"""Each exchange with the model, one line of JSON: what an agent's run is reconstructed from."""

import time
from typing import Any

from pytest_nel.config import proxy
from pytest_nel.core.exchange import Exchange, Interceptor, Reply
from pytest_nel.core.keys import digest
from pytest_nel.core.types import JsonObject
from pytest_nel.interceptors._files import LineFiles
from pytest_nel.interceptors._messages import choices_of
from pytest_nel.interceptors.place import Place

FILE = "model_traffic.jsonl"
_REASONING = ("reasoning_content", "reasoning")
_OF_A_REPLY = ("content", "refusal")


class ModelTraffic(Interceptor):
    """Appends what is sent and what comes to ``model_traffic.jsonl`` of the benchmark.

    Nothing is kept in memory; a request outside any attempt goes to the folder ``logs``.
    """

    stage = "wire"
    on_reply = True
    observes = True
    answers = False
    streams = "pass"

    Config = proxy.ModelTraffic

    def __init__(self, config: proxy.ModelTraffic, place: Place) -> None:
        self._config = config
        self._run_dir = place.run_dir
        self._service = place.service
        self._files = LineFiles(place.redact)

    async def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        """Write it down."""
        session = exchange.session
        folder = "logs" if session is None else session.folder
        await self._files.append(self._run_dir / folder / FILE, self._row(reply, exchange))
        return reply

    async def close(self) -> None:
        """Close the files."""
        await self._files.close()

    def _row(self, reply: Reply, exchange: Exchange) -> JsonObject:
        session, sent = exchange.session, exchange.sent
        row: JsonObject = {
            "request_id": exchange.id,
            "time": round(time.time(), 3),
            "service": self._service,
            "session": None if session is None else session.name,
            "path": None if sent is None else sent.path,
            "status": reply.status,
            "latency_ms": round(exchange.latency_ms, 2),
        }
        if session is not None and session.attempt is not None:
            row |= {"problem_idx": session.attempt.problem_idx, "repeat": session.attempt.repeat}
        if sent is not None:
            row["request"] = self._asked(sent.body)
        row["response"] = self._answered(reply)
        return row

    def _asked(self, body: JsonObject) -> JsonObject:
        texts = ("messages", "prompt", "input")
        row: JsonObject = {"sha256": digest(body).removeprefix("sha256:")[:16]}
        if self._config.capture_request_body:
            return row | {"body": self._cut(body)}
        row |= {name: value for name, value in body.items() if name not in (*texts, "tools")}
        if self._config.capture_messages:
            row |= {name: self._cut(body[name]) for name in texts if name in body}
        return row

    def _answered(self, reply: Reply) -> JsonObject:
        body = reply.body
        if isinstance(body, bytes):
            return {"bytes": len(body)}
        facts = ("id", "model", "usage", "error")
        row: JsonObject = {name: body[name] for name in facts if name in body}
        row["choices"] = [self._choice(choice) for choice in choices_of(body)]
        return row

    def _choice(self, choice: JsonObject) -> JsonObject:
        config = self._config
        message = choice.get("message")
        said = message if isinstance(message, dict) else {"content": choice.get("text")}
        names = [*_REASONING] if config.capture_reasoning else []
        names += [*_OF_A_REPLY] if config.capture_messages else []
        names += ["tool_calls", "function_call"] if config.capture_tool_calls else []
        row = {name: self._cut(said[name]) for name in names if said.get(name) is not None}
        return {
            "index": choice.get("index", 0),
            "finish_reason": choice.get("finish_reason"),
            **row,
        }

    def _cut(self, value: Any) -> Any:  # Any: JSON
        limit = self._config.max_content_chars
        if isinstance(value, str):
            return value if not limit or len(value) <= limit else value[:limit] + "…"
        if isinstance(value, list):
            return [self._cut(item) for item in value]
        if isinstance(value, dict):
            return {name: self._cut(item) for name, item in value.items()}
        return value
