"""Replies that were given before: found again by all that was asked."""

import asyncio
import json
import logging
import sqlite3
import time
from collections import OrderedDict
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field

from pytest_nel.config.schema import Model
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.exchange import Ask, Exchange, Interceptor, Reply, Request
from pytest_nel.core.keys import digest
from pytest_nel.core.types import JsonObject
from pytest_nel.interceptors._messages import choices_of
from pytest_nel.interceptors.place import Place

_LOG = logging.getLogger(__name__)
_FILE = "adapter_cache.db"
_REMEMBERED = 100_000
_PATIENCE = 30.0  # seconds for a file that another process writes
_ABORTED = frozenset({"abort", "aborted", "cancelled", "canceled", "error"})
_SCHEMA = (
    "CREATE TABLE IF NOT EXISTS replies ("
    "key TEXT PRIMARY KEY, made REAL NOT NULL, status INTEGER NOT NULL, body TEXT NOT NULL)"
)


class Caching(Interceptor):
    """Keeps replies in an SQLite file and answers from it.

    The key is the whole request (every field of the body and the path), the model, the endpoint,
    and which attempt asks for the how-manieth time the same: repeats of a problem are asked each.
    Errors, empty and aborted answers are not kept. An attempt that is made again is asked, and its
    replies do not take the place of the first: they would stand for what was drawn once. A file
    that can no longer be used is named in the log, and the run goes on without it.
    """

    stage = "store"

    class Config(Model):
        """Options of ``caching``.

        Attributes:
            cache_dir: The folder of ``adapter_cache.db``; made when there is none.
            bypass: Neither look up nor keep anything.
            share: Repeats, and problems that are asked the same, share one answer.
        """

        cache_dir: Annotated[str, Field(min_length=1)]
        bypass: bool = False
        share: bool = False

    @staticmethod
    def identity(config: Config) -> JsonObject | None:
        """Only sharing changes answers: they are no longer independent."""
        return {"share": True} if config.share and not config.bypass else None

    def __init__(self, config: Config, place: Place) -> None:
        self._config = config
        self._place = place
        self._path = Path(config.cache_dir).expanduser() / _FILE
        self._thread: ThreadPoolExecutor | None = None
        self._db: sqlite3.Connection | None = None
        self._failed = False
        self._asked: OrderedDict[tuple[int, str], int] = OrderedDict()
        self._under_way: dict[str, asyncio.Future[None]] = {}

    async def open(self) -> None:
        """Open the file.

        Raises:
            ConfigError: It cannot be made, or is none of ours.
        """
        if self._config.bypass or self._thread is not None:
            return
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="nel-caching")
        try:
            self._db = await self._run(_connected, self._path)
        except (OSError, sqlite3.Error) as error:
            msg = (
                f"services.{self._place.service}: the interceptor caching cannot use "
                f"{self._path}: {error}: name another cache_dir, or delete that file"
            )
            raise ConfigError(msg) from error

    async def close(self) -> None:
        """Close the file."""
        thread, self._thread = self._thread, None
        db, self._db = self._db, None
        if thread is not None:
            if db is not None:
                await asyncio.get_running_loop().run_in_executor(thread, db.close)
            await asyncio.to_thread(thread.shutdown)

    async def around(self, request: Request, exchange: Exchange, ask: Ask) -> Reply:
        """Answer from the file, or ask and keep the reply; equal requests at once ask once."""
        again = exchange.session is not None and exchange.session.again
        if self._db is None or self._failed or again:
            return await ask(request)
        key = self._key(request, exchange)
        while (other := self._under_way.get(key)) is not None:
            await asyncio.wait([other])  # shielded: its end is not ours
        mine = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            found = await self._guarded(_found, key)
            if found is not None:
                exchange.stored = True
                return Reply(found[0], {"content-type": "application/json"}, found[1])
            reply = await ask(request)
            if worth_keeping(reply):
                text = json.dumps(reply.body)
                await self._guarded(_keep, key, reply.status, text)
            return reply
        finally:
            del self._under_way[key]
            mine.set_result(None)

    def _key(self, request: Request, exchange: Exchange) -> str:
        asked = digest([request.path, request.body, self._place.model, self._place.tenant])
        if self._config.share:
            return asked
        session = exchange.session
        owner = 0 if session is None else session.id
        nth = self._asked.pop((owner, asked), 0)
        self._asked[owner, asked] = nth + 1
        if len(self._asked) > _REMEMBERED:
            self._asked.popitem(last=False)
        return digest([asked, "" if session is None else session.name, nth])

    async def _guarded(self, call: Any, *args: Any) -> Any:  # Any: one of the functions below
        try:
            return await self._run(call, self._db, *args)
        except sqlite3.Error as error:
            if not self._failed:
                self._failed = True
                _LOG.warning("%s: no longer used as a cache: %s", self._path, error)
            return None

    async def _run(self, call: Any, *args: Any) -> Any:  # Any: as above
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *args)


def worth_keeping(reply: Reply) -> bool:
    """Whether a reply is a success with an answer in it that came to its end."""
    body = reply.body
    if not reply.ok or not isinstance(body, dict) or body.get("error"):
        return False
    if isinstance(body.get("data"), list):  # embeddings
        return bool(body["data"])
    if isinstance(body.get("output"), list):  # responses
        return bool(body["output"]) and body.get("status") in (None, "completed")
    choices = choices_of(body)
    return bool(choices) and all(_came_to_its_end(choice) for choice in choices)


def _came_to_its_end(choice: JsonObject) -> bool:
    reason = choice.get("finish_reason")
    if not isinstance(reason, str) or reason.lower() in _ABORTED or choice.get("error"):
        return False
    message = choice.get("message")
    said = message if isinstance(message, dict) else choice
    names = ("content", "text", "tool_calls", "function_call", "refusal")
    return any(said.get(name) for name in names)


def _connected(path: Path) -> sqlite3.Connection:
    path.parent.mkdir(parents=True, exist_ok=True)
    db = sqlite3.connect(path, timeout=_PATIENCE, isolation_level=None, check_same_thread=False)
    try:
        db.execute("PRAGMA journal_mode = WAL").fetchall()
        # A lost power supply can take the last replies, never the file.
        db.execute("PRAGMA synchronous = NORMAL")
        db.execute(_SCHEMA)
        db.execute("SELECT key, made, status, body FROM replies LIMIT 1").fetchall()
    except sqlite3.Error:
        db.close()
        raise
    return db


def _found(db: sqlite3.Connection, key: str) -> tuple[int, JsonObject] | None:
    row = db.execute("SELECT status, body FROM replies WHERE key = ?", (key,)).fetchone()
    return None if row is None else (int(row[0]), json.loads(row[1]))


def _keep(db: sqlite3.Connection, key: str, status: int, body: str) -> None:
    row = (key, time.time(), status, body)
    db.execute("INSERT OR REPLACE INTO replies VALUES (?, ?, ?, ?)", row)
