"""The tools of a sandbox, against real processes and files."""

import os
import time
from pathlib import Path

import pytest

from pytest_nel.core.sandbox import SandboxError
from pytest_nel.solvers.tool_calling.sandbox_tools import SandboxTools
from pytest_nel.solvers.tool_calling.tools import Called
from tests.unit.solvers.process_sandbox import ProcessSandbox

pytestmark = pytest.mark.asyncio


@pytest.fixture
def tools(sandbox: ProcessSandbox) -> SandboxTools:
    return SandboxTools(sandbox, patience=20.0)


@pytest.fixture
def work(sandbox: ProcessSandbox) -> Path:
    return Path(sandbox.workdir)


async def bash(tools: SandboxTools, command: str) -> Called:
    return await tools.call("bash", {"command": command})


async def edit(tools: SandboxTools, command: str, path: str, **more: object) -> Called:
    return await tools.call("str_replace_editor", {"command": command, "path": path, **more})


async def test_folder_and_exported_variables_last(tools: SandboxTools, work: Path) -> None:
    await bash(tools, "mkdir -p 'a b/c'; cd 'a b/c'; export X=\"two\nlines 'and' \\$Y\"; local=1")
    await bash(tools, "unset GIVEN; export PATH=/opt/own:$PATH")

    said = await bash(tools, 'pwd; echo "$X|$local|$GIVEN|${PATH%%:*}"')

    assert said.content == f"{work}/a b/c\ntwo\nlines 'and' $Y|||/opt/own"


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("false", "[exit code 1]\n(no output)"),
        ("echo out; echo err >&2; exit 7", "[exit code 7]\nout\nSTDERR:\nerr"),
        ("set -e; false; echo never", "[exit code 1]\n(no output)"),
        ("set -euo pipefail; true | false | true; echo never", "[exit code 1]\n(no output)"),
        ("kill -9 $$", "[exit code 137]\n(no output)"),
        ("exec sh -c 'exit 4'", "[exit code 4]\n(no output)"),
        ("(exit 3)", "[exit code 3]\n(no output)"),
    ],
)
async def test_exit_codes_are_the_commands_own(
    tools: SandboxTools, command: str, content: str
) -> None:
    said = await bash(tools, command)

    assert said == Called(content, is_error=True)


@pytest.mark.parametrize(
    ("command", "content"),
    [
        ("cat <<'EOF'\n$HOME\nEOF", "$HOME"),
        ("cat <<EOF\nlast line is the end\nEOF\n", "last line is the end"),
        ("echo one # a comment", "one"),
        ("# a comment alone", "(no output)"),
        ("printf 'no newline'", "no newline"),
        ('cd /; printf %s "$PWD"', "/"),
        ("printf '\\377\\376ok'", "\ufffd\ufffdok"),
        ("echo 'it'\"'\"'s'", "it's"),
        ("cat; read line || echo nothing to read", "nothing to read"),
        ("echo $# $0", "0 bash"),
        ("trap 'echo bye' EXIT; echo hi", "hi\nbye"),
        ("set -C; echo a >f; cat f", "a"),
        ("if true\nthen\n  echo many lines\nfi", "many lines"),
    ],
)
async def test_commands_of_every_form_run(tools: SandboxTools, command: str, content: str) -> None:
    said = await bash(tools, command)

    assert said == Called(content)


async def test_a_syntax_error_is_told_and_the_shell_goes_on(tools: SandboxTools) -> None:
    await bash(tools, "export KEPT=yes")

    wrong = await bash(tools, "echo (")
    after = await bash(tools, "echo $KEPT")

    assert wrong.is_error
    assert "syntax error" in wrong.content
    assert after == Called("yes")


async def test_a_quote_without_its_end_is_told_in_one_line_and_what_was_done_before_counts(
    tools: SandboxTools,
) -> None:
    wrong = await bash(tools, "cd /usr\nexport KEPT=yes\necho 'never ends")
    after = await bash(tools, "echo $PWD $KEPT")

    assert wrong.content.startswith("[exit code 2]\nSTDERR:\n")
    assert len(wrong.content.splitlines()) == 3, wrong.content
    assert after == Called("/usr yes")


async def test_state_is_kept_by_commands_that_exit_or_trace(tools: SandboxTools) -> None:
    await bash(tools, "set -eux; cd /usr; export Z=1; exit 3")

    said = await bash(tools, "echo $PWD $Z")

    assert said == Called("/usr 1")


async def test_the_shell_leaves_nothing_where_it_works_and_no_trace_in_its_output(
    tools: SandboxTools, work: Path
) -> None:
    traced = await bash(tools, "set -x; true")
    trapped = await bash(tools, "set -x; exit 3")
    exported = await bash(tools, "set -a; A=1; set +a; env | grep -ci nel")

    assert traced.content == "STDERR:\n++ true"
    assert trapped.content == "[exit code 3]\nSTDERR:\n++ exit 3"
    assert exported.content == "[exit code 1]\n0"
    assert os.listdir(work) == []  # noqa: PTH208 - not blocking for long


async def test_what_runs_in_the_background_keeps_nobody_waiting(tools: SandboxTools) -> None:
    began = time.monotonic()

    trailing = await bash(tools, "sleep 5 &")
    both = await bash(tools, "(sleep 0.2; echo late >late.txt) & echo at once")
    waited = await bash(tools, "sleep 0.6; cat late.txt")

    assert time.monotonic() - began < 4
    assert (trailing.content, both.content, waited.content) == ("(no output)", "at once", "late")


async def test_at_the_time_limit_what_was_printed_is_told(sandbox: ProcessSandbox) -> None:
    tools = SandboxTools(sandbox, patience=0.5)
    await bash(tools, "export KEPT=1")

    said = await bash(tools, "cd /; echo so far; sleep 60")
    after = await bash(tools, 'echo "$KEPT"; pwd')

    ended = "[timed out after 0.5 s: it was ended with all that it had started]"
    assert said == Called(f"{ended}\nso far", is_error=True)
    assert after.content == f"1\n{sandbox.workdir}"


async def test_a_folder_that_is_gone_is_told(tools: SandboxTools, work: Path) -> None:
    await bash(tools, "mkdir gone; cd gone; rmdir ../gone")

    said = await bash(tools, "pwd")

    assert said.content.splitlines()[0] == str(work)
    assert "now in" in said.content


async def test_where_there_is_no_bash_a_plain_shell_does(
    sandbox: ProcessSandbox, tools: SandboxTools, tmp_path: Path
) -> None:
    programs = tmp_path / "bin"
    programs.mkdir()
    for name in ("cat", "mkdir", "mv", "sh"):
        (programs / name).symlink_to(Path("/bin", name))
    sandbox.env = {"PATH": str(programs)}
    await bash(tools, "mkdir d; cd d; export X='a b'; false")

    said = await bash(tools, "cat <<E\n$X ${BASH_VERSION:-plain}\nE\npwd")

    assert said.content == f"a b plain\n{sandbox.workdir}/d"


async def test_files_are_read_and_written_from_the_shells_folder(
    tools: SandboxTools, work: Path
) -> None:
    await bash(tools, "mkdir -p sub; cd sub")

    wrote = await tools.call("file_write", {"path": "new/$(x) é.txt", "content": "é\n"})
    read = await tools.call("file_read", {"path": "./new/../new/$(x) é.txt"})

    path = work / "sub/new/$(x) é.txt"
    assert wrote == Called(f"Written 3 bytes to {path}.")
    assert path.read_bytes() == b"\xc3\xa9\n"
    assert read == Called("é\n")


async def test_absolute_paths_need_no_look_at_the_shell(
    sandbox: ProcessSandbox, tools: SandboxTools, work: Path
) -> None:
    (work / "f").write_text("x")
    await bash(tools, "true")
    before = sandbox.commands

    await tools.call("file_read", {"path": str(work / "f")})

    assert sandbox.commands - before == 1


@pytest.mark.parametrize(
    ("path", "said"),
    [
        ("missing", "there is no such file"),
        ("folder", "it is a directory"),
        ("pipe", "it is no regular file"),
        ("large", "it has 1000001 bytes, too many"),
        ("a\0b", "a path cannot hold a NUL character"),
        ("", "path must not be empty"),
    ],
)
async def test_what_cannot_be_read_is_told(
    tools: SandboxTools, work: Path, path: str, said: str
) -> None:
    (work / "folder").mkdir()
    os.mkfifo(work / "pipe")
    (work / "large").write_bytes(b"x" * 1_000_001)

    got = await tools.call("file_read", {"path": path})

    assert got.is_error
    assert said in got.content


async def test_what_cannot_be_written_is_told_and_harms_nothing(
    tools: SandboxTools, work: Path
) -> None:
    (work / "file").write_text("x")

    below = await tools.call("file_write", {"path": "file/below", "content": "y"})
    folder = await tools.call("file_write", {"path": ".", "content": "y"})

    assert below.is_error
    assert folder.is_error
    assert "is a directory" in folder.content
    assert (work / "file").read_text() == "x"


@pytest.mark.parametrize(
    ("name", "arguments", "said"),
    [
        ("bash", {}, "command must be a string, got nothing"),
        ("bash", {"command": ["ls"]}, "command must be a string, got list"),
        ("bash", {"command": " "}, "No command provided."),
        ("bash", {"command": "a\0b"}, "A command cannot hold a NUL character."),
        ("file_write", {"path": "x"}, "content must be a string, got nothing"),
        ("str_replace_editor", {"path": "x"}, "command must be a string, got nothing"),
        ("str_replace_editor", {"command": "fly", "path": "x"}, "command must be one of view, "),
        (
            "str_replace_editor",
            {"command": "insert", "path": "x", "insert_line": "1", "new_str": ""},
            "insert_line must be a whole number, got '1'",
        ),
    ],
)
async def test_wrong_arguments_are_told(
    tools: SandboxTools, name: str, arguments: dict[str, object], said: str
) -> None:
    got = await tools.call(name, arguments)

    assert got.is_error
    assert got.content.startswith(said)


async def test_edits_keep_line_ends_modes_and_bytes_that_are_no_text(
    tools: SandboxTools, work: Path
) -> None:
    path = work / "run.sh"
    path.write_bytes(b"#!/bin/sh\r\necho \xff one\r\necho two\r\n")
    path.chmod(0o755)

    replaced = await edit(
        tools, "str_replace", "run.sh", old_str="one\necho two", new_str="1\necho 2\necho 3"
    )
    inserted = await edit(tools, "insert", "run.sh", insert_line=1, new_str="set -e")

    wanted = b"#!/bin/sh\r\nset -e\r\necho \xff 1\r\necho 2\r\necho 3\r\n"
    assert path.read_bytes() == wanted
    assert path.stat().st_mode & 0o777 == 0o755
    assert replaced.content == f"Written 37 bytes to {path}."
    assert inserted.content == f"Written {len(wanted)} bytes to {path}."


async def test_a_file_is_viewed_with_numbers_and_a_folder_two_levels_deep(
    tools: SandboxTools, work: Path
) -> None:
    (work / "f.txt").write_bytes(b"one\ntw\xffo\r\nthree")
    (work / "d/e/f").mkdir(parents=True)
    (work / "d/x").write_text("")
    (work / ".hidden/h").mkdir(parents=True)
    (work / "empty").mkdir()

    whole = await edit(tools, "view", "f.txt")
    part = await edit(tools, "view", "f.txt", view_range=[2, 99])
    none = await edit(tools, "view", "f.txt", view_range=[7, 9])
    folder = await edit(tools, "view", ".")
    empty = await edit(tools, "view", "empty")

    assert whole.content == "     1\tone\n     2\ttw\ufffdo\n     3\tthree"
    assert part.content == "     2\ttw\ufffdo\n     3\tthree"
    assert none == Called("view_range [7, 9] holds no line: the file has 3", is_error=True)
    assert folder.content.splitlines() == ["d/", "d/e/", "d/x", "empty/", "f.txt"]
    assert empty.content == "(an empty directory)"


async def test_edits_are_undone_one_by_one_down_to_no_file(tools: SandboxTools, work: Path) -> None:
    await edit(tools, "create", "f", new_str="one\n")
    await edit(tools, "str_replace", "f", old_str="one", new_str="two")
    await tools.call("file_write", {"path": str(work / "f"), "content": "three\n"})

    seen = []
    for _ in range(3):
        await edit(tools, "undo_edit", "f")
        seen.append((work / "f").read_text() if (work / "f").exists() else None)
    more = await edit(tools, "undo_edit", "f")

    assert seen == ["two\n", "one\n", None]
    assert more.is_error


async def test_an_edit_is_not_undone_over_what_something_else_has_written(
    tools: SandboxTools, work: Path
) -> None:
    await edit(tools, "create", "f", new_str="mine\n")
    await bash(tools, "echo other >f")

    undone = await edit(tools, "undo_edit", "f")

    assert undone.is_error
    assert (work / "f").read_text() == "other\n"


async def test_other_editors_names_of_the_new_text_are_understood(
    tools: SandboxTools, work: Path
) -> None:
    await edit(tools, "create", "f", file_text="a\nc\n")
    await edit(tools, "insert", "f", insert_line=1, insert_text="b")

    assert (work / "f").read_text() == "a\nb\nc\n"


async def test_a_sandbox_that_fails_is_no_outcome_of_a_call(
    sandbox: ProcessSandbox, tools: SandboxTools
) -> None:
    sandbox.broken = True

    with pytest.raises(SandboxError):
        await bash(tools, "true")
