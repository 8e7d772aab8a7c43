"""When a command's time is up, nothing of what it has started goes on, however it hides."""

import time

import pytest

from tests.contract.boxes import no_image, started

pytestmark = pytest.mark.skipif("no_image() is not None", reason=str(no_image()))

_DOUBLE_FORK = """
import os, sys, time
if os.fork() == 0:
    os.setsid()
    if os.fork() == 0:
        {hide}
        print("hidden", flush=True)
        time.sleep(600)
    os._exit(0)
os.wait()
time.sleep(600)
"""
_WIPE = 'os.execve(sys.executable, ["wiped", "-c", "import time; time.sleep(600)"], {})'
_RUNNING = "for p in /proc/[0-9]*; do tr '\\0' ' ' <$p/cmdline; echo; done | grep -c '[6]00)'"


@pytest.mark.parametrize("hide", ["pass", _WIPE], ids=["double-forked", "environment wiped"])
@pytest.mark.asyncio
async def test_a_double_forked_child_is_killed(hide: str) -> None:
    async with started("docker") as sandbox:
        script = _DOUBLE_FORK.format(hide=hide)

        done = await sandbox.exec(["python3", "-c", script], 1.5)
        left = await sandbox.exec(_RUNNING)

    assert (done.timed_out, done.return_code) == (True, -1)
    assert left.stdout == "0\n"


@pytest.mark.asyncio
async def test_what_an_earlier_command_left_in_the_background_goes_on() -> None:
    async with started("docker") as sandbox:
        await sandbox.exec("python3 -c 'import time; time.sleep(600)' >/dev/null 2>&1 &")
        await sandbox.exec("sleep 100", 0.5)

        left = await sandbox.exec(_RUNNING)

    assert left.stdout == "1\n"


@pytest.mark.asyncio
async def test_a_fork_bomb_ends_with_its_command_and_the_sandbox_goes_on() -> None:
    bomb = "import os\nwhile True:\n    try: os.fork()\n    except OSError: pass\n"
    async with started("docker", pids=64) as sandbox:
        began = time.monotonic()
        done = await sandbox.exec(["python3", "-c", bomb], 1.0)
        took = time.monotonic() - began
        after = await sandbox.exec("ls /proc | grep -c '^[0-9]'; echo fine")

    assert done.timed_out
    assert took < 40
    assert after.stdout.endswith("fine\n")
    assert int(after.stdout.split()[0]) < 8


@pytest.mark.asyncio
async def test_a_command_that_ended_in_time_has_not_timed_out_though_the_daemon_says_so_late() -> (
    None
):
    async with started("docker") as sandbox:
        first = await sandbox.exec("sleep 50 & echo first")

        second = await sandbox.exec("echo second; exit 5", 1.0)

    assert (first.stdout, first.return_code) == ("first\n", 0)
    assert (second.stdout, second.return_code, second.timed_out) == ("second\n", 5, False)


@pytest.mark.asyncio
async def test_a_flood_of_output_ends_when_its_time_is_up() -> None:
    async with started("docker") as sandbox:
        done = await sandbox.exec("yes", 1.0)
        after = await sandbox.exec("echo fine")

    assert done.timed_out
    assert done.truncated
    assert done.seconds < 20  # it was 40 while nobody read what it wrote as it was killed
    assert after.stdout == "fine\n"
