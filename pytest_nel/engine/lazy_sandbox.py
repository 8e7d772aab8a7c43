"""A sandbox that starts when it is first used, and only then takes a slot."""

import asyncio
import logging
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.exchange import put_off
from pytest_nel.core.sandbox import (
    DEFAULT_TIMEOUT,
    Command,
    ExecResult,
    Sandbox,
    SandboxError,
    SandboxSpec,
    StoppableSandbox,
)
from pytest_nel.core.types import JsonObject
from pytest_nel.engine.sandboxes import Room, to_the_end

_LOG = logging.getLogger(__name__)
_SLACK = 180.0  # seconds by which a backend may see later that a command's time is up


@dataclass(slots=True)
class Ledger:
    """What an attempt's sandboxes took, and what happened in them.

    Attributes:
        started: How many were started.
        waited: Seconds in which none of the slots was free, or an image was fetched.
        starting: Seconds until they could be used, our own preparations included.
        busy: Seconds in which they did something for solver or verifier.
        facts: What else the record keeps, such as the audit line of a scrubbed git history.
    """

    started: int = 0
    waited: float = 0.0
    starting: float = 0.0
    busy: float = 0.0
    facts: JsonObject = field(default_factory=dict)
    _active: int = 0
    _since: float = 0.0
    _lost: float = 0.0

    def taken(self) -> JsonObject:
        """As the record has it, and from zero again; empty where none was wanted."""
        if not (self.started or self.waited or self.facts):
            return {}
        row = {
            "started": self.started,
            "wait_ms": round(self.waited * 1000, 2),
            "start_ms": round(self.starting * 1000, 2),
            "exec_ms": round(self.busy * 1000, 2),
            **self.facts,
        }
        self.started, self.waited, self.starting, self.busy, self.facts = 0, 0.0, 0.0, 0.0, {}
        self._lost = 0.0
        return row

    def begin_again(self) -> None:
        """What was done is lost: it took its time, and is no work any more."""
        self._lost = self.busy

    @property
    def worked(self) -> float:
        """Seconds in which they did something of this try, what they still do included."""
        running = time.perf_counter() - self._since if self._active else 0.0
        return self.busy - self._lost + running

    @contextmanager
    def working(self) -> Iterator[None]:
        """Count the block; what runs at once counts once."""
        if self._active == 0:
            self._since = time.perf_counter()
        self._active += 1
        try:
            yield
        finally:
            self._active -= 1
            if self._active == 0:
                self.busy += time.perf_counter() - self._since


@dataclass(slots=True)
class Deadline:
    """The time limit that is in force; it stands still while an attempt waits for its turn."""

    limit: asyncio.Timeout | None = None
    _judging: asyncio.Timeout | None = None
    _more: float = 0.0

    def judging(self, seconds: float) -> asyncio.Timeout:
        """A limit for who judges, now in force; what is begun within it comes to its own end."""
        self.limit = self._judging = asyncio.timeout(seconds)
        self._more = 0.0
        return self.limit

    def begins(self, seconds: float) -> None:
        """Somebody begins what has a limit of so many seconds of its own.

        It is what is judged that may take them: were the judge's limit shorter, a program without
        end would be no wrong answer but one without a judgement.
        """
        when = None if self.limit is not self._judging or self.limit is None else self.limit.when()
        if self.limit is None or when is None or self.limit.expired():
            return
        now = asyncio.get_running_loop().time()
        more = now + seconds + _SLACK - when
        if now < when - self._more and more > 0:
            self.limit.reschedule(when + more)
            self._more += more

    @contextmanager
    def paused(self) -> Iterator[None]:
        """Put the limit off by the time that the block takes."""
        with put_off(self.limit):
            yield


@dataclass(slots=True)
class Use:
    """What all sandboxes of one attempt share.

    Attributes:
        name: What they are called, for people.
        ledger: Where they count.
        deadline: What they put off.
    """

    name: str
    ledger: Ledger
    deadline: Deadline


class LazySandbox:
    """A sandbox that starts when it is first used, and only then takes a slot.

    Args:
        room: Makes it.
        spec: What it is made of.
        use: The attempt's.
        furnish: What has to be done in it before anybody sees it.
        first: Whether it goes before others that wait for a slot.

    Attributes:
        trouble: The first thing that the machinery did wrong.
        unstarted: Whether that was its start.
    """

    def __init__(
        self,
        room: Room,
        spec: SandboxSpec,
        use: Use,
        furnish: Callable[[Sandbox], Awaitable[None]],
        *,
        first: bool = False,
    ) -> None:
        self._room = room
        self._spec = spec
        self._use = use
        self._furnish = furnish
        self._first = first
        self._made: StoppableSandbox | None = None
        self._turn = asyncio.Lock()
        self._runs = False
        self._over = False
        self._has_slot = False
        self.trouble: SandboxError | None = None
        self.unstarted = False

    @property
    def name(self) -> str:
        """That of the sandbox, as its backend calls it."""
        return self._sandbox().name

    @property
    def workdir(self) -> str:
        """Where commands start; some backends know it only when it runs."""
        return self._sandbox().workdir

    @property
    def has_users(self) -> bool:
        """As the backend's sandbox says."""
        return self._sandbox().has_users

    def judging(self, seconds: float) -> asyncio.Timeout:
        """A limit for who judges in it, which gives way to those of commands."""
        return self._use.deadline.judging(seconds)

    @property
    def said_workdir(self) -> str:
        """The workdir as the problem says it."""
        return self._spec.workdir

    @property
    def runs(self) -> bool:
        """Whether it was started and not stopped."""
        return self._runs and not self._over

    async def exec(
        self,
        command: Command,
        timeout_sec: float = DEFAULT_TIMEOUT,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stdin: bytes | None = None,
    ) -> ExecResult:
        """As the backend's sandbox does it; so with the methods below."""
        box = await self._running()
        self._use.deadline.begins(timeout_sec)
        with self._noted():
            return await box.exec(command, timeout_sec, cwd=cwd, env=env, user=user, stdin=stdin)

    async def upload(self, source: Path, target: str) -> None:
        """Copy in."""
        box = await self._running()
        with self._noted():
            await box.upload(source, target)

    async def download(self, source: str, target: Path) -> None:
        """Copy out."""
        box = await self._running()
        with self._noted():
            await box.download(source, target)

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Write a file."""
        box = await self._running()
        with self._noted():
            await box.write(path, data, mode=mode)

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """Read a file."""
        box = await self._running()
        with self._noted():
            return await box.read(path, limit=limit)

    async def end_processes(self) -> None:
        """End all that was started in it; where its backend cannot, nothing."""
        box: Any = await self._running()  # Any: not every backend's sandbox can
        if hasattr(box, "end_processes"):
            with self._noted():
                await box.end_processes()

    def resolve_outside_endpoint(self, url: str) -> str:
        """A URL of this machine as it is seen inside; nothing is started for it."""
        return self._sandbox().resolve_outside_endpoint(url)

    async def stop(self) -> None:
        """Remove it and give its slot back, whoever cancels meanwhile; may be called twice."""
        if self._over:
            return
        self._over = True
        if not self._turn.locked():  # else it is being started: who does that removes it
            await self._removed()

    async def _removed(self) -> None:
        try:
            if self._made is not None and self._has_slot:
                await to_the_end(self._stopped(self._made))
        finally:
            if self._has_slot:
                self._has_slot = False
                self._room.slots.release()

    async def _stopped(self, box: StoppableSandbox) -> None:
        try:
            await box.stop()
        except (SandboxError, OSError) as error:  # its backend removes what is left at the end
            _LOG.warning("sandbox of %s could not be stopped: %s", self._use.name, error)

    def _sandbox(self) -> StoppableSandbox:
        if self._made is None:
            try:
                self._made = self._room.backend.create(self._spec, self._use.name)
            except ConfigError as error:  # an attempt's own: the others may go well
                raise SandboxError(str(error), retryable=False) from error
        return self._made

    async def _running(self) -> StoppableSandbox:
        if not self._runs or self._over:
            async with self._turn:
                if self.unstarted and self.trouble is not None:
                    raise self.trouble
                self._refuse_removed()
                if not self._runs:
                    await self._start()
        return self._sandbox()

    def _refuse_removed(self) -> None:
        if self._over:
            msg = f"the sandbox of {self._use.name} has been removed: its time is over"
            raise SandboxError(msg, retryable=False)

    async def _start(self) -> None:
        ledger = self._use.ledger
        began = time.perf_counter()
        try:
            with self._use.deadline.paused():
                await self._room.slots.acquire(first=self._first)
                self._has_slot = True
                await self._room.ready(self._spec)
            self._refuse_removed()  # by somebody who did not wait for us
            turn = time.perf_counter()
            ledger.waited += turn - began
            box = self._sandbox()
            await box.start()
            ledger.started += 1
            await self._furnish(box)
            self._refuse_removed()
            ledger.starting += time.perf_counter() - turn
            self._runs = True
        except SandboxError as error:
            self.trouble, self.unstarted = error, True
            raise
        except OSError as error:  # of files of this machine: no verifier may take it for the answer
            msg = f"the sandbox of {self._use.name} could not be furnished: {error}"
            self.trouble, self.unstarted = SandboxError(msg, retryable=False), True
            raise self.trouble from error
        finally:
            if not self._runs:
                self._over = True
                await self._removed()

    @contextmanager
    def _noted(self) -> Iterator[None]:
        with self._use.ledger.working():
            try:
                yield
            except SandboxError as error:
                self.trouble = self.trouble or error
                raise
