"""Gym servers that are there before a run: who judges, and what is told of their tokens."""

import json
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest

from pytest_nel.cli._export_options import with_secrets
from tests.plugin.running import Nel
from tests.plugin.test_gym_environments import judged, serving, suite

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="servers end by signals")


@contextmanager
def judging_all(reward: float) -> Iterator[str]:
    """Where a server listens that finds every answer so good, and has no ``/health``."""

    class Judge(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.send_error(404)

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"]))
            body = json.dumps({"reward": reward}).encode()
            self.send_response(200)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: object) -> None:
            """Silent."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Judge) as server:
        Thread(target=server.serve_forever, daemon=True).start()
        yield f"127.0.0.1:{server.server_port}"
        server.shutdown()


def test_a_run_that_goes_on_with_another_silent_server_is_judged_by_that_one(nel: Nel) -> None:
    row = {"responses_create_params": {"input": "4"}}
    nel.write("rows.jsonl", json.dumps(row) + "\n")
    found = []

    with judging_all(1.0) as kind, judging_all(0.0) as strict:
        for address in (kind, kind, strict):
            suite(nel, f'name: "gym://{address}?data=rows.jsonl"')
            ended = nel.run("my.nel.yaml", "--nel-resume", model=False)
            assert ended.code == 0, ended.text
            found.append(judged(ended, "gym-native_rows")[0][0])

    assert found == ["correct", "correct", "wrong"]


OPENED = '''"""Says by what it was opened."""

import os

from pytest_nel import ScorerInput, benchmark, scorer

ROWS = [{"say": say, "target": "1"} for say in ("1", "lost")]


@benchmark(name="opened", dataset=ROWS, prompt="{say}")
@scorer
def opened(sample: ScorerInput) -> object:
    """Always right."""
    return {"reward": 1.0, "extracted": "1", "opened_by": os.environ["GYM_OPENER"]}
'''
LOSES = '''"""A solver that quotes what it should not."""

import os

import pytest

from pytest_nel import SolveResult


class Loses:
    async def solve(self, seed, sandbox):
        if seed.prompt == "lost":
            raise RuntimeError("no way in with " + os.environ["GYM_OPENER"])
        return SolveResult("1")


@pytest.fixture(scope="session")
def nel_solver():
    return Loses()
'''


def test_a_server_s_token_is_in_no_file_of_the_run_whoever_says_it(
    nel: Nel, how: list[str]
) -> None:
    key = "one-that-lets-you-in"
    nel.write("bench_opened.py", OPENED)
    nel.write("conftest.py", LOSES)
    opens = {"GYM_OPENER": key}

    with serving(nel, "-b", "bench_opened.py", "-p0", "--token-env=GYM_OPENER", env=opens) as said:
        name = f'name: "gym://{said.split("//")[1].strip()}"'
        suite(nel, f"{name}, params: {{api_key: '${{GYM_OPENER}}'}}, max_unscored: 1")
        ended = nel.run("my.nel.yaml", *how, model=False, env=opens)

    assert ended.code == 0, ended.text
    found = {one[:2] for one in judged(ended, "gym_127").values()}
    assert found == {("correct", 1.0), ("unscored", None)}
    written = [path for path in (nel.folder / "run").rglob("*") if path.is_file()]
    said = "".join(path.read_text("utf-8") for path in written)
    assert "no way in with [API key]" in said
    assert '"opened_by"' in said
    assert key not in said + ended.text
    assert {"api_key": "${GYM_OPENER}"} in with_secrets(nel.folder / "run")
