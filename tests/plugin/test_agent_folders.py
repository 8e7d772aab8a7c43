"""Agents of a folder in real containers: the model answers them, and their work is judged."""

import json
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread

import pytest

from tests.contract.boxes import IMAGE, no_image
from tests.plugin.running import Ended, Nel

needs_docker = pytest.mark.skipif(no_image() is not None, reason=str(no_image()))
RUN = """#!/bin/bash
echo "for "{{ instruction | sh }}
python3 - {{ base_url | sh }} {{ model | sh }} <<'END' > said.txt || exit 1
import json, sys, urllib.request
url, model = sys.argv[1:]
text = open({{ instruction_path | tojson }}).read()
body = {"model": model, "messages": [{"role": "user", "content": text}]}
head = {"Content-Type": "application/json"}
asked = urllib.request.Request(url + "/chat/completions", json.dumps(body).encode(), head)
with urllib.request.urlopen(asked, timeout=30) as reply:
    print(json.load(reply)["choices"][0]["message"]["content"])
END
cat said.txt {{ installed | sh }}
sleep {{ pause }}
exit 3
"""
TOML = f"""[environment]
docker_image = "{IMAGE}"
workdir = "/workspace"
[agent]
timeout_sec = 12
"""
ENTRY = """services:
  model: {{type: api, url: "{url}/chat/completions", protocol: chat_completions, model: m}}
benchmarks:
  - name: harbor://tasks
    timeout: 90
    solver: {solver}
    sandbox: {sandbox}
"""


def written(nel: Nel, *, pause: int = 0, **solver: object) -> None:
    nel.write("tasks/say/task.toml", TOML)
    nel.write("tasks/say/instruction.md", 'it\'s "7" $(touch /tmp/x)\n')
    nel.write("tasks/say/tests/test.sh", "grep -q 7 said.txt && [ ! -e /tmp/x ]\n")
    nel.write("agents/asks/run.sh.j2", RUN)
    nel.write("agents/asks/install.sh.j2", "echo installed > /tmp/installed\n")
    said = {"type": "agent", "service": "model", "agent": "agents/asks", **solver}
    said["agent_kwargs"] = {"installed": "/tmp/installed", "pause": pause}  # noqa: S108 - inside
    box = {"type": "docker", "network": "bridge", "memory": "1g"}
    text = ENTRY.format(url=nel.url, solver=json.dumps(said), sandbox=json.dumps(box))
    nel.write("my.nel.yaml", text)


TWICE = """#!/bin/bash
echo 7 > said.txt
python3 - {{ base_url | sh }} {{ instruction | sh }} <<'END'
import json, sys, urllib.request
url, text = sys.argv[1:]
for said in ("hi", text):
    body = {"model": "m", "messages": [{"role": "user", "content": said}]}
    head = {"Content-Type": "application/json"}
    asked = urllib.request.Request(url + "/chat/completions", json.dumps(body).encode(), head)
    urllib.request.urlopen(asked, timeout=60 if "wait" in text else 1).read()
END
"""


@contextmanager
def sluggish() -> Iterator[str]:
    """The URL of a server that answers some requests late, and those that say so never.

    Nor the small ones by which it is tried whether it answers at all.
    """
    over = Event()
    said = {"content": "7", "role": "assistant"}
    whole = {"choices": [{"index": 0, "message": said, "finish_reason": "stop"}]}

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            body = self.rfile.read(int(self.headers["content-length"]))
            never = b"never" in body or b"max_tokens" in body  # who asks is hung, or tries whether
            if never or b"late" in body:
                over.wait(120 if never else 3)
            content = json.dumps(whole).encode()
            self.send_response(200)
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            """Say nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        thread = Thread(target=server.serve_forever)
        thread.start()
        try:
            yield f"http://127.0.0.1:{server.server_port}/v1"
        finally:
            over.set()
            server.shutdown()
            thread.join()


def run(nel: Nel) -> Ended:
    return nel.run("my.nel.yaml", model=False, timeout=120)


@needs_docker
def test_an_agent_asks_the_model_and_its_work_is_judged(nel: Nel) -> None:
    written(nel)

    ended = run(nel)

    assert ended.code == 0, ended.text
    (row,) = ended.results("tasks")
    assert (row["reward"], row["outcome"]) == (1.0, "correct"), row
    details = row["scoring_details"]
    assert (details["agent_exit_code"], details["agent_requests"]) == (3, 1)
    assert row["tokens"] > 0
    assert row["model_response"].startswith('for it\'s "7" $(touch /tmp/x)')
    assert row["model_response"].endswith("installed")


@needs_docker
def test_what_an_agent_made_before_its_time_was_up_is_judged(nel: Nel) -> None:
    written(nel, pause=60, timeout_strategy="task")

    ended = run(nel)

    assert ended.code == 0, ended.text
    (row,) = ended.results("tasks")
    assert row["reward"] == 1.0, json.dumps(row)
    assert row["scoring_details"]["error_category"] == "solve_timeout"


@needs_docker
def test_an_agent_that_could_not_reach_its_model_is_refused(nel: Nel) -> None:
    written(nel)
    nel.write("tasks/say/task.toml", TOML.replace("[agent]", "allow_internet = false\n[agent]"))

    ended = run(nel)

    assert ended.code == 4, ended.text
    assert "say: the task allows no network (allow_internet = false)" in ended.text


@needs_docker
def test_an_agent_whose_model_fails_has_no_score(nel: Nel) -> None:
    written(nel)
    nel.write("tasks/say/instruction.md", "!503 overloaded")
    suite = (nel.folder / "my.nel.yaml").read_text("utf-8")
    suite = suite.replace("model: m}", "model: m, max_retries: 0}")
    nel.write("my.nel.yaml", suite.replace("timeout: 90", "timeout: 90\n    max_system_retries: 1"))

    ended = run(nel)

    assert ended.code == 7, ended.text
    (row,) = ended.results("tasks")
    assert (row["outcome"], row["reward"]) == ("unscored", None)
    assert row["failure_category"] == "server_error"
    assert "the model's service failed each request" in row["error"]


@needs_docker
def test_an_agent_whose_model_never_answers_has_no_score_and_an_impatient_one_has(nel: Nel) -> None:
    written(nel, timeout_strategy="task")
    nel.write("agents/asks/run.sh.j2", TWICE)
    for task, says in (("a", "never, leave"), ("b", "never, wait"), ("c", "late, leave")):
        nel.write(f"tasks/{task}/task.toml", TOML.replace("12", "9"))
        nel.write(f"tasks/{task}/instruction.md", says)
        nel.write(f"tasks/{task}/tests/test.sh", "grep -q 7 said.txt\n")
    suite = (nel.folder / "my.nel.yaml").read_text("utf-8")
    suite = suite.replace("model: m}", "model: m, max_retries: 0, timeout: 11}")
    suite = suite.replace("harbor://tasks", "harbor://tasks\n    params: {task_names: [a, b, c]}")
    suite = suite.replace("timeout: 90", "timeout: 90\n    max_system_retries: 1")

    with sluggish() as url:
        nel.write("my.nel.yaml", suite.replace(str(nel.url), url))
        ended = run(nel)

    assert ended.code == 7, ended.text
    rows = {row["problem_id"]: row for row in ended.results("tasks")}
    outcomes = {name: (row["outcome"], row.get("failure_category")) for name, row in rows.items()}
    lost = ("unscored", "model_timeout")
    assert outcomes == {"a": lost, "b": lost, "c": ("correct", None)}, ended.text
    assert "(exit 1): the model's service failed the last request" in rows["a"]["error"]
    assert "(its time was up): the model's service failed" in rows["b"]["error"]
    assert rows["c"]["scoring_details"]["agent_requests"] == 2
