"""What every kind of sandbox does alike."""

import asyncio
import gc
import os
import stat
import time
import weakref
from pathlib import Path

import pytest

from pytest_nel.core.sandbox import SandboxError, SandboxSpec, WrongPath
from tests.contract.boxes import no_image, opened, started

KINDS = [
    pytest.param(
        "docker", marks=pytest.mark.skipif("no_image() is not None", reason=str(no_image()))
    ),
    "local",
]
pytestmark = [pytest.mark.parametrize("kind", KINDS), pytest.mark.asyncio]


def names(folder: Path) -> list[str]:
    """What is in it."""
    return sorted(path.name for path in folder.iterdir())


async def test_commands_have_output_status_folder_and_variables(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("SECRET_OF_THE_HOST", "s3cret")
    spec = SandboxSpec(env={"ONE": "1", "TWO": "two words"})
    async with started(kind, spec, container_env={"ONE": "lit:other", "MORE": "lit:m"}) as sandbox:
        said = await sandbox.exec(
            'echo "$ONE $TWO $MORE $THREE"; pwd; echo trouble >&2; exit 3', env={"THREE": "3"}
        )
        argv = await sandbox.exec(["sh", "-c", 'printf "%s|" "$@"', "sh", "a b", "$HOME", "*"])
        inside = await sandbox.exec("mkdir -p sub && cd sub && pwd")
        relative = await sandbox.exec("pwd", cwd="sub")
        absolute = await sandbox.exec("pwd", cwd="/tmp")  # noqa: S108 - inside
        nowhere = await sandbox.exec("pwd", cwd="not-there")
        missing = await sandbox.exec(["no-such-program"])
        killed = await sandbox.exec("kill -9 $$")
        everything = await sandbox.exec("env")

    assert said.stdout.splitlines() == ["1 two words m 3", sandbox.workdir]
    assert (said.stderr, said.return_code, said.timed_out) == ("trouble\n", 3, False)
    assert argv.stdout == "a b|$HOME|*|"
    assert relative.stdout == inside.stdout == f"{sandbox.workdir}/sub\n"
    assert absolute.stdout.rstrip().endswith("/tmp")  # noqa: S108 - inside
    assert nowhere.return_code != 0
    assert missing.return_code in {126, 127}
    assert killed.return_code == 137
    assert "s3cret" not in everything.stdout
    assert "PATH=" in everything.stdout


async def test_at_the_limit_the_tree_is_killed_and_what_was_printed_is_there(kind: str) -> None:
    child = (
        "import os, time\n"
        "print('begun', flush=True)\n"
        "if os.fork() == 0:\n"
        "    os.setsid()\n"
        "    if os.fork() == 0:\n"
        "        while True:\n"
        "            open('alive', 'w').write(str(time.time())); time.sleep(0.05)\n"
        "    os._exit(0)\n"
        "time.sleep(600)\n"
    )
    async with started(kind) as sandbox:
        began = time.monotonic()
        done = await sandbox.exec(["python3", "-c", child], 1.0)
        took = time.monotonic() - began
        first = await sandbox.read("alive")
        await asyncio.sleep(0.3)
        second = await sandbox.read("alive")

    assert (done.timed_out, done.return_code, done.stdout) == (True, -1, "begun\n")
    assert took < 15
    assert first == second


async def test_a_child_in_the_background_keeps_no_command_from_ending(kind: str) -> None:
    async with started(kind) as sandbox:
        began = time.monotonic()
        done = await sandbox.exec("(sleep 1; echo late >file; sleep 60) & echo started", 30)
        took = time.monotonic() - began
        await asyncio.sleep(1.2)
        late = await sandbox.read("file")

    assert (done.stdout, done.return_code) == ("started\n", 0)
    assert took < 10
    assert late == b"late\n"


async def test_of_much_output_beginning_and_end_are_kept_and_nothing_is_decoded(kind: str) -> None:
    flood = "import os\nfor _ in range(3000): os.write(1, b'x' * 10000)\nos.write(1, b'THE END')"
    everything = "import sys; sys.stdout.buffer.write(bytes(range(256)) * 4)"
    async with started(kind, output_limit=4096) as sandbox:
        much = await sandbox.exec(["python3", "-c", flood], 60)
        binary = await sandbox.exec(["python3", "-c", everything])

    assert much.truncated
    assert much.stdout.endswith("x" * 2000 + "THE END")
    assert "\n[... 29,995,911 bytes left out ...]\n" in much.stdout
    assert len(much.stdout_bytes) < 5000
    assert (binary.stdout_bytes, binary.truncated) == (bytes(range(256)) * 4, False)


async def test_stdin_is_passed_whole_and_ends(kind: str) -> None:
    data = os.urandom(3_000_000)
    async with started(kind) as sandbox:
        counted = await sandbox.exec("wc -c", stdin=data)
        back = await sandbox.exec("cat", stdin=data[:500_000])
        unread = await sandbox.exec("echo fine", stdin=data)
        none = await sandbox.exec("cat", 10)

    assert int(counted.stdout) == 3_000_000
    assert back.stdout_bytes == data[:500_000]
    assert unread.stdout == "fine\n"
    assert (none.stdout_bytes, none.timed_out) == (b"", False)


async def test_many_commands_at_a_time_do_not_mix(kind: str) -> None:
    async with started(kind) as sandbox:
        began = time.monotonic()
        done = await asyncio.gather(
            *(sandbox.exec(f"sleep 1; echo {at}; exit {at}") for at in range(10))
        )
        took = time.monotonic() - began

    assert [(one.stdout, one.return_code) for one in done] == [(f"{at}\n", at) for at in range(10)]
    assert took < 9


async def test_folders_go_in_and_out_with_modes_and_links(kind: str, tmp_path: Path) -> None:
    source = tmp_path / "source"
    (source / "deep/er").mkdir(parents=True)
    (source / "run.sh").write_text("#!/bin/sh\necho ran\n")
    (source / "run.sh").chmod(0o755)
    (source / "deep/er/data").write_bytes(b"\0\xff")
    (source / "deep/er/data").chmod(0o640)
    (source / "link").symlink_to("deep/er/data")
    async with started(kind) as sandbox:
        await sandbox.upload(source, "new/folders/here")
        await sandbox.upload(source / "run.sh", "single")
        await sandbox.upload(source / "run.sh", "new/folders")  # a folder: into it
        ran = await sandbox.exec(
            "new/folders/here/run.sh && ./single && new/folders/run.sh && echo more >>single"
            " && rm new/folders/here/run.sh && touch new/made"
            " && stat -c %a new/folders/here/deep/er/data"
        )
        await sandbox.download("new/folders/here", tmp_path / "out")
        await sandbox.download("single", tmp_path / "parents/one")

    assert (ran.stdout.split(), ran.stderr) == (["ran", "ran", "ran", "640"], "")
    assert names(tmp_path / "out") == ["deep", "link"]
    assert (tmp_path / "out/deep/er/data").read_bytes() == b"\0\xff"
    assert stat.S_IMODE((tmp_path / "out/deep/er/data").stat().st_mode) == 0o640
    assert (tmp_path / "out/link").readlink() == Path("deep/er/data")
    assert (tmp_path / "parents/one").read_text().endswith("more\n")
    assert stat.S_IMODE((tmp_path / "parents/one").stat().st_mode) == 0o755


async def test_files_are_read_and_written_through_links_and_keep_their_modes(
    kind: str, tmp_path: Path
) -> None:
    async with started(kind) as sandbox:
        await sandbox.write("a/b.txt", b"\0one\xff", mode=0o750)
        await sandbox.exec("ln -s a/b.txt link; ln -s a folder; ln -s nowhere dangling")
        await sandbox.write("link", b"two")
        through = await sandbox.read("folder/b.txt")
        some = await sandbox.read("link", limit=2)
        facts = await sandbox.exec("stat -c '%a %F' a/b.txt link; stat -c %a a; echo x >>a/b.txt")
        await sandbox.write("plain", b"")
        plain = await sandbox.exec("stat -c '%a %s' plain")
        for path in ("not-there", "a/not/there"):
            with pytest.raises(FileNotFoundError):
                await sandbox.read(path)
        with pytest.raises(IsADirectoryError):
            await sandbox.read("folder")
        await sandbox.exec("ln -s loop loop")
        for path in ("loop", "plain/below"):
            with pytest.raises(WrongPath):
                await sandbox.read(path)
        with pytest.raises(WrongPath):
            await sandbox.upload(Path(__file__), "plain/below")
        with pytest.raises(FileNotFoundError):
            await sandbox.download("not-there", tmp_path / "never-written")

    assert (through, some) == (b"two", b"tw")
    assert facts.stdout.splitlines() == ["750 regular file", "777 symbolic link", "755"]
    assert (plain.stdout, facts.stderr) == ("644 0\n", "")
    assert names(tmp_path) == []


async def test_nothing_that_leads_out_comes_out(kind: str, tmp_path: Path) -> None:
    hostile = (
        "mkdir d && cd d && echo fine >fine && ln -s /etc/passwd absolute && ln -s ../.. up &&"
        " mkdir sub && ln -s .. sub/inside && ln -s sub/inside/../.. chained && mkfifo pipe &&"
        " ln fine hard && chmod 4755 hard"
    )
    (tmp_path / "home").mkdir()
    async with started(kind) as sandbox:
        made = await sandbox.exec(hostile)
        await sandbox.download("d", tmp_path / "home/out")

    out = tmp_path / "home/out"
    assert made.return_code == 0
    assert sorted(path.name for path in out.rglob("*")) == ["fine", "hard", "inside", "sub"]
    assert (out / "hard").read_text() == "fine\n"
    assert stat.S_IMODE((out / "hard").stat().st_mode) == 0o755
    assert names(tmp_path) == ["home"]


async def test_files_and_a_background_command_are_there_from_the_start(
    kind: str, tmp_path: Path
) -> None:
    (tmp_path / "input.txt").write_text("given")
    spec = SandboxSpec(
        workdir="/made/for/us",
        files={str(tmp_path / "input.txt"): "in/input.txt"},
        entrypoint="echo served >served; exec sleep 1000",
    )
    async with started(kind, spec) as sandbox:
        await asyncio.sleep(0.5)
        done = await sandbox.exec("cat in/input.txt served; touch writable && pwd")

    assert done.stdout == f"givenserved\n{sandbox.workdir}\n"
    assert sandbox.workdir.endswith("/made/for/us")


async def test_stopping_is_harmless_at_any_time_and_ends_all_use(kind: str) -> None:
    async with opened(kind) as backend:
        never = backend.create(SandboxSpec(), "never started")
        await never.stop()
        sandbox = backend.create(SandboxSpec(), "stopped twice")
        with pytest.raises(SandboxError, match="not"):
            await sandbox.exec("true")
        await sandbox.start()
        running = asyncio.create_task(sandbox.exec("sleep 600", 500))
        await asyncio.sleep(0.3)

        await sandbox.stop()
        await sandbox.stop()

        await asyncio.wait_for(asyncio.gather(running, return_exceptions=True), 10)
        for use in (sandbox.exec("true"), sandbox.read("x"), sandbox.write("x", b"")):
            with pytest.raises(SandboxError, match="stopped"):
                await use


async def test_a_cancelled_command_is_killed(kind: str) -> None:
    async with started(kind) as sandbox:
        task = asyncio.create_task(
            sandbox.exec("while :; do date +%N >alive; sleep 0.05; done", 500)
        )
        await asyncio.sleep(1)

        task.cancel()
        await asyncio.gather(task, return_exceptions=True)

        await asyncio.sleep(2.5)
        first = await sandbox.read("alive")
        await asyncio.sleep(0.3)
        second = await sandbox.read("alive")
    assert first == second


async def test_all_that_was_left_running_can_be_ended_and_files_stay(kind: str) -> None:
    async with started(kind) as sandbox:
        await sandbox.exec("(while :; do date >> log; sleep 0.05; done) >/dev/null 2>&1 &")
        await asyncio.sleep(0.3)
        ender = getattr(sandbox, "end_processes", None)
        assert ender is not None
        await ender()
        before = await sandbox.read("log")
        await asyncio.sleep(0.3)

        after = await sandbox.read("log")

    assert before == after != b""


async def test_a_sandbox_that_has_been_stopped_is_not_held_any_more(kind: str) -> None:
    async with opened(kind) as backend:
        sandbox = backend.create(SandboxSpec(), "a test's")
        await sandbox.start()
        await sandbox.stop()
        await sandbox.stop()
        held = weakref.ref(sandbox)
        del sandbox
        gc.collect()

        assert held() is None
