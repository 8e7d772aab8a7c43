"""A repository set up as the how-to pages say, and what runs its scripts."""

import re
import shlex
import shutil
import subprocess
import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from tests.plugin.running import Nel

ROOT = Path(__file__).parents[2]
HOW_TO = ROOT / "docs/how-to"
CI = HOW_TO / "ci"
QUALITY = ("suite.nel.yaml", "policy.yaml", "bench_arithmetic.py", "measure.sh")
SECRET = "sk-do-not-write-me-down"  # noqa: S105 - it opens nothing


@dataclass(frozen=True)
class Done:
    """A script that is over."""

    code: int
    text: str


@dataclass(frozen=True)
class Repository:
    """A checked-out repository.

    Attributes:
        folder: Where it is.
        env: What every script sees.
    """

    folder: Path
    env: Mapping[str, str]

    def run(self, shell: Sequence[str], script: str, env: Mapping[str, str]) -> Done:
        """Run a script with a shell, as a CI system does: from a file."""
        file = self.folder.parent / "script.sh"
        file.write_text(script, encoding="utf-8")
        done = subprocess.run(
            [*shell, str(file)],
            cwd=self.folder,
            env={**self.env, **env},
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            timeout=120,
            check=False,
        )
        return Done(done.returncode, done.stdout)

    def read(self, file: str) -> str:
        """The text of a file."""
        return (self.folder / file).read_text(encoding="utf-8")


def repository(folder: Path, url: str, programs: Path) -> Repository:
    """The files of the pages in ``folder``, with pytest and nel in the folder ``programs``."""
    (folder / "quality").mkdir(parents=True)
    for name in QUALITY:
        shutil.copy(CI / name, folder / "quality" / name)
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    for name, module in (("pytest", "pytest"), ("nel", "pytest_nel.cli.main")):
        program(programs / name, f'exec {shlex.quote(sys.executable)} -m {module} "$@"\n')
    chat = f"{url}/chat/completions"
    env = Nel(folder, None).environ()
    env |= {"BASELINE_URL": chat, "CANDIDATE_URL": chat, "NEL_PAUSE": "0", "NEL_TRIES": "0"}
    return Repository(folder, env)


def program(path: Path, text: str) -> None:
    """Write a shell script that can be started by its name."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(f"#!/bin/sh\n{text}", encoding="utf-8")
    path.chmod(0o755)


def shown(page: str) -> set[str]:
    """The text of every fenced block of a page."""
    text = (HOW_TO / page).read_text(encoding="utf-8")
    return {
        found[1] for found in re.finditer(r"^```\w*\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
    }


def written_secrets(folder: Path) -> list[Path]:
    """The files in which the API key stands."""
    files = (path for path in folder.rglob("*") if path.is_file())
    return [path for path in files if SECRET.encode() in path.read_bytes()]
