"""What is taken out of an agent's sandbox: the commands themselves, run in a folder."""

import subprocess
import tarfile
from pathlib import Path

import pytest

from pytest_nel.engine.lifecycle import KEEP_BASE
from pytest_nel.environments._harbor_commands import capture_command

ME = "git config user.email a@example.com && git config user.name a"
BEGIN = f"git init -q -b main . && {ME} && echo one > kept && git add . && git commit -q -m base"
WORK = f"{ME}; echo two > made && git add . && git commit -q -m work"


@pytest.fixture
def box(tmp_path: Path) -> Path:
    """A folder with a workdir, a place for what is packed, and a TMPDIR that is not there yet."""
    for name in ("work", "output"):
        (tmp_path / name).mkdir()
    return tmp_path


def run(box: Path, command: str, *args: str) -> subprocess.CompletedProcess[str]:
    env = {"PATH": "/usr/bin:/bin", "HOME": str(box), "TMPDIR": str(box / "of-the-task")}
    command = command.replace("/output/", f"{box}/output/")
    words = ["/bin/sh", "-c", command, "sh", *args]
    return subprocess.run(
        words, cwd=box / "work", env=env, capture_output=True, text=True, check=False
    )


def patch(box: Path) -> str:
    with tarfile.open(box / "output" / "workspace.tar") as packed:
        member = packed.extractfile("./changes.patch")
        assert member is not None
        return member.read().decode()


@pytest.mark.parametrize("begin", [BEGIN, "git init -q -b main ."], ids=["commit", "no commit"])
def test_a_patch_has_what_the_agent_has_committed(box: Path, begin: str) -> None:
    assert run(box, begin).returncode == 0

    kept = run(box, KEEP_BASE)
    assert run(box, WORK).returncode == 0
    packed = run(box, capture_command(str(box / "work"), "patch"))

    assert (kept.returncode, packed.returncode) == (0, 0), packed.stderr
    assert "+two" in patch(box)
    assert "+one" not in patch(box)


def test_a_base_that_the_agent_has_removed_comes_back(box: Path) -> None:
    assert run(box, BEGIN).returncode == 0
    base = run(box, KEEP_BASE).stdout.strip()
    assert run(box, f'{WORK}; rm -rf "$TMPDIR"').returncode == 0

    again = run(box, KEEP_BASE, base)
    packed = run(box, capture_command(str(box / "work"), "patch"))

    assert again.stdout.strip() == base
    assert packed.returncode == 0, packed.stderr
    assert "+two" in patch(box)


def test_a_patch_of_nobody_knows_what_is_none(box: Path) -> None:
    assert run(box, f'{BEGIN} && mkdir -p "$TMPDIR"').returncode == 0

    packed = run(box, capture_command(str(box / "work"), "patch"))

    assert packed.returncode != 0
    assert "began from is not known" in packed.stderr
    assert not (box / "output" / "workspace.tar").exists()


UNRULY = {
    "color.ui": "always",
    "color.diff": "always",
    "core.attributesFile": ".git/attributes",
    "core.fileMode": "false",
    "diff.context": "0",
    "diff.external": "/bin/true",
    "diff.interHunkContext": "9",
    "diff.mnemonicPrefix": "true",
    "diff.mine.textconv": "rev",
    "diff.noprefix": "true",
    "diff.orderFile": "/nowhere",
    "diff.relative": "true",
    "diff.renames": "copies",
    "diff.submodule": "log",
    "diff.suppressBlankEmpty": "true",
    "diff.srcPrefix": "x/",
}


@pytest.mark.parametrize(
    "name", ["color.ui", "diff.external", "diff.noprefix", "diff.orderFile", "all of them"]
)
def test_what_a_patch_says_is_not_for_the_repositorys_config_to_choose(
    box: Path, name: str
) -> None:
    assert run(box, f"{BEGIN} && printf 'a\\n\\nb\\nc\\nd\\n' > long").returncode == 0
    run(box, f"{ME} && git add . && git commit -q -m more && echo '* diff=mine' > .git/attributes")
    base = run(box, KEEP_BASE).stdout.strip()
    work = "mv kept moved; printf 'a\\n\\nb\\nc\\nD\\n' > long; : > run.sh; chmod 755 run.sh"
    assert run(box, work).returncode == 0
    plain = run(box, capture_command(str(box / "work"), "patch"))
    wanted = patch(box)

    chosen = UNRULY if name not in UNRULY else {name: UNRULY[name]}
    run(box, "; ".join(f"git config {key} {value}" for key, value in chosen.items()))
    assert run(box, KEEP_BASE, base).returncode == 0
    unruly = run(box, capture_command(str(box / "work"), "patch"))

    assert (plain.returncode, unruly.returncode) == (0, 0), unruly.stderr
    assert "+D" in wanted
    assert "new file mode 100755" in wanted
    assert patch(box) == wanted


def test_what_the_agent_put_where_its_workspace_goes_makes_nobody_wait(box: Path) -> None:
    assert run(box, 'mkdir "$TMPDIR"; echo x > made; mkfifo /output/workspace.tar').returncode == 0

    packed = run(box, capture_command(str(box / "work"), "tree"))

    assert packed.returncode == 0, packed.stderr
    assert (box / "output" / "workspace.tar").is_file()
