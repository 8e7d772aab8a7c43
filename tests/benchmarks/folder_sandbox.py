"""A sandbox that is a folder of this machine, for checks that a test has written itself."""

import asyncio
import subprocess
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from pytest_nel import ExecResult, SandboxError


class FolderSandbox:
    """Runs commands in a folder; ``broken`` is what every command fails with."""

    name = "folder"

    def __init__(self, folder: Path, broken: str = "") -> None:
        self.folder = folder
        self.workdir = str(folder)
        self.broken = broken
        self.env: Mapping[str, str] | None = None

    async def exec(
        self, command: Any, timeout_sec: float = 180.0, *, stdin: bytes | None = None, **_: Any
    ) -> ExecResult:
        """Run it; at the limit it is killed."""
        if self.broken:
            raise SandboxError(self.broken)
        return await asyncio.to_thread(self._ran, command, timeout_sec, stdin)

    def _ran(self, command: Any, limit: float, stdin: bytes | None) -> ExecResult:
        try:
            done = subprocess.run(
                command,
                cwd=self.folder,
                input=stdin,
                capture_output=True,
                timeout=limit,
                check=False,
                env=self.env,
            )
        except subprocess.TimeoutExpired as error:
            return ExecResult(error.stdout or b"", error.stderr or b"", -1, timed_out=True)
        return ExecResult(done.stdout, done.stderr, done.returncode)
