"""Secrets planted wherever a user can put one are in nothing that a run writes, says or starts."""

import json
import os
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from tests.plugin.test_truth_secrets import parrot
from tests.plugin.truth import ROOT, environment
from tests.support import command
from tests.support.processes import command_lines, until

__all__ = ["parrot"]

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks at processes in /proc")

SERVED = ROOT / "tests" / "support" / "served.py"
NAMES = (
    *("SOLVER_KEY", "JUDGE_KEY", "BASELINE_KEY", "SERVED_KEY", "SICK_KEY", "NEMO_API_KEY"),
    *("NVIDIA_API_KEY", "HF_TOKEN", "BY_EXTRA_HEADER", "BY_OTHER_HEADER", "BY_ADDED_HEADER"),
    *("BY_ENV", "BY_SETUP_TOKEN", "BY_HOST", "BY_RUNTIME"),
)
PLANTED = {
    name: f"planted-{at:02}-{at * 7919 + 104729:x}c0ffee{at}" for at, name in enumerate(NAMES)
}
MARK = "planted-"

BASE = """
services:
  model:
    type: api
    url: "{url}/headers/v1/chat/completions"
    protocol: chat_completions
    model: m
    api_key: ${{SOLVER_KEY}}
    max_retries: 1
    proxy:
      verbose: true
      model_traffic: {{capture_request_body: true}}
      extra_headers: {{X-Api-Key: "${{BY_EXTRA_HEADER}}", X-Team: "team ${{BY_OTHER_HEADER}}"}}
      interceptors:
        - {{name: caching, config: {{cache_dir: caches}}}}
        - {{name: http_pairs_dump, config: {{dump_path: pairs.jsonl}}}}
        - name: payload_modifier
          config: {{headers_to_add: {{X-Auth-Token: "${{BY_ADDED_HEADER}}"}}}}
"""
SUITE = """
defaults: [{{_base_: base}}]
services:
  judge:
    {{type: api, url: "{url}/headers/v1/chat/completions", protocol: chat_completions, model: j,
      api_key: "${{JUDGE_KEY}}", max_retries: 1}}
  baseline:
    {{type: api, url: "{url}/headers/v1/chat/completions", protocol: chat_completions, model: b,
      api_key: "${{BASELINE_KEY}}", max_retries: 1}}
  served:
    type: command
    protocol: chat_completions
    command: "exec {python} {served} {{port}}"
    setup_commands: ["test -n $BY_SETUP_TOKEN"]
    env: {{SERVED_KEY: "${{SERVED_KEY}}", GIVEN: "${{BY_ENV}}"}}
    api_key: ${{SERVED_KEY}}
  engine:
    type: vllm
    protocol: chat_completions
    model: weights
    extra_env: {{HF_TOKEN: "host:HF_TOKEN", GIVEN: "host:BY_HOST", MORE: "runtime:BY_RUNTIME"}}
  sick:
    {{type: api, url: "{url}/500/v1/chat/completions", protocol: chat_completions, model: s,
      api_key: "${{SICK_KEY}}", health_path: /500}}
  dies:
    type: command
    protocol: chat_completions
    command: "env; exit 3; : {{port}}"
    env: {{SERVED_KEY: "${{SERVED_KEY}}", GIVEN: "${{BY_ENV}}"}}
benchmarks:
  - name: bench_loud.py
    solver: {{type: simple, service: model}}
    max_unscored: 99
    scoring:
      metrics:
        - {{name: grade, type: judge, service: judge}}
        - {{name: pair, type: pairwise_judge, judge_service: judge, baseline_service: baseline}}
  - {{name: bench_plain.py, playbook: quick.yaml}}
  - {{name: bench_plain.py, variant: by_engine, solver: {{type: simple, service: engine}}}}
output: {{dir: run, timestamped: false, report: [markdown, html, csv, json, latex]}}
"""
BENCH = '''
import os
from pytest_nel import ScorerInput, benchmark, scorer


ROWS = [{{"q": f"{{i}}", "target": str(i)}} for i in range({count})]


@benchmark(name="{name}", dataset=ROWS, prompt="{{q}}")
@scorer
def judged(sample: ScorerInput):
    """Says a key that it has found in the environment."""
    if {loud} and sample.target == "0":
        raise ValueError(os.environ["SOLVER_KEY"] + ", which is refused")
    return True
'''
USERS = """
def test_a_health_page(nel_services):
    nel_services["sick"]


def test_a_server_that_dies(nel_services):
    nel_services["dies"]
"""


def folder_of(folder: Path, url: str, count: int = 3) -> Path:
    """A user's folder with all of it."""
    facts = {"url": url, "python": sys.executable, "served": SERVED}
    (folder / "base.yaml").write_text(BASE.format(**facts))
    (folder / "s.nel.yaml").write_text(SUITE.format(**facts))
    (folder / "quick.yaml").write_text("solver: {type: simple, service: served}\n")
    (folder / "bench_loud.py").write_text(BENCH.format(name="loud", count=count, loud="True"))
    (folder / "bench_plain.py").write_text(BENCH.format(name="plain", count=count, loud="False"))
    (folder / "test_users.py").write_text(USERS)
    (folder / "bin").mkdir()
    stub = folder / "bin" / "vllm"
    stub.write_text(f'#!/bin/sh\nunset SERVED_KEY\nexec {sys.executable} {SERVED} "$4"\n')
    stub.chmod(0o755)
    (folder / "tmp").mkdir()
    return folder


def env_of(folder: Path, **more: str) -> dict[str, str]:
    """Everything that is written stays below the folder."""
    places = {name: str(folder / "xdg") for name in ("XDG_DATA_HOME", "XDG_CACHE_HOME", "HOME")}
    return environment(
        **PLANTED,
        **places,
        TMPDIR=str(folder / "tmp"),
        PATH=f"{folder / 'bin'}:{os.environ['PATH']}",
        PYTHONFAULTHANDLER="1",
        GITHUB_STEP_SUMMARY=str(folder / "summary.md"),
        GITHUB_ACTIONS="true",
        **more,
    )


@contextmanager
def watched() -> Iterator[list[str]]:
    """The command lines that hold something planted, as long as it lasts."""
    found: list[str] = []
    over = threading.Event()

    def look() -> None:
        while not over.wait(0.02):
            found.extend(line for line in command_lines().values() if MARK in line)

    thread = threading.Thread(target=look)
    thread.start()
    try:
        yield found
    finally:
        over.set()
        thread.join()


def leaks(folder: Path, *said: str) -> list[str]:
    """Where one of them stands, or most of one, with what is around it."""
    texts = {f"said {at}": text for at, text in enumerate(said)}
    for path in folder.rglob("*"):
        if path.is_file():
            texts[str(path.relative_to(folder))] = path.read_bytes().decode("latin-1")
    found = []
    for where, text in texts.items():
        for line in text.splitlines():
            at = line.find(MARK)
            if at >= 0:
                found.append(f"{where}: …{line[max(0, at - 120) : at + 40]}…")
    return found


def nel(folder: Path, *words: str, **more: str) -> command.Done:
    return command.nel(*words, cwd=folder, env=env_of(folder, **more))


@pytest.fixture
def planted(tmp_path: Path, parrot: str) -> Path:
    """A user's folder with a secret in every place."""
    return folder_of(tmp_path, parrot)


LOUDLY = (
    *("-p", "no:cacheprovider", "-vv", "-l", "--tb=long", "-rA", "--junitxml=j.xml"),
    *("-o", "log_cli=true", "--log-cli-level=DEBUG", "--log-file=l.txt"),
    *("--log-file-level=DEBUG", "--nel-show=all", "--nel-cache=answers"),
)


def test_secrets_stay_in_the_environment_however_loud_the_run_is(planted: Path) -> None:
    words = ("eval", "run", "s.nel.yaml", "--no-selftest", "--", "test_users.py", *LOUDLY)

    with watched() as argv:
        done = nel(planted, *words)

    assert "2 failed" in done.stdout, done.stdout + done.stderr
    assert "ValueError: [API key], which is refused" in done.stdout
    assert "headers    = {'Authorization': 'Bearer [API key]'}" in done.stdout
    assert (planted / "run" / "loud" / "model_traffic.jsonl").is_file()
    assert (planted / "run" / "logs" / "server-dies.log").is_file()
    assert [*(planted / "xdg" / "nel" / "runs").glob("*.json")]
    assert argv == []
    assert leaks(planted, done.stdout, done.stderr) == []


def test_secrets_stay_in_the_environment_when_a_worker_aborts(planted: Path) -> None:
    aborts = "if sample.target == '2': os.abort()"
    path = planted / "bench_plain.py"
    path.write_text(path.read_text().replace("    return True", f"    {aborts}\n    return True"))
    words = ("eval", "run", "s.nel.yaml", "--no-selftest", "--", "-n2", *LOUDLY)

    with watched() as argv:
        done = nel(planted, *words)

    assert "SIGABRT" in done.stdout, done.stdout + done.stderr
    assert argv == []
    assert leaks(planted, done.stdout, done.stderr) == []


ONLY_REFERRED = """
services:
  model:
    type: command
    protocol: chat_completions
    command: "echo $${{WORD}} $${{WORD}}; exec {python} {served} {{port}}"
    env: {{WORD: "${{WORD_OF_OURS}}"}}
  dies:
    type: command
    protocol: chat_completions
    command: "echo $${{WORD}}; {then}; : {{port}}"
    env: {{WORD: "${{WORD_OF_OURS}}"}}
benchmarks:
  - {{name: bench_plain.py, solver: {{type: simple, service: {asked}}}}}
output: {{dir: run, timestamped: false}}
"""


@pytest.mark.parametrize("asked", ["model", "dies"])
def test_a_server_under_workers_keeps_no_secret_that_only_the_suite_knows(
    planted: Path, asked: str
) -> None:
    text = ONLY_REFERRED.format(python=sys.executable, served=SERVED, asked=asked, then="exit 3")
    (planted / "s.nel.yaml").write_text(text)

    words = ("eval", "run", "s.nel.yaml", "--no-selftest", "--", "-n2")

    done = nel(planted, *words, WORD_OF_OURS=f"{MARK}w0rd")

    log = (planted / "run" / "logs" / f"server-{asked}.log").read_text()
    assert log.startswith("***"), log
    assert leaks(planted, done.stdout, done.stderr) == []


def test_what_lists_and_shows_keeps_secrets(planted: Path) -> None:
    lines = [
        ("config", "show", "s.nel.yaml", "--json"),
        ("eval", "plan", "s.nel.yaml", "--json", "--no-selftest"),
        ("doctor", "--json"),
        ("eval", "run", "s.nel.yaml"),
        ("eval", "run", "s.nel.yaml", "-O", f"services.model.api_key={PLANTED['SOLVER_KEY']}"),
        ("eval", "run", "s.nel.yaml", "-O", f"services.model={{api_key: {PLANTED['SOLVER_KEY']}}}"),
    ]

    path = planted / "bench_loud.py"
    path.write_text(path.read_text().replace('sample.target == "0"', "True"))

    done = [nel(planted, *words) for words in lines]

    assert [one.returncode for one in done] == [0, 0, 0, 4, 4, 4], [one.stderr for one in done]
    assert "[API key], which is refused" in done[3].stdout
    assert leaks(planted, *(one.stdout + one.stderr for one in done)) == []


def test_a_run_in_the_background_keeps_secrets(planted: Path) -> None:
    nel(planted, "eval", "run", "s.nel.yaml", "--no-selftest", "--background")
    states: list[str] = []

    def over() -> bool:
        said = nel(planted, "eval", "status", "--json").stdout
        states.append(said)
        return bool(json.loads(said)["state"] != "running")

    assert until(over)
    logs = nel(planted, "eval", "logs")
    assert "loud" in logs.stdout
    assert leaks(planted, *states, logs.stdout, logs.stderr) == []
