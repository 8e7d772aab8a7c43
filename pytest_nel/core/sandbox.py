"""Places where code runs that nobody trusts: what describes one, what it can do, who makes them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import ClassVar, Protocol, TypeAlias

from pytest_nel.core.errors import InfraError

Command: TypeAlias = str | Sequence[str]
"""Text is run by ``/bin/sh -c``; a sequence is an argument vector that no shell sees."""

DEFAULT_TIMEOUT = 180.0
"""Seconds for one command where nobody says."""
TIMED_OUT = -1
"""The return code of a command that was ended because its time was up."""
BASE_COMMIT = "${TMPDIR:-/tmp}/_nel_base_commit"
"""The file, as a shell of the sandbox reads it, with the commit that the solver began from."""


class SandboxError(InfraError):
    """A sandbox failed, not what ran in it: the attempt is unscored, never wrong."""


class WrongPath(OSError):
    """A path in a sandbox leads nowhere: links without an end, a file in place of a folder.

    What ran in it has made that so, not the machinery.
    """


@dataclass(frozen=True, slots=True)
class SandboxSpec:
    """What a sandbox is made of; limits belong to the suite's ``sandbox`` entry.

    Attributes:
        image: The container image; empty where the backend has none or a default.
        workdir: Where commands start, made where it is missing.
        env: Environment variables of every command.
        files: Local files or folders and where they go, copied when it starts.
        entrypoint: A shell command that runs in the background as long as the sandbox does;
            None: nothing does. The image's own ENTRYPOINT never runs.
        volumes: Bind mounts ``host:container[:ro]``.
        environment_dir: A folder with a Dockerfile that makes the image where it is missing.
        user: Whose rights commands have; None: the image's own user, or an unprivileged one
            where that is root and the backend can.
        network: ``none``, or ``bridge`` where the task cannot do without; None leaves it to the
            suite, and a suite may refuse what a task asks for.
    """

    image: str = ""
    workdir: str = "/workspace"
    env: Mapping[str, str] = field(default_factory=dict)
    files: Mapping[str, str] = field(default_factory=dict)
    entrypoint: str | None = None
    volumes: Sequence[str] = ()
    environment_dir: str | None = None
    user: str | None = None
    network: str | None = None


@dataclass(frozen=True, slots=True)
class ImageFacts:
    """What an image says of itself.

    Attributes:
        workdir: Its WORKDIR; empty: it says none.
        user: Its USER; empty: root.
    """

    workdir: str = ""
    user: str = ""


@dataclass(frozen=True, slots=True)
class ExecResult:
    """What a command printed and how it ended.

    Attributes:
        stdout_bytes: As printed, cut in the middle where it was too much.
        stderr_bytes: As above.
        return_code: Its exit code; :data:`TIMED_OUT` when its time was up. One that a signal
            ended has 128 and the signal's number.
        timed_out: Whether it was ended because its time was up; what it had printed is there.
        truncated: Whether something it printed is missing.
        seconds: How long it ran.
    """

    stdout_bytes: bytes = b""
    stderr_bytes: bytes = b""
    return_code: int = 0
    timed_out: bool = False
    truncated: bool = False
    seconds: float = 0.0

    @property
    def stdout(self) -> str:
        """As text; bytes that are no UTF-8 are replaced."""
        return self.stdout_bytes.decode("utf-8", "replace")

    @property
    def stderr(self) -> str:
        """As :attr:`stdout`."""
        return self.stderr_bytes.decode("utf-8", "replace")


class Sandbox(Protocol):
    """A running sandbox, for one attempt alone; every method is to be awaited on the loop.

    Whatever fails in the machinery raises :class:`SandboxError`. Paths inside are absolute, or
    relative to the workdir.
    """

    @property
    def name(self) -> str:
        """Its name, for messages; ``none`` is no sandbox."""
        ...

    @property
    def workdir(self) -> str:
        """Where commands start."""
        ...

    @property
    def has_users(self) -> bool:
        """Whether commands may have rights of different users; where not, ``user`` is refused."""
        ...

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
        """Run a command to its end; at the limit its whole process tree is killed."""
        ...

    async def upload(self, source: Path, target: str) -> None:
        """Copy a file or a folder in, modes kept; parents are made.

        Raises:
            WrongPath: What is there leads nowhere.
        """
        ...

    async def download(self, source: str, target: Path) -> None:
        """Copy a file or a folder out, modes kept; nothing is written outside ``target``."""
        ...

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        """Write a file; None keeps the mode of one that is there and else means 0o644."""
        ...

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        """The bytes of a file, at most ``limit``.

        Raises:
            FileNotFoundError: There is none.
            IsADirectoryError: It is a folder.
            WrongPath: It leads nowhere, or cannot be read.
        """
        ...

    def resolve_outside_endpoint(self, url: str) -> str:
        """A URL of this machine as commands inside reach it."""
        ...


class StoppableSandbox(Sandbox, Protocol):
    """What a backend makes: a sandbox that somebody starts and stops."""

    async def start(self) -> None:
        """Make it run; what fails leaves nothing behind."""
        ...

    async def stop(self) -> None:
        """Remove it with all that runs in it; may be called twice, and after a failed start."""
        ...


class SandboxBackend(Protocol):
    """Makes sandboxes of one kind; opened and closed on the engine's loop.

    It is made as ``Backend(config, run_id=…, secrets=…, sweeps=…)``, ``config`` being its own
    ``Config`` and ``sweeps`` whether opening it removes what dead runs have left: another process
    may have done it just now.

    Attributes:
        answers_by: Its options that determine what runs inside, and so answers and judgements.
    """

    answers_by: ClassVar[tuple[str, ...]]

    async def open(self) -> None:
        """See whether sandboxes can be made here at all.

        Raises:
            ConfigError: They cannot; the message says what is missing and what to do.
        """
        ...

    async def close(self) -> None:
        """Remove every sandbox that is still there."""
        ...

    async def prepare(self, specs: Sequence[SandboxSpec]) -> None:
        """Get the images of these, each once (pull or build).

        Raises:
            ConfigError: One cannot be had.
        """
        ...

    def create(self, spec: SandboxSpec, name: str) -> StoppableSandbox:
        """A sandbox that is not started; ``name`` tells the attempt, for people."""
        ...


class NoSandbox:
    """What stands where a benchmark or a suite asks for no sandbox: using it is an error."""

    name = "none"
    workdir = ""
    has_users = False

    async def exec(self, *_args: object, **_options: object) -> ExecResult:
        """Refuse."""
        raise self._refusal()

    async def upload(self, *_args: object, **_options: object) -> None:
        """Refuse."""
        raise self._refusal()

    async def download(self, *_args: object, **_options: object) -> None:
        """Refuse."""
        raise self._refusal()

    async def write(self, *_args: object, **_options: object) -> None:
        """Refuse."""
        raise self._refusal()

    async def read(self, *_args: object, **_options: object) -> bytes:
        """Refuse."""
        raise self._refusal()

    def resolve_outside_endpoint(self, url: str) -> str:
        """The URL itself: what asks is on this machine."""
        return url

    @staticmethod
    def _refusal() -> SandboxError:
        msg = (
            "there is no sandbox: give the benchmark's entry in the suite one, such as "
            "sandbox: {type: docker, image: python:3.12-slim}"
        )
        return SandboxError(msg, retryable=False)
