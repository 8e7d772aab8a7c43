"""The sandboxes of a run: one backend for each distinct entry of the suites, and its slots."""

import asyncio
import contextlib
import logging
from collections.abc import AsyncIterator, Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.keys import digest, share_of
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import (
    Sandbox,
    SandboxBackend,
    SandboxError,
    SandboxSpec,
)
from pytest_nel.core.sandbox_facts import distinct, spec_facts
from pytest_nel.core.types import JsonObject, SeedResult
from pytest_nel.engine.slots import Slots
from pytest_nel.engine.user_code import of_user
from pytest_nel.engine.validated import validated
from pytest_nel.http.secret import Secrets
from pytest_nel.sandboxes import REGISTRY as SANDBOXES

_LOG = logging.getLogger(__name__)

NONE = "none"
SLOTS = 4
"""Sandboxes of one entry at a time, where its backend's options say nothing."""
_LOOKS = 4  # images that are fetched at a time only to see what they are
ANSWERED_BY = ("image", "image_template", "capture_cmd", "scrub_git_history", "stateful")
"""Options of an entry on which answers and judgements depend."""


def backend_of(kind: str) -> type[SandboxBackend]:
    """The class behind a type of sandbox.

    Raises:
        UnknownName: There is none; the message says what is near, or why it is refused.
        ConfigError: Its module needs a package that is not installed.
    """
    try:
        return SANDBOXES.load(kind)
    except ImportError as error:
        msg = f"sandboxes of type {kind!r} cannot be used here: {error}"
        raise ConfigError(msg) from error


class Room:
    """One ``sandbox`` entry: makes its sandboxes, as many at once as there are slots.

    Args:
        spec: The entry.
        backend: Makes them; opened here.
        config: The backend's options.
        slots: How many there may be at once in this process.

    Attributes:
        warnings: What a user should know of the entry.
    """

    def __init__(self, spec: PluginSpec, backend: SandboxBackend, config: Any, slots: int) -> None:
        self.type = spec.type
        self.backend = backend
        self.slots = Slots(slots)
        self._config = config
        self._opened = False
        self._turn = asyncio.Lock()  # of who opens
        self._there: set[str] = set()
        self._fetching: dict[str, asyncio.Task[None]] = {}
        self._digests: dict[str, str] = {}
        self._said: set[str] = set()
        self._by_problem = "{" in self.option("image_template", "")  # each tells its image
        self._looking = asyncio.Semaphore(_LOOKS)
        own = getattr(backend, "warning", None)  # of a kind that isolates nothing
        self.warnings = [*([] if own is None else [str(own)]), *_contradictions(self)]

    def option(self, name: str, default: Any = None) -> Any:  # Any: each has its own type
        """One of the options that all backends share; ``default`` where it is not set."""
        value = getattr(self._config, name, None)
        return default if value is None else value

    async def open(self, specs: Sequence[SandboxSpec] = ()) -> None:
        """See whether it can work at all, and get images; once each.

        Raises:
            ConfigError: It cannot, or an image cannot be had.
        """
        async with self._turn:
            if not self._opened:
                await self.backend.open()
                self._opened = True
        told = [] if self._by_problem else [self.resolved(spec) for spec in specs]
        wanted = distinct(told)
        fresh = [spec for spec in wanted if _image(spec) not in self._there]
        if fresh:
            await self.backend.prepare(fresh)
        for spec in fresh:
            self._there.add(_image(spec))
            await self._note_digest(spec)

    async def open_for(self, environment: EvalEnvironment, specs: Sequence[SandboxSpec]) -> None:
        """Open it with images, and tell what they say of themselves.

        Args:
            environment: Told it.
            specs: What its problems ask for.

        Raises:
            ConfigError: As :meth:`open`.
        """
        await self.open(specs)
        says = getattr(self.backend, "image_facts", None)
        if says is not None and not self._by_problem:  # else a problem does not get its own image
            environment.images_known([(spec, await says(self.resolved(spec))) for spec in specs])

    async def refuse_template(self, environment: EvalEnvironment, problems: Iterable[int]) -> None:
        """Refuse an ``image_template`` that can be filled in for none of the problems.

        One for which it can be is enough: an attempt at another says what is missing. Where
        problems cannot be told before the run, so do all: those that bring images can be.

        Raises:
            ConfigError: It names a field that none of them has.
        """
        told = type(environment).prepare is EvalEnvironment.prepare or environment.images_by_problem
        if not (self._by_problem and told):
            return
        refused: SandboxError | None = None
        for problem in problems:
            try:
                seed = await of_user(environment.seed, problem)
                self.resolved(seed.sandbox_spec, seed.metadata)
            except SandboxError as error:
                refused = refused or error
            except Exception:  # noqa: BLE001 - a user's; the attempt says what is wrong with it
                return
            else:
                return
        if refused is not None:
            msg = f"{environment.name}: {refused}; no problem of the run has what it asks for"
            raise ConfigError(msg)

    async def ready(self, spec: SandboxSpec) -> None:
        """Get the image of a sandbox, unless it is there; all that want it at once get it once.

        Raises:
            SandboxError: It cannot be had.
        """
        name = _image(spec)
        if name in self._there:
            return
        task = self._fetching.get(name)
        if task is None:
            task = self._fetching[name] = asyncio.create_task(self.backend.prepare([spec]))
            task.add_done_callback(lambda _: self._fetching.pop(name))
        try:
            await asyncio.shield(task)
        except ConfigError as error:
            raise SandboxError(str(error), retryable=False) from error
        self._there.add(name)

    async def look(self, seed: SeedResult) -> None:
        """Learn what the images of a problem are made of, where only the problem tells them.

        One that cannot be had is not known: the attempt that needs it says why.
        """
        if not self._by_problem:
            return
        for spec in self._of(seed):
            with contextlib.suppress(SandboxError, ConfigError):
                async with self._looking:
                    await self.ready(spec)
                    if _image(spec) not in self._digests:
                        await self._note_digest(spec)

    def marks(self, seed: SeedResult) -> list[str | None]:
        """Digests of a problem's images, as far as :meth:`look` has found them."""
        return self.digests(seed) if self._by_problem else []

    def own_images(self, environment: EvalEnvironment) -> bool:
        """Whether problems have images of their own, as far as this entry lets them."""
        return environment.images_by_problem and self.option("image_template") is None

    def images_of(self, environment: EvalEnvironment) -> "Room | OwnImages":
        """What tells digests of images that are each problem's own."""
        return OwnImages(self) if self.own_images(environment) else self

    def digests(self, seed: SeedResult) -> list[str | None]:
        """Of a problem's images, as far as they are here."""
        return [self._digests.get(_image(spec)) for spec in self._of(seed)]

    def _of(self, seed: SeedResult) -> list[SandboxSpec]:
        both = (seed.sandbox_spec, seed.verify_sandbox_spec)
        with contextlib.suppress(SandboxError):  # a field is missing: the attempt says so
            return distinct([self.resolved(spec, seed.metadata) for spec in both])
        return []

    def resolved(
        self, spec: SandboxSpec | None, metadata: Mapping[str, Any] | None = None
    ) -> SandboxSpec:
        """The sandbox of a problem with its image: by template, its own, else the entry's.

        Raises:
            SandboxError: The template asks for a field that the problem does not have.
        """
        base = spec or SandboxSpec()
        template = self.option("image_template")
        if template and (metadata is not None or "{" not in template):
            try:
                return replace(base, image=template.format_map(metadata or {}))
            except (KeyError, IndexError, AttributeError, ValueError) as error:
                msg = (
                    f"sandbox image_template {template!r}: it cannot be filled in for a "
                    f"problem ({type(error).__name__}: {error}); its fields: "
                    f"{sorted(metadata or {})}"
                )
                raise SandboxError(msg, retryable=False) from error
        brings = base.image or base.environment_dir
        return base if brings else replace(base, image=self.option("image", ""))

    def facts_for(self, environment: EvalEnvironment, specs: Sequence[SandboxSpec]) -> JsonObject:
        """:meth:`facts` of a benchmark; images that count for problems are not among them."""
        return self.facts(() if self.own_images(environment) else specs)

    def facts(self, specs: Sequence[SandboxSpec] = ()) -> JsonObject:
        """What determines what runs in it; digests of images as far as the backend knows them.

        Args:
            specs: Those of one benchmark: images of others do not count for it.
        """
        names = dict.fromkeys([*ANSWERED_BY, *self.backend.answers_by])
        found = {name: value for name in names if (value := self.option(name)) not in (None, False)}
        marks = {_image(self.resolved(spec)) for spec in specs} & {*self._digests}
        if marks:
            found["images"] = digest({mark: self._digests[mark] for mark in marks})
        return {"type": self.type, **found}

    @contextlib.asynccontextmanager
    async def sandbox(
        self, spec: SandboxSpec | None = None, name: str = "own"
    ) -> AsyncIterator[Sandbox]:
        """A started sandbox for a block, for whoever needs one outside of attempts.

        Raises:
            ConfigError: It cannot work at all.
            SandboxError: It cannot be started.
        """
        await self.open()
        wanted = self.resolved(spec)
        await self.slots.acquire()
        try:
            await self.ready(wanted)
            made = self.backend.create(wanted, name)
            try:
                await made.start()
                yield made
            finally:
                await to_the_end(made.stop())
        finally:
            self.slots.release()

    def warn_once(self, text: str) -> None:
        """Log something that is true of many attempts, the first time."""
        if text not in self._said:
            self._said.add(text)
            _LOG.warning("%s", text)

    async def close(self) -> None:
        """Remove what is left."""
        if self._opened:
            self._opened = False
            await self.backend.close()

    async def _note_digest(self, spec: SandboxSpec) -> None:
        says = getattr(self.backend, "image_digest", None)
        if says is not None and (found := await says(spec)) is not None:
            self._digests[_image(spec)] = str(found)


class OwnImages:
    """Images that problems bring: those of the run are here before its first attempt.

    Each counts for its problem alone, so that a run of more problems finds its answers again.
    """

    def __init__(self, room: Room) -> None:
        self._room = room

    async def look(self, seed: SeedResult) -> None:
        """There is nothing to look for."""

    def marks(self, seed: SeedResult) -> list[str | None]:
        """Digests of a problem's images."""
        return self._room.digests(seed)


class Sandboxes:
    """The rooms of a process, made on first use and closed in the opposite order.

    Args:
        share: (index, count) of the processes that divide the slots among them.
        secrets: What no message may show; looked up each time.

    Attributes:
        run_id: The run, by which backends know their own.
        sweeps: Whether what dead processes have left is removed; another may have done it just now.
    """

    def __init__(self, share: tuple[int, int], secrets: Callable[[], Secrets]) -> None:
        self._share = share
        self._secrets = secrets
        self._rooms: dict[str, tuple[PluginSpec, Room]] = {}
        self.run_id = "own"
        self.sweeps = True

    def __bool__(self) -> bool:
        return bool(self._rooms)

    def room(self, spec: PluginSpec) -> Room | None:
        """The room of an entry, shared by all equal ones; None for type ``none``.

        Raises:
            ConfigError: Its type is unknown, or an option is wrong.
        """
        if spec.type == NONE:
            return None
        name = digest(spec.model_dump())
        if name not in self._rooms:
            kind: Any = backend_of(spec.type)  # Any: each plugin has its own Config
            config = validated(kind.Config, spec.options, "sandbox")
            own = {"run_id": self.run_id, "secrets": self._secrets(), "sweeps": self.sweeps}
            backend = kind(config, **own)
            most = int(getattr(config, "concurrency", SLOTS))
            slots = share_of(most, *self._share)
            self._rooms[name] = (spec, Room(spec, backend, config, slots))
        return self._rooms[name][1]

    def divide(self, share: tuple[int, int]) -> Iterator[tuple[Slots, int]]:
        """Be one of fewer processes.

        Yields:
            The slots of each room, and how many more there are now; to be set on their loop.
        """
        before, self._share = self._share, share
        for _, room in self._rooms.values():
            most = int(room.option("concurrency", SLOTS))
            yield room.slots, max(0, share_of(most, *share) - share_of(most, *before))

    async def close(self) -> None:
        """Remove every sandbox that is still there; one backend that fails stops no other."""
        while self._rooms:
            _, (_, room) = self._rooms.popitem()
            try:
                await room.close()
            except (SandboxError, OSError) as error:
                _LOG.warning("sandboxes of type %s could not be closed: %s", room.type, error)


async def to_the_end(work: Any) -> None:
    """Await a coroutine to its end, whoever cancels; that is raised then, before its error."""
    task = asyncio.ensure_future(work)
    cancelled: asyncio.CancelledError | None = None
    while not task.done():
        try:
            await asyncio.wait([task])  # which cancels nothing, and raises nothing of the task's
        except asyncio.CancelledError as error:
            cancelled = error
    failed = None if task.cancelled() else task.exception()
    if cancelled is not None:
        raise cancelled from failed
    task.result()


def _image(spec: SandboxSpec) -> str:
    return digest({"image": spec.image, "made_of": (spec_facts(spec) or {}).get("environment_dir")})


def _contradictions(room: Room) -> Iterator[str]:
    if room.option("stateful"):
        for name in ("capture_cmd", "scrub_git_history"):
            if room.option(name):
                yield (
                    f"sandbox of type {room.type}: stateful verifies where it was solved, so "
                    f"{name} does nothing there: leave one of them out"
                )
