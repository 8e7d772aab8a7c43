"""``nel completion``: the scripts do complete, in the shells that are installed."""

import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_nel.cli.completion import SHELLS
from pytest_nel.cli.main import COMMANDS, main

ASK = """\
source {script}
complete -p nel
COMP_WORDS=({words}); COMP_CWORD=$((${{#COMP_WORDS[@]}} - 1))
_nel
echo "${{COMPREPLY[*]}}"
"""


@pytest.fixture
def script(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """The script for bash."""
    main(["completion", "bash"])
    file = tmp_path / "nel.bash"
    file.write_text(capsys.readouterr().out)
    return file


@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not installed")
@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("nel ev", "eval"),
        ("nel eval st", "status stop"),
        ("nel eval run --model-", "--model-url --model-id"),
        ("nel eval run -b ba", ""),
        ("nel eval resume --res", "--rescore"),
        ("nel gate a b --format ''", "text markdown json"),
        ("nel completion ''", "bash fish zsh"),
        ("nel list s", "sandboxes scorers services solvers"),
        ("nel report --for", "--format"),
        ("nel eval run --detached", ""),
    ],
)
def test_bash_completes(script: Path, words: str, completed: str) -> None:
    asked = ASK.format(script=script, words=words)

    done = subprocess.run(
        ["bash", "--norc", "-c", asked], capture_output=True, text=True, check=True
    )

    registered, answer = done.stdout.splitlines()
    assert registered.endswith("-F _nel nel")
    assert (answer, done.stderr) == (completed, "")


@pytest.mark.skipif(shutil.which("zsh") is None, reason="zsh is not installed")
def test_zsh_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "zsh"])
    (tmp_path / "nel.zsh").write_text(capsys.readouterr().out)
    asked = (
        f"autoload -Uz compinit; compinit -u -D; source {tmp_path}/nel.zsh; echo $_comps[nel]\n"
        "COMP_WORDS=(nel eval st); COMP_CWORD=2; emulate sh; _nel; echo ${COMPREPLY[@]}"
    )

    done = subprocess.run(["zsh", "-f", "-c", asked], capture_output=True, text=True, check=True)

    assert done.stdout.splitlines()[-1] == "status stop"


@pytest.mark.skipif(shutil.which("fish") is None, reason="fish is not installed")
def test_fish_completes(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["completion", "fish"])
    (tmp_path / "nel.fish").write_text(capsys.readouterr().out)
    asked = f"source {tmp_path}/nel.fish; complete -C 'nel eval st'"

    done = subprocess.run(["fish", "-N", "-c", asked], capture_output=True, text=True, check=True)

    assert [line.split("\t")[0] for line in done.stdout.splitlines()] == ["status", "stop"]


@pytest.mark.parametrize("shell", SHELLS)
def test_every_command_is_in_each_script(shell: str, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["completion", shell])

    said = capsys.readouterr().out
    assert status == 0
    assert [words for words in COMMANDS if words[-1] not in said] == []
    assert "detached-log" not in said
