"""Tests and candidate of ``code_sandbox`` as two processes of this machine."""

import asyncio
from collections.abc import Mapping, Sequence

from pytest_nel import ExecResult, ScorerInput, VerifyResult
from pytest_nel.scoring.code import code_sandbox
from tests.support.no_files import NoFiles

ROW = {
    "prompt": "def helper(x):\n    return x\n\n\ndef solve(a, b=0):\n",
    "test": (
        "def check(f):\n    assert f([1, 2], b=3) == (6, {'x': [1.5]})\n    assert helper(1) == 1\n"
    ),
    "entry_point": "solve",
}
GOOD = "def solve(a, b=0):\n    return (sum(a) + b, {'x': [1.5]})\n"


class Processes(NoFiles):
    """Runs commands on this machine, which is no sandbox."""

    name = "processes"
    workdir = "/tmp"  # noqa: S108
    has_users = True

    def __init__(self, broken: Mapping[str, ExecResult] | None = None) -> None:
        self.broken = broken or {}

    async def exec(
        self,
        command: str | Sequence[str],
        timeout_sec: float = 180,
        *,
        cwd: str | None = None,
        env: Mapping[str, str] | None = None,
        user: str | None = None,
        stdin: bytes | None = None,
    ) -> ExecResult:
        for part, result in self.broken.items():
            if part in str(user):
                return result
        running = await asyncio.create_subprocess_exec(
            *command, cwd=cwd, env=env, stdin=-1, stdout=-1, stderr=-1
        )
        try:
            async with asyncio.timeout(timeout_sec):
                out, err = await running.communicate(stdin)
        except asyncio.CancelledError:
            running.kill()
            await running.communicate()
            raise
        except TimeoutError:
            running.kill()
            out, err = await running.communicate()
            return ExecResult(out, err, -1, timed_out=True)
        code = running.returncode or 0
        return ExecResult(out, err, code if code >= 0 else 128 - code)


async def judged(code: str, *, test: str | None = None, seconds: float = 20) -> VerifyResult:
    """The verdict on a response with that code, by the tests of ``ROW`` or others."""
    row = ROW if test is None else {**ROW, "test": test}
    sample = ScorerInput(f"```python\n{code}\n```", "", row, {"code_timeout": seconds}, Processes())
    return await code_sandbox(sample)
