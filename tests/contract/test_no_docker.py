"""Without a daemon there is one message, before anything has begun."""

import asyncio
import subprocess
import sys
from pathlib import Path

import pytest

from pytest_nel.cli.main import main
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.sandbox import SandboxError, SandboxSpec
from pytest_nel.sandboxes.local import LocalBackend
from tests.contract.boxes import backend_of, opened, started


@pytest.mark.asyncio
async def test_no_docker_is_one_error_that_says_what_was_tried(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setenv("DOCKER_HOST", f"unix://{tmp_path}/nobody.sock")
    backend = backend_of("docker")

    with pytest.raises(ConfigError) as caught:
        await backend.open()
    await backend.close()

    said = str(caught.value)
    assert f"{tmp_path}/nobody.sock (DOCKER_HOST): No such file or directory" in said
    assert "set DOCKER_HOST" in said
    assert main(["sandbox", "prune"]) == 4
    assert "No such file or directory" in capsys.readouterr().err


@pytest.mark.asyncio
async def test_a_local_sandbox_says_what_it_is_not_and_limits_what_it_can() -> None:
    async with started("local", memory="300MiB", file_size="1MiB", cpu_seconds=1) as sandbox:
        bomb = await sandbox.exec(["python3", "-c", "x = bytearray(2**30)"])
        big = await sandbox.exec("head -c 2000000 /dev/zero >big")
        busy = await sandbox.exec("while :; do :; done", 30)
        root = Path(sandbox.workdir).parent
        with pytest.raises(SandboxError, match="use type docker"):
            await sandbox.exec("true", user="somebody-else")

    assert "isolate nothing" in LocalBackend.warning
    assert "MemoryError" in bomb.stderr
    assert big.return_code != 0
    assert (busy.return_code, busy.timed_out) == (137, False)
    assert not root.exists()


def is_there(folder: Path) -> bool:
    """Whether it is."""
    return folder.is_dir()


_OWNER = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from tests.contract.boxes import backend_of
from pytest_nel.core.sandbox import SandboxSpec
async def hold():
    backend = backend_of("local")
    await backend.open()
    sandbox = backend.create(SandboxSpec(), "of one that dies")
    await sandbox.start()
    print(sandbox.workdir, flush=True)
    await sandbox.exec("(while :; do date >alive; sleep 0.05; done) & sleep 600", 600)
asyncio.new_event_loop().run_until_complete(hold())
"""


@pytest.mark.asyncio
async def test_what_kill_9_leaves_of_a_local_sandbox_the_next_run_removes() -> None:
    script = _OWNER.format(tests=str(Path(__file__).parent))
    with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:  # noqa: ASYNC220 - a test's
        assert process.stdout is not None
        workdir = Path(process.stdout.readline().decode().strip())
        await asyncio.sleep(0.5)
        process.kill()
    left = is_there(workdir)

    async with opened("local"):
        pass

    assert (left, is_there(workdir.parent)) == (True, False)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("spec", "said"),
    [(SandboxSpec(volumes=["/a:/b"]), "no mounts"), (SandboxSpec(user="other"), "user 'other'")],
)
async def test_what_a_local_sandbox_cannot_be_is_said_before_the_run(
    spec: SandboxSpec, said: str
) -> None:
    with pytest.raises(ConfigError, match=said):
        await backend_of("local").prepare([spec])
