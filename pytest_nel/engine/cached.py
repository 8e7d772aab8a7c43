"""Answers of earlier runs: the response cache as the engine's loop sees it."""

import asyncio
from collections.abc import Awaitable, Callable, Mapping
from concurrent.futures import ThreadPoolExecutor
from typing import Any, Protocol

from pytest_nel.core.errors import FailureKind
from pytest_nel.core.types import JsonObject
from pytest_nel.records.record import Solved

_FACTS = ("response", "reasoning", "model", "sampling", "trajectory", "details")


class Store(Protocol):
    """What keeps the answers; called in one thread of its own."""

    @property
    def trouble(self) -> str | None:
        """Why it does not work any more, or None."""
        ...

    def get(self, key: str) -> JsonObject | None:
        """The answer of a key."""
        ...

    def put(self, key: str, answer: Mapping[str, Any]) -> None:
        """Keep an answer."""
        ...

    def close(self) -> None:
        """Write what is held back."""
        ...


class CachedAnswers:
    """Looks an answer up, or has it made and keeps it. Nothing of it blocks the loop.

    Attempts with one key that are under way at once are asked once.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._thread = ThreadPoolExecutor(1, thread_name_prefix="nel-cache")
        self._under_way: dict[str, asyncio.Future[None]] = {}

    async def answer(
        self, key: str, solved: Solved, ask: Callable[[Solved], Awaitable[None]]
    ) -> None:
        """Fill in ``solved``: from the cache, or by ``ask``."""
        while (other := self._under_way.get(key)) is not None:
            await asyncio.wait([other])  # shielded: its end is not ours
        mine = self._under_way[key] = asyncio.get_running_loop().create_future()
        try:
            found = await self._run(self._store.get, key)
            if found is not None:
                _fill(solved, found)
                return
            await ask(solved)
            keeps = solved.whole and solved.workspace is None  # else the answer is half of it
            keeps = keeps and solved.details.get("error_category") != FailureKind.SOLVE_TIMEOUT
            if solved.failure is None and solved.reward is None and keeps:
                await self._run(self._store.put, key, facts_of(solved))
        finally:
            del self._under_way[key]
            mine.set_result(None)

    @property
    def trouble(self) -> str | None:
        """Why the store does not work any more, or None; the run does without it."""
        return self._store.trouble

    def close(self) -> None:
        """End the thread, then the store (blocking)."""
        self._thread.shutdown()
        self._store.close()

    async def _run(self, call: Callable[..., Any], *args: Any) -> Any:  # Any: the store's own
        return await asyncio.get_running_loop().run_in_executor(self._thread, call, *args)


def facts_of(solved: Solved) -> JsonObject:
    """What is kept of an answer; a reward that a solver gave itself is none of it."""
    asked_none = {"no_model": True} if solved.no_model else {}
    return {name: getattr(solved, name) for name in _FACTS} | asked_none


def _fill(solved: Solved, facts: Mapping[str, Any]) -> None:
    for name in _FACTS:
        setattr(solved, name, facts[name])
    solved.no_model = bool(facts.get("no_model"))
    solved.cached = True
