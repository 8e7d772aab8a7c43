"""A sandbox for tests: a temporary folder, in which /output, /input and /workspace are its own."""

import asyncio
import re
import shutil
import subprocess
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any, ClassVar

from pydantic import Field

from pytest_nel.config.schema import Model
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.sandbox import Command, ExecResult, SandboxError, SandboxSpec

_OWN = re.compile(r"(?<![\w./])/(output|input|workspace)\b")


class TempBackend:
    """Makes folders; notes in a file what happens to them.

    Attributes:
        broken: ``open``, ``start``, ``exec`` or ``stop``: what fails, so many times.
        running: Those that run.
        most: How many ran at once at most.
        sandbox: What it makes.
    """

    answers_by: ClassVar[tuple[str, ...]] = ("flavour",)

    class Config(Model):
        """Options of the tests' own."""

        image: str | None = None
        image_template: str | None = None
        concurrency: int = 4
        capture_cmd: str | None = None
        verify_timeout: float = 600.0
        stateful: bool = False
        scrub_git_history: bool = False
        flavour: str = "plain"
        log: str | None = None
        container_env: dict[str, str] = Field(default_factory=dict)
        unusable: str | None = None
        real_paths: bool = False

    def __init__(
        self,
        config: Config,
        *,
        run_id: str = "",
        secrets: object = None,
        sweeps: bool = True,
    ) -> None:
        del run_id, secrets, sweeps
        self.config = config
        self.broken: dict[str, int] = {}
        self.running: set[TempSandbox] = set()
        self.most = 0
        self.made: list[SandboxSpec] = []
        self.prepared: list[str] = []
        self.sandbox: type[TempSandbox] = TempSandbox
        self.contents: dict[str, str] = {}  # of images whose name stands for another now

    async def open(self) -> None:
        if self.config.unusable:
            raise ConfigError(self.config.unusable)
        self.note("open")

    async def close(self) -> None:
        for box in list(self.running):
            await box.stop()
        self.note("close")

    async def prepare(self, specs: Sequence[SandboxSpec]) -> None:
        for spec in specs:
            if spec.image == "missing":
                msg = "there is no image 'missing'"
                raise ConfigError(msg)
            self.prepared.append(spec.image)
            self.note(f"prepare {spec.image}")

    async def image_digest(self, spec: SandboxSpec) -> str | None:
        return f"sha256:{self.contents.get(spec.image, spec.image)}"

    def create(self, spec: SandboxSpec, name: str) -> "TempSandbox":
        self.made.append(spec)
        if spec.network == "refused":
            msg = "a network that is refused"
            raise ConfigError(msg)
        return self.sandbox(self, spec, name)

    def fail(self, what: str) -> None:
        """Raise, if that is to be broken once more."""
        if self.broken.get(what, 0) > 0:
            self.broken[what] -= 1
            msg = f"{what} is broken"
            raise SandboxError(msg)

    def note(self, event: str) -> None:
        if self.config.log:
            with Path(self.config.log).open("a", encoding="utf-8") as file:
                file.write(event + "\n")


class TempSandbox:
    """One folder."""

    def __init__(self, backend: TempBackend, spec: SandboxSpec, name: str) -> None:
        self.backend = backend
        self.spec = spec
        self.name = name
        self.workdir = "/workspace"
        self.has_users = False
        self.root = Path()

    async def start(self) -> None:
        await asyncio.sleep(0)
        self.backend.fail("start")
        self.root = Path(tempfile.mkdtemp(prefix="nel-test-"))
        (self.root / "workspace").mkdir()
        if self.backend.config.real_paths:  # as a folder of this machine has them
            self.workdir = str(self.root / "workspace")
        (self.root / "workspace" / "image.txt").write_text(self.spec.image)
        self.backend.running.add(self)
        self.backend.most = max(self.backend.most, len(self.backend.running))
        self.backend.note(f"start {self.name} {self.spec.image}")

    async def stop(self) -> None:
        await asyncio.sleep(0)
        if self in self.backend.running:
            self.backend.running.discard(self)
            shutil.rmtree(self.root, ignore_errors=True)
            self.backend.note(f"stop {self.name}")
        self.backend.fail("stop")

    async def end_processes(self) -> None:
        await asyncio.sleep(0)
        self.backend.note(f"end {self.name}")

    async def exec(
        self,
        command: Command,
        timeout_sec: float = 180.0,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stdin: bytes | None = None,
    ) -> ExecResult:
        del env, user, cwd
        self.backend.fail("exec")
        args: Any = ["sh", "-c", self._inside(command)] if isinstance(command, str) else command
        return await asyncio.to_thread(self._ran, args, timeout_sec, stdin)

    def _ran(self, args: Sequence[str], limit: float, stdin: bytes | None) -> ExecResult:
        began = time.perf_counter()
        done = subprocess.run(
            args,
            cwd=self.root / "workspace",
            input=stdin or b"",
            capture_output=True,
            timeout=limit,
            check=False,
        )
        spent = time.perf_counter() - began
        return ExecResult(done.stdout, done.stderr, done.returncode, seconds=spent)

    async def upload(self, source: Path, target: str) -> None:
        path = Path(self._own(target))
        path.parent.mkdir(parents=True, exist_ok=True)
        shutil.copy(source, path)

    async def download(self, source: str, target: Path) -> None:
        shutil.copy(self._own(source), target)

    async def write(self, path: str, data: bytes, *, mode: int | None = None) -> None:
        del mode
        self._at(path).write_bytes(data)

    async def read(self, path: str, *, limit: int | None = None) -> bytes:
        return self._at(path).read_bytes()[:limit]

    def resolve_outside_endpoint(self, url: str) -> str:
        return url

    def _inside(self, command: str) -> str:
        return command if self.backend.config.real_paths else self._own(command)

    def _own(self, text: str) -> str:
        if text.startswith(f"{self.root}/"):
            return text
        return _OWN.sub(rf"{self.root}/\1", text)

    def _at(self, path: str) -> Path:
        return self.root / "workspace" / self._own(path)
