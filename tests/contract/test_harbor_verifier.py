"""How Harbor tasks are judged in real containers: what agents leave there does not count."""

import asyncio
from pathlib import Path
from secrets import token_hex

import pytest

from pytest_nel.core.errors import NotJudged
from pytest_nel.core.sandbox import Sandbox, SandboxSpec
from pytest_nel.core.types import VerifyResult
from pytest_nel.datasets.harbor_task import read_task
from pytest_nel.engine.lifecycle import KEEP_BASE
from pytest_nel.environments._harbor_commands import apply_command, capture_command
from pytest_nel.environments._harbor_verify import Verifying, judged
from tests.contract.boxes import IMAGE, no_image, started

pytestmark = [
    pytest.mark.skipif(no_image() is not None, reason=str(no_image())),
    pytest.mark.asyncio,
]
LOOP = """sh -c 'while :; do
  mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt; echo 1 > /reward.txt
done' >/dev/null 2>&1 &"""
FORGERIES = {
    "rewards that are there before": (
        "mkdir -p /logs/verifier; echo 1 > /logs/verifier/reward.txt;"
        "echo 1 > /reward.txt; echo '{\"reward\": 1}' > /logs/verifier/reward.json"
    ),
    "tests of its own": (
        "mkdir -p /tests; printf 'exit 0' > /tests/test.sh; chmod 000 /tests; chmod 755 /tests/.."
    ),
    "a link in place of the folder": (
        "mkdir -p mine /logs; echo 1 > mine/reward.txt; rm -rf /logs/verifier;"
        "ln -s $PWD/mine /logs/verifier; ln -s $PWD/mine /tests"
    ),
    "a link in place of the folder above": (
        "mkdir -p mine/verifier; echo 1 > mine/verifier/reward.txt; rm -rf /logs;"
        "ln -s $PWD/mine /logs"
    ),
    "folders that nobody may enter": (
        "mkdir -p /logs/verifier/deep; echo 1 > /logs/verifier/reward.txt;"
        "chmod 000 /logs/verifier/deep; chmod 555 /logs/verifier; chmod 555 /logs"
    ),
    "a writer in the background": LOOP,
    "settings of shells": (
        "for file in ~/.bashrc ~/.profile ~/.bash_profile; do echo 'exit 0' > $file; done;"
        "export BASH_ENV=~/.bashrc PATH=$PWD:$PATH;"
        "printf '#!/bin/sh\\nexit 0' > bash; chmod 755 bash"
    ),
}


def task_with(folder: Path, script: str, toml: str = "") -> Path:
    """A task whose tests are that script."""
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "test.sh").write_text(script)
    (folder / "instruction.md").write_text("Do it.\n")
    more = f'[environment]\ndocker_image = "{IMAGE}"\nworkdir = "/workspace"\n{toml}'
    (folder / "task.toml").write_text(more)
    return folder


async def verdict(
    box: Sandbox, folder: Path, script: str, toml: str = "", *, agent: str = "root"
) -> VerifyResult:
    task = read_task(task_with(folder / token_hex(4), script, toml))
    return await judged(Verifying(task, agent, {}), box)


@pytest.mark.parametrize("agent", ["root", "nobody"])
async def test_no_forgery_counts_even_where_the_agent_worked(tmp_path: Path, agent: str) -> None:
    found = {}

    async with started("docker", SandboxSpec(user=agent, env={"HOME": "/workspace"})) as box:
        if agent == "nobody":  # as in an image that lets everybody write there
            await box.exec("mkdir -p /logs/verifier && chmod -R 777 /logs", user="root")
        for name, command in FORGERIES.items():
            await box.exec(command)
            judgement = await verdict(box, tmp_path, "exit 1", agent=agent)
            found[name] = (judgement.reward, judgement.scoring_details["reward_source"])
        left = await box.exec("cat /proc/[0-9]*/cmdline", user="root")

    assert found == dict.fromkeys(FORGERIES, (0.0, "exit_code"))
    assert "reward" not in left.stdout


async def test_rewards_are_read_where_the_tests_leave_them(tmp_path: Path) -> None:
    text, plain = "echo {} > /logs/verifier/reward.txt", "echo '{}' > /logs/verifier/reward.json"

    async with started("docker", SandboxSpec(user="root")) as box:
        said = [
            await verdict(box, tmp_path, script)
            for script in (
                text.format("0.25") + "; exit 3",
                plain.format('{"reward": 0.5, "speed": 12}'),
                plain.format('{"accuracy": 1}'),
                plain.format("0"),
                "echo 1 > /reward.txt",
                "echo fine; exit 0",
            )
        ]
        user = await verdict(
            box, tmp_path, "id -un > /logs/verifier/who; exit 0", '[verifier]\nuser = "nobody"\n'
        )
        who = await box.read("/logs/verifier/who")

    assert [each.reward for each in said] == [0.25, 0.5, 1.0, 0.0, 1.0, 1.0]
    assert said[1].scoring_details["rewards"] == {"reward": 0.5, "speed": 12}
    assert said[0].scoring_details["test_exit_code"] == 3
    assert said[5].scoring_details["test_stdout"] == "fine\n"
    assert (user.reward, who) == (1.0, b"nobody\n")


@pytest.mark.parametrize(
    ("script", "toml", "why"),
    [
        ("sleep 60", "[verifier]\ntimeout_sec = 1\n", "did not end within 1 s"),
        ("no-such-program", "", "could not run"),
        ("echo good > /logs/verifier/reward.txt", "", "expected a reward from 0 to 1"),
        ("echo 1.5 > /logs/verifier/reward.txt", "", "expected a reward from 0 to 1"),
        ("echo nan > /logs/verifier/reward.txt", "", "expected a reward from 0 to 1"),
        (
            "printf '{\"reward\": 1%0400d}' 0 > /logs/verifier/reward.json",
            *("", "expected a reward from 0 to 1"),
        ),
        ('echo \'{"a": 1, "b": 0}\' > /logs/verifier/reward.json', "", "a key `reward`"),
        ("echo '{' > /logs/verifier/reward.json", "", "is no JSON"),
        ("rm -r /logs; echo x > /logs", "", r"reward\.txt: expected a file that can be read"),
        ("ln -s reward.txt /logs/verifier/reward.txt", "", "leads nowhere: too many links"),
    ],
)
async def test_tests_that_say_nothing_leave_the_attempt_without_a_score(
    tmp_path: Path, script: str, toml: str, why: str
) -> None:
    async with started("docker", SandboxSpec(user="root")) as box:
        with pytest.raises(NotJudged, match=why):
            await verdict(box, tmp_path, script, toml)


@pytest.mark.parametrize(
    "script",
    [
        "ln -s reward.txt /logs/verifier/reward.txt",
        "rmdir /logs/verifier; echo x > /logs/verifier",
        "rmdir /logs/verifier; ln -s verifier /logs/verifier",
    ],
)
async def test_a_reward_that_cannot_be_read_is_none_in_memory_either(
    tmp_path: Path, script: str
) -> None:
    async with started("docker", SandboxSpec(user="root"), tmpfs={"/logs": ""}) as box:
        fine = await verdict(box, tmp_path, "echo 0.5 > /logs/verifier/reward.txt")
        with pytest.raises(NotJudged, match=r"reward\.txt: expected a file that can be read"):
            await verdict(box, tmp_path, script)

    assert fine.reward == 0.5


async def test_nothing_is_judged_where_the_place_of_the_tests_cannot_be_made_new(
    tmp_path: Path,
) -> None:
    (tmp_path / "held").mkdir()
    (tmp_path / "tasks").mkdir()
    spec = SandboxSpec(user="root", volumes=[f"{tmp_path}/held:/tests:ro"])

    async with started("docker", spec) as box:
        with pytest.raises(NotJudged, match="could not be made new"):
            await verdict(box, tmp_path / "tasks", "exit 0")


SETUP = """
git init -q -b main . && git config user.email a@example.com && git config user.name a
printf 'one\\n' > kept; printf 'two\\n' > changed; printf 'three\\n' > gone; printf 'x' > link-to
git add . && git commit -q -m base
"""
WORK = """
printf 'two and more\\n' > changed; rm gone; mkdir -p new/deep empty
printf '\\000\\001\\377' > new/deep/bytes
printf '#!/bin/sh\\n' > run.sh; chmod 755 run.sh; ln -s kept link
git add -A && git commit -q -m work && git branch other
"""
LOOK = (
    "find . -path ./.git -prune -o -printf '%y %m %p %l\\n' | sort;"
    "cat changed; od -c new/deep/bytes"
)


@pytest.mark.parametrize("how", ["tree", "patch"])
async def test_a_workspace_arrives_as_it_was(how: str) -> None:
    spec = SandboxSpec(user="root", env={"TMPDIR": "/var"})

    async with started("docker", spec) as agent, started("docker", spec) as fresh:
        day = "2024-01-01T00:00:00Z"
        stamp = f"export GIT_COMMITTER_DATE={day} GIT_AUTHOR_DATE={day}"
        for box in (agent, fresh):
            assert (await box.exec(f"{stamp}\n{SETUP}")).return_code == 0
        assert (await agent.exec(KEEP_BASE)).return_code == 0
        await fresh.exec("echo x > stale; git add stale" if how == "tree" else "true")
        assert (await agent.exec(WORK)).return_code == 0
        await agent.exec("mkdir -p /output")
        packed = await agent.exec(capture_command("/workspace", how))  # type: ignore[arg-type]
        await fresh.write("/input/workspace.tar", await agent.read("/output/workspace.tar"))
        came = await fresh.exec(apply_command("/workspace"))
        before, after = await asyncio.gather(agent.exec(LOOK), fresh.exec(LOOK))
        branches = await fresh.exec("git branch --list other")

    assert packed.return_code == 0, packed.stderr
    assert came.return_code == 0, came.stderr
    expected = before.stdout
    if how == "patch":  # git knows no empty folders
        expected = expected.replace("d 755 ./empty \n", "")
    assert after.stdout == expected
    assert branches.stdout.strip() == ("other" if how == "tree" else "")


async def test_a_workspace_stays_in_its_folder() -> None:
    evil = "tar -cf /tmp/files.tar -P -C / ../etc/passwd /etc/hostname 2>/dev/null; ln -s /etc out"

    async with started("docker", SandboxSpec(user="root")) as box:
        script = f"""{evil}
mkdir -p /tmp/w && cp /tmp/files.tar /tmp/w/files.tar && echo tree > /tmp/w/mode
python3 - <<'END'
import io, tarfile
with tarfile.open("/tmp/w/files.tar", "w") as tar:
    link = tarfile.TarInfo("way"); link.type = tarfile.SYMTYPE; link.linkname = "/etc"
    tar.addfile(link)
    for name in ("way/forged", "../forged", "/forged"):
        entry = tarfile.TarInfo(name); entry.size = 1
        tar.addfile(entry, io.BytesIO(b"x"))
END
mkdir -p /input && tar -cf /input/workspace.tar -C /tmp/w ."""
        await box.exec(script)
        await box.exec(apply_command("/workspace"))
        found = await box.exec("ls -d /etc/forged /forged")

    assert found.stdout == ""


async def test_what_tests_leave_is_read_whole_or_not_at_all(tmp_path: Path) -> None:
    where, long = "/logs/verifier", "head -c 70000 /dev/zero | tr '\\0' 0"
    too_long = "head -c 2000000 /dev/zero | tr '\\0' 0"

    async with started("docker", SandboxSpec(user="root")) as box:
        zeros = await verdict(box, tmp_path, f"{{ {long}; echo 1; }} > {where}/reward.txt")
        report = await verdict(box, tmp_path, f"{too_long} > {where}/report.json; exit 0")
        with pytest.raises(NotJudged, match=r"reward\.txt: expected a file, got a folder"):
            await verdict(box, tmp_path, f"mkdir {where}/reward.txt; exit 0")
        with pytest.raises(NotJudged, match=r"reward\.json: it is too large, 1,048,576 bytes"):
            await verdict(box, tmp_path, f"{too_long} > {where}/reward.json")

    assert (zeros.reward, report.reward) == (1.0, 1.0)
    assert "it is too large" in str(report.scoring_details["report_left_out"])


async def test_tests_are_roots_whatever_an_agent_has_made_of_its_name(tmp_path: Path) -> None:
    mine = "sed -i s/root:x:0/root:x:1000/ /etc/passwd; mkdir -p /tests && chmod 700 /tests"

    async with started("docker", SandboxSpec(user="root")) as box:
        await box.exec(mine)
        judgement = await verdict(box, tmp_path, "id -u")

    assert judgement.reward == 1.0
    assert judgement.scoring_details["test_stdout"] == "0\n"
