"""Whose fault it is when a command in a container ends badly, and what a container may use."""

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.core.sandbox import SandboxError, SandboxSpec, WrongPath
from pytest_nel.core.types import AttemptKey
from pytest_nel.engine.artifacts import Artifacts
from tests.contract.boxes import client, no_image, opened, started

pytestmark = pytest.mark.skipif("no_image() is not None", reason=str(no_image()))

_PACK = "tar -cf /output/workspace.tar ."


@pytest.mark.asyncio
async def test_a_container_that_is_killed_is_no_commands_fault() -> None:
    docker = client()
    try:
        async with started("docker") as sandbox:
            running = asyncio.create_task(sandbox.exec("sleep 60"))
            await asyncio.sleep(1)
            await asyncio.to_thread(docker.api.kill, sandbox.name)

            with pytest.raises(SandboxError, match="ended from outside") as raised:
                await running
    finally:
        docker.close()

    assert raised.value.retryable


@pytest.mark.asyncio
async def test_what_a_command_says_of_its_end_is_its_own() -> None:
    async with started("docker") as sandbox:
        forged = await sandbox.exec("echo OCI runtime exec failed: no luck; exit 126")
        killed = await sandbox.exec("kill -9 $$")
        missing = await sandbox.exec(["/nowhere/program"])
        folder = await sandbox.exec("true", cwd="/nowhere")

    assert (forged.return_code, killed.return_code) == (126, 137)
    assert missing.return_code in {126, 127}
    assert folder.return_code in {126, 127}


@pytest.mark.asyncio
async def test_no_command_ends_its_container_not_even_with_the_rights_of_root() -> None:
    async with started("docker", user="root") as sandbox:
        await sandbox.exec("for pid in $(seq 1 40); do [ $pid = $$ ] || kill -9 $pid; done")
        await sandbox.exec("kill -TERM -1; kill -KILL -1")

        after = await sandbox.exec("id -u")

    assert after.stdout == "0\n"


@pytest.mark.asyncio
async def test_a_restart_that_ends_what_runs_inside_is_no_fault_of_the_sandbox() -> None:
    async with started("docker") as sandbox:
        beside = asyncio.create_task(sandbox.exec("sleep 50", 60))
        await asyncio.sleep(1)
        ender = getattr(sandbox, "end_processes", None)
        assert ender is not None
        await ender()
        done = await beside
        after = await sandbox.exec("echo fine")

    assert (done.return_code, done.timed_out, after.stdout) == (137, False, "fine\n")


@pytest.mark.asyncio
async def test_after_a_command_that_ends_the_container_by_its_use_of_memory_others_run() -> None:
    first_to_go = "for one in /proc/[0-9]*; do echo 1000 > $one/oom_score_adj; done"
    spec, tmpfs = SandboxSpec(entrypoint="sleep 1234"), {"/scratch": ""}
    async with started("docker", spec, memory="32m", tmpfs=tmpfs) as sandbox:
        await sandbox.write("kept", b"kept\n")
        await sandbox.exec(first_to_go, user="root")
        full = await sandbox.exec("head -c 100m /dev/zero > /scratch/x", 60)
        after = await asyncio.gather(*(sandbox.exec("cat kept; ls /scratch") for _ in range(3)))
        beside = await sandbox.exec("cat /proc/[0-9]*/cmdline")

    assert full.return_code == 137
    assert [(one.return_code, one.stdout) for one in after] == [(0, "kept\n")] * 3
    assert "sleep\x001234" in beside.stdout


@pytest.mark.parametrize("options", [{}, {"tmpfs": {"/workspace": ""}}], ids=["disk", "tmpfs"])
@pytest.mark.asyncio
async def test_a_workspace_is_packed_when_all_that_was_left_running_has_ended(
    tmp_path: Path, options: dict[str, Any]
) -> None:
    logs = "(while :; do date >> log; head -c 90000 /dev/zero >> data; done) >/dev/null 2>&1 &"
    fills = "for i in $(seq 60); do sleep 600 >/dev/null 2>&1 & done"
    docker = client()
    try:
        async with started("docker", pids=50, **options) as sandbox:
            await sandbox.exec(logs)
            await sandbox.exec(fills)
            ender = getattr(sandbox, "end_processes", None)
            assert ender is not None
            await ender()
            left = docker.api.top(sandbox.name)["Processes"]

            kept = await Artifacts(tmp_path).capture(
                sandbox, "/workspace", _PACK, AttemptKey("b", 0, 0)
            )
    finally:
        docker.close()

    # What keeps it up alone: the init, and what that starts, should it have come to it yet.
    assert 1 <= len(left) <= 2
    assert all(row[-1].endswith("sleep 2147483647") for row in left)
    assert kept["bytes"] > 90_000


_PIPES = (
    # Should the daemon open them, it goes on before the container has to be started anew.
    "(sleep 8; exec 3<>/etc/passwd 4<>/etc/group; rm /etc/passwd /etc/group; sleep 1) "
    ">/dev/null 2>&1 & "
    "rm /etc/passwd /etc/group && mkfifo /etc/group /etc/pipe && ln -s pipe /etc/passwd"
)


@pytest.mark.asyncio
async def test_pipes_in_place_of_the_files_of_users_keep_nobody_waiting() -> None:
    async with started("docker", user="root") as sandbox:
        made = await sandbox.exec(_PIPES)
        began = asyncio.get_running_loop().time()
        after = await sandbox.exec("id -u; cat /etc/passwd", 30)
        seconds = asyncio.get_running_loop().time() - began

    assert made.return_code == 0
    assert after.stdout == "0\nroot:x:0:0:root:/root:/bin/sh\n"
    assert seconds < 7


@pytest.mark.asyncio
async def test_pipes_that_a_command_leaves_there_keep_nobody_who_reads_waiting(
    tmp_path: Path,
) -> None:
    async with started("docker", user="root") as sandbox:
        await sandbox.exec("mkdir folder; echo 1 > folder/reward.txt")
        await sandbox.exec(_PIPES)
        began = asyncio.get_running_loop().time()
        said = await sandbox.read("folder/reward.txt", limit=100)
        await sandbox.exec(_PIPES)
        await sandbox.download("folder", tmp_path / "folder")
        seconds = asyncio.get_running_loop().time() - began

    assert said == b"1\n"
    assert (tmp_path / "folder" / "reward.txt").read_bytes() == b"1\n"
    assert seconds < 7


_LOST = {
    "a link to itself": ("ln -s it it", "it"),
    "links in a ring": ("ln -s b a; ln -s a b", "a"),
    "below a link to itself": ("ln -s in in", "in/deep/it"),
    "a file for a folder": ("echo x > in", "in/deep/it"),
    "a link through a file": ("echo x > in; ln -s in/deep it", "it"),
    "a name without an end": (f"ln -s {'x' * 300} it", "it"),
}
_GONE = {"nothing": ("true", "it"), "no folder": ("true", "in/it"), "a link": ("ln -s no it", "it")}


@pytest.mark.parametrize("options", [{}, {"read_only": True}, {"tmpfs": {"/workspace": ""}}])
@pytest.mark.asyncio
async def test_a_path_that_leads_nowhere_is_not_taken_for_no_file(options: dict[str, Any]) -> None:
    found: dict[str, type[BaseException] | None] = {}

    async with started("docker", **options) as sandbox:
        for name, (script, path) in {**_LOST, **_GONE}.items():
            folder = name.replace(" ", "-")
            made = await sandbox.exec(
                f"mkdir /workspace/{folder}; cd /workspace/{folder}; {script}"
            )
            assert made.return_code == 0, made.stderr
            try:
                await sandbox.read(f"/workspace/{folder}/{path}", limit=100)
            except OSError as error:
                found[name] = type(error)

    assert found == dict.fromkeys(_LOST, WrongPath) | dict.fromkeys(_GONE, FileNotFoundError)


@pytest.mark.asyncio
async def test_what_reads_a_file_in_memory_and_is_not_there_says_nothing_of_the_path() -> None:
    async with started("docker", user="root", tmpfs={"/scratch": ""}) as sandbox:
        await sandbox.exec("echo x > /scratch/it; rm $(command -v head)")

        for name in ("it", "nothing"):
            with pytest.raises(SandboxError, match=f"read /scratch/{name}"):
                await sandbox.read(f"/scratch/{name}", limit=100)


@pytest.mark.asyncio
async def test_a_file_in_memory_that_cannot_be_read_is_no_fault_of_the_sandbox() -> None:
    async with started("docker", tmpfs={"/scratch": ""}) as sandbox:
        await sandbox.exec("cd /scratch; mkfifo pipe; echo x > hidden; chmod 000 hidden")
        nothing = await sandbox.read("/scratch/pipe", limit=100)
        with pytest.raises(WrongPath, match="hidden"):
            await sandbox.read("/scratch/hidden", limit=100)

    assert nothing == b""


@pytest.mark.parametrize("change", ["sed -i s/root:x:0/root:x:1000/ /etc/passwd", "rm /etc/passwd"])
@pytest.mark.asyncio
async def test_root_is_root_whatever_it_makes_of_its_name(change: str) -> None:
    async with started("docker", user="root") as sandbox:
        changed = await sandbox.exec(change)
        own = await sandbox.exec("id -u")
        named = await sandbox.exec("id -u", user="root")

    assert changed.return_code == 0
    assert (own.stdout, named.stdout) == ("0\n", "0\n")


@pytest.mark.asyncio
async def test_a_file_of_users_that_cannot_be_read_is_a_commands_own_fault() -> None:
    async with started("docker", user="root") as sandbox:
        await sandbox.exec("head -c 100000 /dev/zero | tr '\\0' x > /etc/passwd")

        after = await sandbox.exec("true")

    assert after.return_code in {126, 127}


@pytest.mark.asyncio
async def test_a_pipe_in_place_of_the_packed_workspace_keeps_nobody_waiting(tmp_path: Path) -> None:
    async with started("docker") as sandbox:
        await sandbox.exec("mkdir -p /output; mkfifo /output/workspace.tar", user="root")
        began = asyncio.get_running_loop().time()

        kept = await asyncio.wait_for(
            Artifacts(tmp_path).capture(sandbox, "/workspace", _PACK, AttemptKey("b", 0, 0)), 60
        )
        seconds = asyncio.get_running_loop().time() - began

    assert kept["bytes"] > 0
    assert seconds < 20


@pytest.mark.asyncio
async def test_a_file_has_a_size_at_most() -> None:
    async with started("docker", file_size="1m") as sandbox:
        done = await sandbox.exec("head -c 5000000 /dev/zero > big; echo $?; wc -c < big")

    assert done.stdout.split() == ["153", str(2**20)]


@pytest.mark.asyncio
async def test_a_limit_of_the_disk_holds_or_is_refused_with_the_daemons_reason() -> None:
    async with opened("docker", disk="20m") as backend:
        try:
            await backend.prepare([SandboxSpec()])
        except ConfigError as error:
            assert "cannot limit a container's disk" in str(error)  # noqa: PT017 - of two outcomes
            return
        sandbox = backend.create(SandboxSpec(), "a test's")
        await sandbox.start()
        done = await sandbox.exec("head -c 60000000 /dev/zero > big")
        await sandbox.stop()

    assert done.return_code != 0


@pytest.mark.asyncio
async def test_a_network_that_is_refused_is_an_attempts_own_trouble() -> None:
    async with opened("docker") as backend:
        with pytest.raises(SandboxError, match="asks for network 'bridge'"):
            backend.create(SandboxSpec(network="bridge"), "a test's")


@pytest.mark.asyncio
@pytest.mark.parametrize("platform", ["linux/s390x", "foo/bar"])
async def test_a_platform_that_an_image_is_not_of_is_refused_before_the_run(platform: str) -> None:
    async with opened("docker", platform=platform) as backend:
        with pytest.raises(ConfigError, match=f"platform: {platform}: no container of .* can be"):
            await backend.prepare([SandboxSpec()])
