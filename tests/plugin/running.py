"""Runs pytest with the plugin in a process of its own and reads what the run has left."""

import contextlib
import json
import os
import signal
import subprocess
import sys
import xml.etree.ElementTree as ET
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import Done, nel

ROOT = Path(__file__).parents[2]
_KEPT_OUT = (
    "NEMO_",
    "NVIDIA_API_KEY",
    "PYTEST_",
    "PYTHONDONTWRITEBYTECODE",
    "COV_",
    "NO_COLOR",
    "GITHUB_",  # where it is set, more is printed and written
    "TOX_ENV_DIR",  # pytest keeps its cache there: one for all runs at once
)
_CI = {"CI", "BUILD_NUMBER"}  # pytest prints more where they are set

BENCH = '''"""Says what it is told to."""

from pytest_nel import ScorerInput, benchmark, numeric_match, scorer

ROWS = {rows!r}


@benchmark(name="{name}", dataset=ROWS, prompt="{{say}}"{more})
@scorer
def measured(sample: ScorerInput) -> object:
    """Numbers are compared; some replies are orders."""
    if sample.response == "crash":
        raise RuntimeError("the scorer broke")
    if sample.response == "half":
        return {{"reward": 0.5, "extracted": "half"}}
    return numeric_match(sample)
'''
SUITE = """services:
  model: {{type: api, url: "{url}/chat/completions", protocol: chat_completions, model: m}}
benchmarks:
{entries}"""
ENTRY = "  - {{name: {name}, solver: {{type: simple, service: model}}{more}}}\n"


def rows(*says: str, target: str = "7") -> list[dict[str, str]]:
    """Problems whose right answer is ``target`` and whose reply is as given."""
    return [{"say": say, "target": target} for say in says]


def sums(count: int) -> list[dict[str, str]]:
    """Problems with different right answers and replies; every third is wrong."""
    return [{"say": str(i if i % 3 else -i), "target": str(i)} for i in range(1, count + 1)]


@dataclass
class Ended:
    """A run of pytest that is over."""

    code: int
    out: str
    err: str
    folder: Path

    @property
    def run_dir(self) -> Path:
        """The only run directory."""
        found = sorted((self.folder / "eval_results").iterdir())
        assert len(found) == 1, f"expected one run directory, got {found}\n{self.out}{self.err}"
        return found[0]

    def results(self, benchmark: str = "sums") -> list[dict[str, Any]]:
        """The lines of results.jsonl."""
        text = (self.run_dir / benchmark / "results.jsonl").read_text(encoding="utf-8")
        return [json.loads(line) for line in text.split("\n") if line]

    def bundle(self, benchmark: str = "sums") -> dict[str, Any]:
        """The bundle."""
        (path,) = (self.run_dir / benchmark).glob("eval-*.json")
        found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        return found

    def checks(self) -> dict[str, Any]:
        """The object of checks.json."""
        found: dict[str, Any] = json.loads((self.run_dir / "checks.json").read_text())
        return found

    def junit(self, name: str = "nel.xml") -> ET.Element:
        """The only test suite of the JUnit file."""
        suite = ET.parse(self.folder / name).getroot().find("testsuite")  # noqa: S314  # our own
        assert suite is not None
        return suite

    def outcomes(self, benchmark: str = "sums") -> dict[tuple[int, int], str]:
        """(problem, repeat) → outcome."""
        return {
            (row["problem_idx"], row["repeat"]): row["outcome"] for row in self.results(benchmark)
        }

    @property
    def text(self) -> str:
        """Everything printed, for messages of assertions."""
        return self.out + self.err


def _text(part: object) -> str:
    """Bytes even where text was asked for, when a time-out tells them."""
    return part.decode("utf-8", "replace") if isinstance(part, bytes) else str(part or "")


def _rest(running: "subprocess.Popen[str]") -> str:
    """What a run still has to say before it is killed with all its processes."""
    try:
        out, err = running.communicate(timeout=10)
    except subprocess.TimeoutExpired as hangs:  # a child of another session may hold the pipes
        out, err = (_text(part) for part in (hangs.stdout, hangs.stderr))
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(running.pid, signal.SIGKILL)
    for pipe in (running.stdout, running.stderr):
        if pipe is not None:
            pipe.close()
    running.wait()
    return f"{out}\n{err}"


@dataclass
class Nel:
    """A folder with benchmarks, and how to measure them.

    Attributes:
        folder: Where pytest is started.
        url: The endpoint, or None where the command line shall say nothing about a model.
    """

    folder: Path
    url: str | None
    env: dict[str, str] = field(default_factory=dict)

    def bench(
        self,
        problems: Iterable[Mapping[str, str]],
        *,
        file: str = "bench_sums.py",
        name: str = "sums",
        more: str = "",
    ) -> Path:
        """Write a benchmark file; ``more`` is appended to the decorator's arguments."""
        text = BENCH.format(rows=list(problems), name=name, more=f", {more}" if more else "")
        return self.write(file, text)

    def untested(self) -> None:
        """Let scorers pass that are wrong on purpose: none is tried on its gold answers."""
        self.write("pytest.ini", "[pytest]\nnel_no_selftest = true\n")

    def write(self, file: str, text: str) -> Path:
        """Write a file below the folder."""
        path = self.folder / file
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")
        return path

    def suite(
        self, *entries: str, file: str = "my.nel.yaml", more: str = "", tail: str = ""
    ) -> Path:
        """Write a suite file with one entry for each benchmark named."""
        assert self.url is not None
        listed = "".join(
            ENTRY.format(name=name, more=f", {more}" if more else "") for name in entries
        )
        return self.write(file, SUITE.format(url=self.url, entries=listed) + tail)

    def command(self, *args: str, model: bool = True) -> list[str]:
        """The command line."""
        named = ["--nel-model-url", self.url, "--nel-model-id", "m"] if model and self.url else []
        return [sys.executable, "-m", "pytest", "-p", "nel", *named, *args]

    def environ(
        self, env: Mapping[str, str] | None = None, *, autoload: bool = False
    ) -> dict[str, str]:
        """The environment of a run: ours, without what would change it."""
        kept = {
            name: value
            for name, value in os.environ.items()
            if not name.startswith(_KEPT_OUT) and name not in _CI
        }
        path = os.pathsep.join(filter(None, [str(ROOT), kept.get("PYTHONPATH")]))
        kept |= {"PYTHONPATH": path, "COLUMNS": "120"}
        kept["PYTEST_DEBUG_TEMPROOT"] = os.environ["PYTEST_DEBUG_TEMPROOT"]  # see conftest.py
        if not autoload:  # starts in half the time; one test has the others loaded
            kept["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
        return kept | self.env | dict(env or {})

    def run(
        self,
        *args: str,
        model: bool = True,
        env: Mapping[str, str] | None = None,
        autoload: bool = False,
        timeout: float = 60,
    ) -> Ended:
        """Run pytest to its end; one that does not end says where it stands."""
        running = subprocess.Popen(
            self.command(*args, model=model),
            cwd=self.folder,
            env=self.environ(env, autoload=autoload) | {"PYTHONFAULTHANDLER": "1"},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            encoding="utf-8",
            errors="replace",
            start_new_session=True,  # its workers can be asked, too
        )
        try:
            out, err = running.communicate(timeout=timeout)
        except subprocess.TimeoutExpired:
            os.killpg(running.pid, signal.SIGABRT)  # each process writes the stacks of its threads
            said = _rest(running)
            pytest.fail(f"pytest {' '.join(args)} did not end within {timeout} s:\n{said}")
        except BaseException:
            os.killpg(running.pid, signal.SIGKILL)
            _rest(running)
            raise
        return Ended(running.returncode, out, err, self.folder)

    def nel(
        self, *words: object, env: Mapping[str, str] | None = None, timeout: float = 60
    ) -> Done:
        """Run the ``nel`` command in the folder."""
        return nel(*words, cwd=self.folder, env=self.environ(env), timeout=timeout)

    def start(self, *args: str) -> "subprocess.Popen[str]":
        """Start pytest and return at once."""
        return subprocess.Popen(
            self.command(*args),
            cwd=self.folder,
            env=self.environ(),
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            encoding="utf-8",
            start_new_session=True,  # Ctrl-C goes to the group, and must not reach us
        )

    def runs(self) -> list[Path]:
        """Run directories so far."""
        base = self.folder / "eval_results"
        return sorted(base.iterdir()) if base.exists() else []
