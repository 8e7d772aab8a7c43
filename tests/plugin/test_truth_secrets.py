"""The API key is in no file and in no line of the terminal, whatever happens."""

import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugin.truth import ROOT, bench, environment, model, run

KEY = "sk-planted-4d9f1c77e0b24a6e9a3c"  # nobody's
SERVER = Path(__file__).parent / "parrot.py"


@pytest.fixture(scope="module")
def parrot() -> Iterator[str]:
    """An endpoint that says the Authorization header back, in answers and in errors."""
    with subprocess.Popen(
        [sys.executable, str(SERVER)], stdout=subprocess.PIPE, text=True, env=environment()
    ) as process:
        assert process.stdout is not None
        yield f"http://127.0.0.1:{int(process.stdout.readline())}"
        process.terminate()


def leaks(folder: Path, output: str) -> list[str]:
    """Where the key stands, or so much of it that it matters."""
    part = KEY[:20]
    found = [f"terminal: {line}" for line in output.splitlines() if part in line]
    files = [path for path in folder.rglob("*") if path.is_file()]
    return found + [str(path) for path in files if part.encode() in path.read_bytes()]


SUITE = """
services:
  model: {{type: api, url: "{url}/v1/chat/completions", protocol: chat_completions, model: m,
           api_key: "${{MY_SECRET}}", max_retries: 0}}
benchmarks:
  - {{name: bench_truth.py, solver: {{type: simple, service: model}}, max_unscored: 2}}
output: {{dir: run, timestamped: false}}
"""


VARIANTS = pytest.mark.parametrize(
    "variant",
    [
        ["-vv", "--nel-show", "all"],
        ["-p", "xdist", "-n2", "--junitxml=j.xml", "-rA"],
        ["--junitxml=j.xml", "--showlocals", "--tb=long", "--nel-strict"],
    ],
    ids=["verbose", "xdist", "locals"],
)


@VARIANTS
@pytest.mark.parametrize("path", ["ok", "401", "long"])
def test_a_key_of_the_environment_stays_there(
    tmp_path: Path, parrot: str, path: str, variant: list[str]
) -> None:
    bench(tmp_path, 4)

    done = run(
        tmp_path, "bench_truth.py", *variant, *model(f"{parrot}/{path}/v1"), NEMO_API_KEY=KEY
    )

    assert (tmp_path / "run" / "truth" / "results.jsonl").is_file(), done.stdout
    assert leaks(tmp_path, done.stdout + done.stderr) == []


@VARIANTS
@pytest.mark.parametrize("path", ["500", "reset"])
def test_a_key_that_a_suite_refers_to_stays_there(
    tmp_path: Path, parrot: str, path: str, variant: list[str]
) -> None:
    bench(tmp_path, 4)
    (tmp_path / "s.nel.yaml").write_text(SUITE.format(url=f"{parrot}/{path}"))

    done = run(tmp_path, "s.nel.yaml", *variant, MY_SECRET=KEY)

    assert (tmp_path / "run" / "truth" / "results.jsonl").is_file(), done.stdout
    assert leaks(tmp_path, done.stdout + done.stderr) == []


def test_a_key_named_on_the_command_line_stays_in_a_crash_of_a_users_scorer(
    tmp_path: Path, parrot: str
) -> None:
    path = bench(tmp_path, 4)
    path.write_text(path.read_text().replace('"""Same text."""', "raise ValueError(sample)"))
    options = model(f"{parrot}/ok/v1", "--nel-api-key-env", "MY_SECRET", "--nel-no-selftest")

    done = run(tmp_path, "bench_truth.py", "-vv", "--showlocals", *options, MY_SECRET=KEY)

    assert "unscored" in done.stdout
    assert leaks(tmp_path, done.stdout + done.stderr) == []


def test_the_parrot_does_say_the_key_back(parrot: str) -> None:
    """Or the tests above would find nothing in any case."""
    script = f"""
import urllib.request, urllib.error
request = urllib.request.Request("{parrot}/500/v1/chat/completions", b"{{}}",
                                 {{"Authorization": "Bearer {KEY}"}})
try:
    urllib.request.urlopen(request)
except urllib.error.HTTPError as error:
    print(error.read().decode())
"""
    done = subprocess.run(
        [sys.executable, "-c", script], cwd=ROOT, capture_output=True, text=True, check=True
    )

    assert KEY in done.stdout
