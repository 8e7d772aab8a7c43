"""A benchmark, an endpoint's script and a pytest run of both, as a user has them."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).parents[2]

BENCH = '''
import pytest_nel
from pytest_nel import ScorerInput, benchmark, scorer

ROWS = [{{"id": f"q{{i}}", "question": f"{{i}}: [gold={{i % 7}}]", "target": str(i % 7)}}
        for i in range({problems})]


@benchmark(name="truth", dataset=ROWS, prompt="{{question}}")
@scorer
def truth(sample: ScorerInput):
    """Same text."""
    return {{"correct": sample.response == sample.target, "extracted": sample.response or None}}
'''


def environment(**more: str) -> dict[str, str]:
    """Ours, without what would change a run."""
    kept = {
        name: value
        for name, value in os.environ.items()
        if not name.startswith(("NEMO_", "NVIDIA_", "PYTEST_"))
        and name != "PYTHONDONTWRITEBYTECODE"
    }
    return kept | {"PYTHONPATH": str(ROOT)} | more


def command(*arguments: str) -> list[str]:
    """A pytest run that measures."""
    return [sys.executable, "-m", "pytest", "-p", "nel", "-p", "no:cacheprovider", *arguments]


def bench(folder: Path, problems: int) -> Path:
    """Write a benchmark of so many problems."""
    path = folder / "bench_truth.py"
    path.write_text(BENCH.format(problems=problems))
    return path


def model(url: str, *more: str) -> list[str]:
    """The options that name an endpoint and the run directory."""
    return ["--nel-model-url", url, "--nel-model-id", "m", "--nel-output-dir", "run", *more]


def run(folder: Path, *arguments: str, **env: str) -> subprocess.CompletedProcess[str]:
    """Run to the end."""
    return subprocess.run(
        command(*arguments),
        cwd=folder,
        env=environment(**env),
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


def start(folder: Path, *arguments: str) -> subprocess.Popen[bytes]:
    """Start it in a session of its own, output thrown away."""
    return subprocess.Popen(
        command(*arguments),
        cwd=folder,
        env=environment(),
        stdout=subprocess.DEVNULL,
        stderr=subprocess.DEVNULL,
        start_new_session=True,
    )


def kill(process: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the whole session."""
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()


def wait_for_lines(folder: Path, pattern: str, text: bytes, count: int) -> int:
    """Wait until files hold so many lines with ``text``; how many they hold then."""
    end = time.monotonic() + 60
    while time.monotonic() < end:
        found = sum(path.read_bytes().count(text) for path in folder.glob(pattern))
        if found >= count:
            return found
        time.sleep(0.005)
    msg = f"expected {count} times {text!r} in {folder}/{pattern}"
    raise TimeoutError(msg)


def lines(path: Path) -> list[dict[str, Any]]:
    """Strict JSON lines."""
    return [
        json.loads(line, parse_constant=_refuse) for line in path.read_text("utf-8").splitlines()
    ]


def _refuse(word: str) -> object:
    raise ValueError(word)


def bundle(folder: Path) -> dict[str, Any]:
    """The only bundle of a benchmark's directory."""
    (path,) = folder.glob("eval-*.json")
    found: dict[str, Any] = json.loads(path.read_text("utf-8"), parse_constant=_refuse)
    return found
