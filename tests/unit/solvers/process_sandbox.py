"""A sandbox for tests: commands are processes of this machine, in a folder of a test's own."""

import asyncio
import contextlib
import os
import signal
import tempfile
from collections.abc import Mapping
from pathlib import Path

from pytest_nel.core.sandbox import TIMED_OUT, Command, ExecResult, SandboxError
from tests.support.no_files import NoFiles


class ProcessSandbox(NoFiles):
    """One folder.

    Attributes:
        commands: How many were run.
        broken: Every command raises SandboxError.
        env: Variables of every command.
    """

    def __init__(self, folder: Path) -> None:
        self.name = "processes"
        self.root = folder
        self.workdir = str(folder / "work space")
        self.commands = 0
        self.broken = False
        self.has_users = False
        self.env = {"PATH": os.defpath, "TMPDIR": str(folder / "tmp"), "GIVEN": "1"}
        Path(self.workdir).mkdir()
        (folder / "tmp").mkdir()

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
        del user
        if self.broken:
            msg = "the daemon is gone"
            raise SandboxError(msg)
        self.commands += 1
        words = ["/bin/sh", "-c", command] if isinstance(command, str) else list(command)
        variables = {**self.env, **(env or {})}
        with (
            tempfile.TemporaryFile() as given,  # files: a child in the background holds no pipe
            tempfile.TemporaryFile() as out,
            tempfile.TemporaryFile() as err,
        ):
            given.write(stdin or b"")
            given.seek(0)
            process = await asyncio.create_subprocess_exec(
                *words,
                cwd=cwd or self.workdir,
                env=variables,
                stdin=given,
                stdout=out,
                stderr=err,
                start_new_session=True,
            )
            try:
                code = await asyncio.wait_for(process.wait(), timeout_sec)
            except TimeoutError:
                await _killed(process)
                code = None
            except asyncio.CancelledError:
                await _killed(process)
                raise
            out.seek(0)
            err.seek(0)
            said = out.read(), err.read()
        if code is None:
            return ExecResult(*said, return_code=TIMED_OUT, timed_out=True)
        return ExecResult(*said, return_code=code if code >= 0 else 128 - code)


async def _killed(process: asyncio.subprocess.Process) -> None:
    with contextlib.suppress(ProcessLookupError):
        os.killpg(process.pid, signal.SIGKILL)
    await process.wait()
