"""The engine's own event loop, in a background thread for the whole session."""

import asyncio
import contextlib
import threading
from collections.abc import Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

T = TypeVar("T")


class LoopThread:
    """Starts on first use; whatever is bound to a loop is opened, used and closed on it."""

    def __init__(self, name: str = "nel-engine") -> None:
        self._name = name
        self._thread: threading.Thread | None = None
        self.loop: asyncio.AbstractEventLoop | None = None

    def start(self) -> asyncio.AbstractEventLoop:
        """Return the running loop, started if need be."""
        if self.loop is None:
            self.loop = asyncio.new_event_loop()
            self._thread = threading.Thread(
                target=_run, args=(self.loop,), name=self._name, daemon=True
            )
            self._thread.start()
        return self.loop

    def submit(self, work: Coroutine[Any, Any, T]) -> Future[T]:
        """Run ``work`` on the loop; may be called from any other thread."""
        return asyncio.run_coroutine_threadsafe(work, self.start())

    def call(self, work: Coroutine[Any, Any, T], timeout: float | None = None) -> T:
        """Run ``work`` on the loop and wait for it."""
        return self.submit(work).result(timeout)

    def close(self) -> None:
        """Cancel what still runs, stop the loop, join the thread."""
        if self.loop is None or self._thread is None:
            return
        loop, thread = self.loop, self._thread
        self.loop = self._thread = None
        with contextlib.suppress(TimeoutError):  # a solver may block the loop for longer
            asyncio.run_coroutine_threadsafe(_drain(), loop).result(5)
        loop.call_soon_threadsafe(loop.stop)
        thread.join(5)
        if not thread.is_alive():
            loop.close()


def _run(loop: asyncio.AbstractEventLoop) -> None:
    """Run until stopped; asyncio lets a task's sys.exit() end the loop, and others wait on it."""
    while True:
        try:
            loop.run_forever()
        except (SystemExit, KeyboardInterrupt):  # whoever awaits that task is told by the task
            continue
        return


async def _drain() -> None:
    loop = asyncio.get_running_loop()
    tasks = asyncio.all_tasks(loop) - {asyncio.current_task(loop)}
    for task in tasks:
        task.cancel()
    if tasks:
        await asyncio.wait(tasks, timeout=2)
    await loop.shutdown_asyncgens()
