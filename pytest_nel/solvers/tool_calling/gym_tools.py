"""The tools of a Gym resource server, in a session of each problem's own."""

import asyncio
import json
from collections.abc import Mapping, Sequence
from secrets import token_hex
from typing import Any

from pytest_nel.core.errors import InfraError
from pytest_nel.core.types import JsonObject, SeedResult
from pytest_nel.http.openai import one_line
from pytest_nel.http.tools import NoResult, Told, ToolServer, ToolSession, filled
from pytest_nel.solvers.tool_calling.openapi import SEED, Operation, body_schema, operations
from pytest_nel.solvers.tool_calling.tools import Called

_SESSION = "session_id"
_ERROR_CHARS = 4096


class Offer:
    """What a server offers to all problems, asked once.

    Args:
        server: The server.
    """

    def __init__(self, server: ToolServer) -> None:
        self.server = server
        self.operations: dict[str, Operation] = {}
        self.seed_schema: JsonObject | None = None
        self._known = False
        self._asking = asyncio.Lock()

    async def open(self) -> None:
        """Bind to the running loop; what was known may have changed since the last one."""
        self._asking, self._known = asyncio.Lock(), False
        await self.server.open()

    async def close(self) -> None:
        """Close the connections to the server."""
        await self.server.close()

    async def known(self) -> None:
        """Ask for the description, unless that was done.

        Raises:
            InfraError: There is none.
        """
        async with self._asking:
            if not self._known:
                self._read(await self.server.description())
                self._known = True

    def _read(self, document: JsonObject) -> None:
        try:
            self.operations = operations(document)
            self.seed_schema = body_schema(document, SEED)
        except (AttributeError, TypeError, ValueError, RecursionError) as error:
            msg = (
                f"service {self.server.name!r}: {self.server.url}/openapi.json is no OpenAPI "
                f"document that can be read ({type(error).__name__}: {error})"
            )
            raise InfraError(msg, retryable=False) from error


class GymTools:
    """The tools of one problem.

    Args:
        offer: What there is.
        session: The problem's connection.
        key: Its session's id, for operations that have such a field.
    """

    in_order = False
    takes_any = True

    def __init__(self, offer: Offer, session: ToolSession, key: str) -> None:
        self._offer = offer
        self._session = session
        self._key = key

    @classmethod
    async def begun(cls, offer: Offer, seed: SeedResult) -> "GymTools":
        """Those of a problem, whose session is begun where the server has sessions.

        Raises:
            InfraError: The server cannot be reached, or begins none.
        """
        await offer.known()
        session, key = offer.server.session(), token_hex(16)
        schema = offer.seed_schema
        if schema is None:
            return cls(offer, session, key)
        fields = schema.get("properties") or {}
        body = {name: value for name, value in seed.metadata.items() if name in fields}
        if _SESSION in fields:
            body[_SESSION] = key
        try:
            told = await session.post(SEED, body)
        except NoResult as error:
            msg = f"service {offer.server.name!r}: {SEED} {error}"
            raise InfraError(msg) from error
        if not told.ok:
            said = f"HTTP {told.status}: {one_line(told.text)}"
            msg = f"service {offer.server.name!r}: {SEED} began no session: {said}"
            raise InfraError(msg)
        answer = told.json()
        own = answer.get(_SESSION) if isinstance(answer, Mapping) else None
        return cls(offer, session, str(own) if own else key)

    @property
    def described(self) -> Sequence[JsonObject]:
        """The tools as chat completions describe them."""
        return [operation.tool for operation in self._offer.operations.values()]

    async def call(self, name: str, arguments: Mapping[str, Any]) -> Called:
        """Post to an operation; a name that the document does not have is its path.

        Raises:
            InfraError: The server cannot be reached.
        """
        operation = self._offer.operations.get(name) or Operation(
            {}, filled("/{name}", {"name": name})
        )
        missing = [each for each in operation.in_path if each not in arguments]
        if missing:
            return Called(f"Error: {', '.join(missing)} is missing", is_error=True)
        path = filled(operation.path, {each: arguments[each] for each in operation.in_path})
        query = {each: arguments[each] for each in operation.in_query if each in arguments}
        elsewhere = {*operation.in_path, *operation.in_query}
        body: Any = {key: value for key, value in arguments.items() if key not in elsewhere}
        if operation.wrapped:
            body = body.get("body")
        elif operation.takes_session:
            body[_SESSION] = self._key
        try:
            return _said(await self._session.post(path, body, query))
        except NoResult as error:
            return Called(f"Tool {name!r} {error}", is_error=True)


def _said(told: Told) -> Called:
    if not told.ok:
        return Called(f"HTTP {told.status}: {told.text[:_ERROR_CHARS]}", is_error=True)
    value = told.json()
    if isinstance(value, dict | list):
        return Called(json.dumps(value, indent=2, ensure_ascii=False))
    return Called(told.text)
