"""Ctrl-C at any moment, also while a command is imported, and output that nobody reads."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[3]
BREAKS = """\
import builtins, sys
from pytest_nel.cli.main import main

class Finder:
    def find_spec(self, name, path=None, target=None):
        if name == {module!r}:
            raise KeyboardInterrupt
sys.meta_path.insert(0, Finder())
sys.exit(main({words!r}))
"""


def python(*words: str) -> subprocess.CompletedProcess[str]:
    path = os.pathsep.join(filter(None, [str(ROOT), os.environ.get("PYTHONPATH")]))
    return subprocess.run(
        [sys.executable, *words],
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, "PYTHONPATH": path},
    )


@pytest.mark.parametrize(
    ("words", "module", "status"),
    [
        (["gate", "a", "b", "-p", "p"], "argparse", 130),
        (["gate", "a", "b", "-p", "p"], "pytest_nel.records.sides", 130),
        (["eval", "status"], "pytest_nel.cluster.progress", 130),
        (["eval", "run", "-b", "basics"], "pytest", 2),
        (["eval", "resume"], "pytest_nel.hooks.options", 2),
    ],
)
def test_ctrl_c_while_a_command_is_imported_is_one_line(
    words: list[str], module: str, status: int
) -> None:
    done = python("-c", BREAKS.format(module=module, words=words))

    assert (done.returncode, done.stderr, done.stdout) == (status, "nel: interrupted\n", "")


def test_help_imports_nothing_heavy() -> None:
    code = "from pytest_nel.cli.main import main\ntry: main(['--help'])\nfinally: "
    code += "import sys; print(*sys.modules, file=sys.stderr)"

    done = python("-c", code)

    heavy = {"numpy", "scipy", "httpx", "pydantic", "yaml", "pytest", "asyncio", "docker"}
    assert "eval clean|jobs|logs|merge|plan|report|resume|run|status|stop" in done.stdout
    assert heavy & set(done.stderr.split()) == set()


def test_each_command_has_a_summary_in_the_help() -> None:
    top, below = (python("-m", "pytest_nel.cli.main", *words, "--help") for words in ([], ["eval"]))

    assert "Decide by a policy whether a candidate run is good enough" in " ".join(
        top.stdout.split()
    )
    assert "Show how a run fares" in below.stdout


def test_a_reader_that_leaves_early_is_no_mistake() -> None:
    read, write = os.pipe()
    os.close(read)

    done = subprocess.run(
        [sys.executable, "-m", "pytest_nel.cli.main", "list", "--json"],
        stdout=write,
        stderr=subprocess.PIPE,
        check=False,
    )

    os.close(write)
    assert (done.returncode, done.stderr) == (141, b"")
