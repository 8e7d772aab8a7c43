"""What containers are protected by, and what becomes of those that nobody needs any more."""

import asyncio
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from secrets import token_hex

import pytest

from pytest_nel.cli.main import main
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.sandbox import ExecResult, Sandbox, SandboxError, SandboxSpec
from pytest_nel.gate.verdict import Exit
from pytest_nel.sandboxes.leftovers import RUN as LABEL
from tests.contract.boxes import IMAGE, RUN, backend_of, client, no_image, opened, started
from tests.support.processes import until

pytestmark = pytest.mark.skipif("no_image() is not None", reason=str(no_image()))

_BOMB = "x = []\nwhile True: x.append(bytearray(10_000_000))"
_CAPABILITIES = "grep -E 'CapEff|CapBnd|NoNewPrivs' /proc/self/status"


def containers(label: str = f"{LABEL}={RUN}") -> list[str]:
    """Those there are of these tests, or with that label."""
    docker = client()
    try:  # as they are listed: to inspect each would wait for one on which the daemon hangs
        found = docker.api.containers(all=True, filters={"label": label})
        return [name.lstrip("/") for one in found for name in one["Names"]]
    finally:
        docker.close()


def removed_images(repository: str) -> list[str]:
    """The tags of its images, which are gone now."""
    docker = client()
    try:
        found = [tag for one in docker.images.list(repository) for tag in one.tags]
        tags = [tag for tag in found if tag.startswith(f"{repository}:")]
        for tag in tags:
            docker.images.remove(tag, force=True)
    finally:
        docker.close()
    return tags


async def once_there_is_room(sandbox: Sandbox, command: str) -> ExecResult:
    """What a command comes to that cannot be started for as long as others fill the sandbox."""
    done = await sandbox.exec(command)
    for _ in range(100):
        if done.return_code != 126:
            break
        await asyncio.sleep(0.2)
        done = await sandbox.exec(command)
    return done


@pytest.mark.asyncio
async def test_limits_hold_and_what_breaks_them_is_the_commands_own_end() -> None:
    async with started("docker", memory="64m", pids=30, cpus=0.5) as sandbox:
        rights = await sandbox.exec(f"id -u; {_CAPABILITIES}")
        network = await sandbox.exec(
            "cat /proc/net/dev | tail -n +3 | cut -d: -f1; python3 -c 'import socket;"
            ' socket.create_connection(("1.1.1.1", 53), 3)\''
        )
        memory = await sandbox.exec(["python3", "-c", _BOMB], 60)
        forks = await sandbox.exec(
            "for i in $(seq 60); do sleep 2 & done; ls -d /proc/[0-9]* | wc -l", 30
        )
        after = await once_there_is_room(sandbox, "echo fine")
        docker = client()
        try:
            host = docker.containers.get(sandbox.name).attrs["HostConfig"]
        finally:
            docker.close()

    assert rights.stdout.split() == [
        *("1000", "CapEff:", "0" * 16, "CapBnd:", "0" * 16, "NoNewPrivs:", "1")
    ]
    assert network.stdout.strip() == "lo"
    assert "Network is unreachable" in network.stderr
    assert memory.return_code == 137
    assert not memory.timed_out
    assert "fork" in forks.stderr
    assert after.stdout == "fine\n"
    assert host["MemorySwap"] == host["Memory"] == 64 * 2**20
    assert (host["NanoCpus"], host["Init"]) == (500_000_000, True)


@pytest.mark.asyncio
async def test_under_a_read_only_root_only_tmpfs_can_be_written(tmp_path: Path) -> None:
    (tmp_path / "in/deep").mkdir(parents=True)
    (tmp_path / "in/deep/run").write_text("#!/bin/sh\necho ran\n")
    (tmp_path / "in/deep/run").chmod(0o755)
    tmpfs = {"/scratch": "size=1m"}
    async with started("docker", read_only=True, tmpfs=tmpfs) as sandbox:
        tried = await sandbox.exec("touch /etc/x /root/x; touch here /tmp/there")
        full = await sandbox.exec("head -c 2000000 /dev/zero >/scratch/big")
        await sandbox.upload(tmp_path / "in", "in")
        await sandbox.write("in/deep/file", b"\0\xff", mode=0o600)
        ran = await sandbox.exec("in/deep/run; stat -c %a in/deep/file")
        read = await sandbox.read("in/deep/file")
        await sandbox.download("in", tmp_path / "out")
        with pytest.raises(FileNotFoundError):
            await sandbox.read("missing")
        with pytest.raises(IsADirectoryError):
            await sandbox.read("in")

    assert "/etc/x" in tried.stderr
    assert "here" not in tried.stderr
    assert "No space left" in full.stderr
    assert ran.stdout == "ran\n600\n"
    assert (read, (tmp_path / "out/deep/file").read_bytes()) == (b"\0\xff", b"\0\xff")
    assert os.access(tmp_path / "out/deep/run", os.X_OK)


@pytest.mark.asyncio
async def test_commands_have_the_rights_of_whom_the_problem_names() -> None:
    async with opened("docker", user="nobody") as backend:
        said = []
        for user in (None, "root", "33:44"):
            sandbox = backend.create(SandboxSpec(user=user), "users")
            await sandbox.start()
            await sandbox.write("file", b"x")
            done = await sandbox.exec("id -u; id -g; touch made; stat -c %u:%g file made .")
            said.append(done.stdout.split())
            other = await sandbox.exec("id -u", user="12")
            said.append(other.stdout.split())
            await sandbox.stop()
        unknown = backend.create(SandboxSpec(user="nobody-knows"), "users")
        with pytest.raises(SandboxError, match="no user 'nobody-knows'"):
            await unknown.start()

    assert said == [
        *(["65534", "65534", *["65534:65534"] * 3], ["12"]),
        *(["0", "0", *["0:0"] * 3], ["12"]),
        *(["33", "44", *["33:44"] * 3], ["12"]),
    ]
    assert containers() == []


@pytest.mark.asyncio
async def test_a_container_that_is_gone_is_a_fault_of_the_sandbox() -> None:
    async with started("docker") as sandbox:
        docker = client()
        try:
            docker.containers.get(sandbox.name).remove(force=True)
        finally:
            docker.close()

        with pytest.raises(SandboxError, match="No such container"):
            await sandbox.exec("true")
        with pytest.raises(SandboxError):
            await sandbox.read("file")
        with pytest.raises(SandboxError):
            await sandbox.write("file", b"")


@pytest.mark.asyncio
async def test_a_start_that_fails_or_is_cancelled_leaves_nothing(tmp_path: Path) -> None:
    async with opened("docker") as backend:
        missing = SandboxSpec(files={str(tmp_path / "missing"): "there"})
        with pytest.raises(SandboxError, match="missing"):
            await backend.create(missing, "no such file").start()
        for after in (0.02, 0.1, 0.2):
            sandbox = backend.create(SandboxSpec(), "cancelled")
            task = asyncio.create_task(sandbox.start())
            await asyncio.sleep(after)
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)
            if not task.cancelled():  # it was faster
                await sandbox.stop()
        for _ in range(100):  # a call to the daemon that has begun is not cancelled
            await asyncio.sleep(0.2)
            if not containers():
                break

        assert containers() == []


@pytest.mark.asyncio
async def test_images_are_had_once_and_what_cannot_be_had_is_said_before(tmp_path: Path) -> None:
    name = f"my-task-{token_hex(4)}"  # its image is nobody else's to remove
    folder = tmp_path / name.replace("my-task", "My Task")
    folder.mkdir()
    (folder / "Dockerfile").write_text(
        f"FROM {IMAGE}\nCOPY given /given\nENV SET=1\nLABEL of={name}\n"
        'USER nobody\nENTRYPOINT ["false"]\n'
    )
    (folder / "given").write_text("from the folder")
    broken = tmp_path / "broken"
    broken.mkdir()
    (broken / "Dockerfile").write_text(f"FROM {IMAGE}\nRUN echo before it broke; exit 9\n")
    spec = SandboxSpec(environment_dir=str(folder))
    async with opened("docker") as backend:
        await backend.prepare([spec, spec, SandboxSpec()])
        sandbox = backend.create(spec, "built")
        await sandbox.start()
        done = await sandbox.exec("cat /given; echo; id -u; echo $SET")
        await sandbox.stop()
        tags = removed_images(f"nel-env/{name}")
        with pytest.raises(ConfigError, match="before it broke"):
            await backend.prepare([SandboxSpec(environment_dir=str(broken))])
        with pytest.raises(ConfigError, match=r"image 'nel-no-such:1'.*cannot be pulled"):
            await backend.prepare([SandboxSpec(image="nel-no-such:1")])
        with pytest.raises(SandboxError, match="cannot be pulled"):
            await backend.create(SandboxSpec(image="nel-no-such:1"), "late").start()
        with pytest.raises(ConfigError, match="network: bridge"):
            await backend.prepare([SandboxSpec(network="bridge")])

    assert done.stdout == "from the folder\n65534\n1\n"
    assert len(tags) == 1
    assert len(tags[0].partition(":")[2]) == 12


@pytest.mark.asyncio
async def test_a_server_of_this_machine_is_reached_only_where_there_is_a_network() -> None:
    url = "http://me:pw@127.0.0.1:8000/v1?x=1"
    async with started("docker", SandboxSpec(), network="bridge") as sandbox:
        resolved = sandbox.resolve_outside_endpoint(url)
        host = await sandbox.exec("grep host.docker.internal /etc/hosts")
    async with started("docker") as alone:
        with pytest.raises(SandboxError, match=r"no network.*reaches 127.0.0.1.*network: bridge"):
            alone.resolve_outside_endpoint(url)

    assert resolved == "http://me:pw@host.docker.internal:8000/v1?x=1"
    assert host.return_code == 0


_OWNER = """
import asyncio, sys
sys.path.insert(0, {tests!r})
from tests.contract.boxes import backend_of
from pytest_nel.core.sandbox import SandboxSpec
async def hold():
    backend = backend_of("docker")
    await backend.open()
    sandbox = backend.create(SandboxSpec(), "of one that dies")
    await sandbox.start()
    print(sandbox.name, flush=True)
    await sandbox.exec("sleep 600", 600)
asyncio.new_event_loop().run_until_complete(hold())
"""


def test_kill_9_leaves_a_container_that_pruning_or_the_next_run_removes(
    capsys: pytest.CaptureFixture[str],
) -> None:
    script = _OWNER.format(tests=str(Path(__file__).parent))
    names = []
    for _ in range(2):
        with subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE) as process:
            assert process.stdout is not None
            names.append(process.stdout.readline().decode().strip())
            assert main(["sandbox", "prune", "--dry-run", "--json"]) == 0
            living = json.loads(capsys.readouterr().out)
            process.send_signal(signal.SIGKILL)
        assert names[-1] not in [one["name"] for one in living]
        if len(names) == 1:
            assert main(["sandbox", "prune", "--dry-run"]) == 0
            assert names[0] in capsys.readouterr().out
            assert names[0] in containers(LABEL)
            status = main(["sandbox", "prune", "--json"])
            said = capsys.readouterr()
            others = "hangs on the sandbox" in said.err  # and not on this one
            assert names[0] not in said.err
            assert status == (Exit.INCOMPLETE if others else Exit.GO)
            pruned = json.loads(said.out)
            runs = {one["name"]: one["run"] for one in pruned}
            # A run of another worker may be faster with it: then it is gone all the same.
            assert runs.get(names[0], "contract").startswith("contract")
            assert until(lambda: names[0] not in containers(LABEL), 30)
    assert names[1] in containers(LABEL)

    with asyncio.Runner() as runner:
        runner.run(_opened_and_closed())

    assert until(lambda: not set(names) & set(containers(LABEL)), 30)


async def _opened_and_closed() -> None:
    backend = backend_of("docker")
    await backend.open()
    await backend.close()


@pytest.mark.asyncio
async def test_closing_removes_what_was_never_stopped() -> None:
    async with opened("docker") as backend:
        for _ in range(2):
            await backend.create(SandboxSpec(), "forgotten").start()
        there = len(containers())

    assert (there, containers()) == (2, [])


@pytest.mark.asyncio
async def test_eight_at_a_time_start_and_answer_soon() -> None:
    async with opened("docker", concurrency=8) as backend:
        began = time.monotonic()
        made = [backend.create(SandboxSpec(), str(at)) for at in range(8)]
        await asyncio.gather(*(one.start() for one in made))
        done = await asyncio.gather(*(one.exec("cat /etc/hostname") for one in made))
        took = time.monotonic() - began

    assert len({one.stdout for one in done}) == 8
    assert took < 60
