"""A benchmark as Gym HTTP: ``/seed_session`` and ``/verify`` in the forms of two protocols.

Whatever fails here that is not the client's fault is answered by a status from 500 on, and never
by a reward: no answer is wrong because a scorer broke.
"""

import asyncio
import hmac
import logging
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from starlette.applications import Starlette
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect, Request
from starlette.responses import HTMLResponse, Response
from starlette.routing import Route

from pytest_nel.core.errors import FailureKind, InfraError
from pytest_nel.core.types import JsonObject, SeedResult
from pytest_nel.engine.user_code import says
from pytest_nel.environments._gym_wire import decoded, encoded
from pytest_nel.http.pictures import as_urls
from pytest_nel.records.record import Scored
from pytest_nel.scoring.judging.request import NEEDS_JUDGE
from pytest_nel.scoring.reasoning import split_reasoning
from pytest_nel.serve.bodies import GymVerifyRequest, SeedSessionRequest, VerifyRequest, text_of
from pytest_nel.serve.openapi import document, page
from pytest_nel.serve.served import BadRequest, Served

_LOG = logging.getLogger(__name__)
_ENDS = "the server is being stopped: this was not judged"
LARGEST = 32 * 1024 * 1024
"""Bytes of a request's body."""

Body = TypeVar("Body", bound=BaseModel)
Handler = Callable[[Request], Awaitable[Response]]


class GymApp:
    """The ASGI application.

    Args:
        served: What it serves.
        token: The bearer token that all but ``/health`` asks for; None asks for none.
        gym_compat: Whether ``/health`` calls the protocol ``gym``; both forms are served anyway.
        largest: Bytes of a request's body.
    """

    def __init__(
        self,
        served: Served,
        *,
        token: str | None = None,
        gym_compat: bool = False,
        largest: int = LARGEST,
    ) -> None:
        self._served = served
        self._token = token
        self._largest = largest
        self._health: JsonObject = {
            "status": "ok",
            "benchmark": served.name,
            "dataset_size": served.size,
            "protocol": "gym" if gym_compat else "evaluator",
            **served.facts(),
        }
        self.asgi = Starlette(
            routes=[
                Route("/health", self._safe(self._say_health), methods=["GET"]),
                Route("/dataset_size", self._guarded(self._size), methods=["GET"]),
                Route("/seed_session", self._guarded(self._seed), methods=["POST"]),
                Route("/verify", self._guarded(self._verify), methods=["POST"]),
                Route("/openapi.json", self._guarded(self._openapi), methods=["GET"]),
                Route("/docs", self._guarded(self._docs), methods=["GET"]),
            ],
            exception_handlers={HTTPException: _not_found},
        )

    def _guarded(self, handler: Handler) -> Handler:
        async def checked(request: Request) -> Response:
            if not self._may(request):
                return _refusal(401, "expected Authorization: Bearer with this server's token")
            return await handler(request)

        return self._safe(checked)

    def _may(self, request: Request) -> bool:
        if self._token is None:
            return True
        kind, _, said = request.headers.get("authorization", "").partition(" ")
        same = hmac.compare_digest(said.strip().encode(), self._token.encode())
        return kind.lower() == "bearer" and same

    def _safe(self, handler: Handler) -> Handler:
        """The handler, with every failure as a reply that says what it was."""

        async def safe(request: Request) -> Response:
            try:
                return await handler(request)
            except BadRequest as error:
                return _refusal(error.status, str(error))
            except (InfraError, asyncio.CancelledError) as error:
                return self._failed(error)
            except ClientDisconnect:
                return Response(status_code=400)  # nobody reads it
            except HTTPException:
                raise
            except Exception as error:  # noqa: BLE001 - a bug of ours is no reward 0 either
                _LOG.exception("%s failed", request.url.path)
                return self._failure(FailureKind.SYSTEM, says(error))

        return safe

    def _failed(self, error: InfraError | asyncio.CancelledError) -> Response:
        if isinstance(error, InfraError):
            return self._failure(error.kind, str(error))
        return self._failure(FailureKind.INFRA, _ENDS, 503)  # the server has waited long enough

    def _failure(self, kind: str, text: str, status: int | None = None) -> Response:
        usual = 502 if kind == FailureKind.JUDGE else 500
        detail = self._served.redact(text)
        return _json({"detail": detail, "failure": str(kind)}, status or usual)

    async def _say_health(self, request: Request) -> Response:
        del request
        return _json(self._health)

    async def _size(self, request: Request) -> Response:
        del request
        return _json({"size": self._served.size})

    async def _openapi(self, request: Request) -> Response:
        del request
        return _json(document(self._served.name, guarded=self._token is not None))

    async def _docs(self, request: Request) -> Response:
        del request
        return HTMLResponse(page(self._served.name))

    async def _seed(self, request: Request) -> Response:
        found = await self._object(request, empty={})
        if isinstance(found, Response):
            return found
        body = _checked(SeedSessionRequest, found)
        return _json(await _problem(await self._served.seed(body.idx)))

    async def _verify(self, request: Request) -> Response:
        found = await self._object(request)
        if isinstance(found, Response):
            return found
        if "expected" in found:
            body = _checked(VerifyRequest, found)
            scored, _ = await self._served.judge(body.response, body.expected, body.metadata)
            return self._verdict(scored, {"metadata": dict(scored.metadata)})
        return await self._verify_gym(_checked(GymVerifyRequest, found), found)

    async def _verify_gym(self, body: GymVerifyRequest, given: JsonObject) -> Response:
        text = text_of(body.response)
        if text is None:
            msg = (
                "response: expected text, a Responses-API object with a list of objects as "
                "`output`, or a chat completion with `choices`"
            )
            raise BadRequest(msg)
        answer, _ = split_reasoning(text)
        metadata = {**body.metadata, **(body.verifier_metadata or {})}
        scored, expected = await self._served.judge(
            answer, body.expected_answer, metadata, gold="expected_answer"
        )
        back: JsonObject = {
            name: given[name] for name in ("responses_create_params", "response") if name in given
        }
        return self._verdict(scored, {"expected_answer": expected, **back})

    def _verdict(self, scored: Scored, more: JsonObject) -> Response:
        if scored.reward is None:
            return self._failure(scored.failure or FailureKind.SCORER, scored.error or "no score")
        verdict = {
            "reward": scored.reward,
            "extracted_answer": scored.extracted,
            "scoring_details": {
                name: said for name, said in scored.details.items() if name != NEEDS_JUDGE
            },  # it has judged: whoever reads that must not look for a judge
            "parsed": scored.outcome != "unparsed",
        }
        return _json({**verdict, **more})

    async def _object(
        self, request: Request, empty: JsonObject | None = None
    ) -> JsonObject | Response:
        """The request's JSON object, or what to say where it is none."""
        pieces = bytearray()
        async for piece in request.stream():
            pieces += piece
            if len(pieces) > self._largest:
                return _refusal(413, f"expected a body of at most {self._largest} bytes")
        if not pieces.strip() and empty is not None:
            return empty
        try:
            found: Any = decoded(bytes(pieces))
        except (ValueError, RecursionError) as error:
            return _refusal(400, f"expected a JSON object: {error}")
        if not isinstance(found, dict):
            return _refusal(400, f"expected a JSON object, got {type(found).__name__}")
        return found


def _checked(model: type[Body], found: JsonObject) -> Body:
    try:
        return model.model_validate(found)
    except ValidationError as error:
        problems = error.errors(include_input=False, include_url=False, include_context=False)
        said = [f"{'.'.join(map(str, one['loc']))}: {one['msg']}" for one in problems]
        raise BadRequest("; ".join(said)) from None


async def _problem(seed: SeedResult) -> JsonObject:
    reply: JsonObject = {
        "prompt": seed.prompt,
        "expected_answer": seed.expected_answer,
        "metadata": dict(seed.metadata),
        "messages": None if seed.messages is None else [dict(one) for one in seed.messages],
        "system": seed.system,
        "sandbox_spec": None if seed.sandbox_spec is None else asdict(seed.sandbox_spec),
    }
    return {**reply, "images": await as_urls(seed.images)} if seed.images else reply


async def _not_found(request: Request, error: Exception) -> Response:
    assert isinstance(error, HTTPException)
    detail = f"{request.method} {request.url.path}: {error.detail}"
    return _json({"detail": detail}, error.status_code, error.headers)


def _refusal(status: int, detail: str) -> Response:
    headers = {"WWW-Authenticate": "Bearer"} if status == 401 else None
    return _json({"detail": detail}, status, headers)


def _json(content: JsonObject, status: int = 200, headers: Any = None) -> Response:
    return Response(encoded(content), status, headers, media_type="application/json")
