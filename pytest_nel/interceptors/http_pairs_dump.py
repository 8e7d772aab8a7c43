"""Requests and replies as they went over the wire, in a file to look at."""

from collections import Counter
from pathlib import Path
from typing import Annotated

from pydantic import Field

from pytest_nel.config.proxy import secret_header
from pytest_nel.config.schema import Model
from pytest_nel.core.exchange import Exchange, Interceptor, Reply
from pytest_nel.core.types import JsonObject
from pytest_nel.interceptors._files import LineFiles
from pytest_nel.interceptors.place import Place


class HttpPairsDump(Interceptor):
    """Appends a line of JSON for each of the first pairs, and for failures after them.

    The last line counts the statuses of all. Keys and headers that carry one are left out.
    """

    stage = "wire"
    on_reply = True
    observes = True
    answers = False
    streams = "pass"

    class Config(Model):
        """Options of ``http_pairs_dump``.

        Attributes:
            dump_path: The file, as seen from the run's directory; made when there is none.
            first_n: Pairs written whatever their status, by each process of the run.
            max_failures: Failures written after them, by each process of the run.
        """

        dump_path: Annotated[str, Field(min_length=1)]
        first_n: Annotated[int, Field(ge=0)] = 50
        max_failures: Annotated[int, Field(ge=0)] = 200

    def __init__(self, config: Config, place: Place) -> None:
        self._config = config
        self._path = place.run_dir / Path(config.dump_path).expanduser()
        self._files = LineFiles(place.redact)
        self._statuses: Counter[int] = Counter()
        self._failures = 0

    async def reply(self, reply: Reply, exchange: Exchange) -> Reply:
        """Write the pair, if it is one of those."""
        self._statuses[reply.status] += 1
        wanted = self._statuses.total() <= self._config.first_n
        if not wanted and not reply.ok and self._failures < self._config.max_failures:
            self._failures += 1
            wanted = True
        if wanted:
            await self._files.append(self._path, _pair(reply, exchange))
        return reply

    async def close(self) -> None:
        """Write the counts, once."""
        if self._statuses:
            metrics = {str(status): count for status, count in sorted(self._statuses.items())}
            self._statuses.clear()
            await self._files.append(self._path, {"metrics": metrics})
        await self._files.close()


def _pair(reply: Reply, exchange: Exchange) -> JsonObject:
    sent, body = exchange.sent, reply.body
    return {
        "request_id": exchange.id,
        "session_id": exchange.session.name if exchange.session is not None else None,
        "request": None
        if sent is None
        else {"path": sent.path, "headers": _shown(sent.headers), "body": sent.body},
        "response": {
            "status": reply.status,
            "headers": _shown(reply.headers),
            "body": body.decode("utf-8", "replace") if isinstance(body, bytes) else body,
            "latency_ms": round(exchange.latency_ms, 2),
        },
    }


def _shown(headers: dict[str, str]) -> dict[str, str]:
    return {name: value for name, value in headers.items() if not secret_header(name)}
