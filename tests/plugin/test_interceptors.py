"""A suite with a ``proxy:`` block: what is sent, recorded and written, and what is kept secret."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.plugin.test_truth_secrets import KEY, leaks, parrot
from tests.plugin.truth import bench, lines, run
from tests.support.endpoint import RunningEndpoint

__all__ = ["parrot"]
OTHER = "hf-planted-71c2aa0fd5e94b83b2d6"  # nobody's

SUITE = """
services:
  model:
    type: api
    url: "{url}/chat/completions"
    protocol: chat_completions
    model: m
    api_key: "${{MY_SECRET}}"
    generation: {{temperature: 0.5}}
    proxy:
      verbose: true
      max_retries: 0
      extra_body: {{top_k: 7}}
      extra_headers: {{{headers}}}
      model_traffic: {{}}
      interceptors:
        - {{name: caching, config: {{cache_dir: "{folder}/cache"}}}}
        - {{name: http_pairs_dump, config: {{dump_path: pairs.jsonl}}}}
        - name: payload_modifier
          config: {{headers_to_add: {{X-Auth-Token: "${{OTHER_SECRET}}"}}}}
        - {{name: system_message, config: {{system_message: "{system}"}}}}
benchmarks:
  - name: bench_truth.py
    solver: {{type: simple, service: model, generation: {{temperature: 0.25}}}}
    max_unscored: 4
output: {{dir: run, timestamped: false}}
"""


def suite(folder: Path, url: str, *, headers: str = "", system: str = "be brief") -> str:
    text = SUITE.format(url=url, folder=folder, headers=headers, system=system)
    (folder / "s.nel.yaml").write_text(text)
    return "s.nel.yaml"


def test_what_is_recorded_was_sent_and_another_message_is_another_question(
    tmp_path: Path, endpoint: RunningEndpoint
) -> None:
    bench(tmp_path, 4)
    env = {"MY_SECRET": KEY, "OTHER_SECRET": OTHER}
    name = suite(tmp_path, endpoint.url)

    first = run(tmp_path, name, **env)
    again = run(tmp_path, name, "--nel-output-dir", "run2", **env)
    suite(tmp_path, endpoint.url, system="be long")
    other = run(tmp_path, name, "--nel-resume", **env)

    bodies = [json.loads(body) for body in endpoint.bodies()]
    assert len(bodies) == 8, first.stdout + again.stdout + other.stdout  # the second run found all
    for body in bodies:
        assert (body["temperature"], body["top_k"]) == (0.25, 7)
    assert {body["messages"][0]["content"] for body in bodies} == {"be brief", "be long"}
    rows = lines(tmp_path / "run2" / "truth" / "results.jsonl")
    assert [row["model_response"] for row in rows] == [row["prompt"] for row in rows]
    journal = [
        row
        for path in sorted((tmp_path / "run2" / "truth" / "journal").glob("*.jsonl"))
        for row in lines(path)
        if row.get("_type") == "solved"
    ]
    assert [row["cached"] for row in journal] == [True] * 4
    assert [row["sampling"] for row in journal] == [{"temperature": 0.25, "top_k": 7}] * 4
    for place, system in (("truth/earlier-1", "be brief"), ("truth", "be long")):
        traffic = lines(tmp_path / "run" / place / "model_traffic.jsonl")
        assert {row["problem_idx"] for row in traffic} == {0, 1, 2, 3}
        assert traffic[0]["request"]["messages"][0] == {"role": "system", "content": system}


@pytest.mark.parametrize(
    ("path", "variant"),
    [("ok", ["-vv", "--log-level=DEBUG"]), ("500", ["-p", "xdist", "-n2", "-rA"])],
)
def test_keys_of_headers_stay_in_the_environment(
    tmp_path: Path, parrot: Iterator[str], path: str, variant: list[str]
) -> None:
    bench(tmp_path, 2)
    name = suite(tmp_path, f"{parrot}/{path}/v1", headers='Authorization: "Bearer ${OTHER_SECRET}"')

    done = run(tmp_path, name, *variant, MY_SECRET=KEY, OTHER_SECRET=OTHER)

    output = done.stdout + done.stderr
    assert (tmp_path / "run" / "pairs.jsonl").is_file(), output
    assert leaks(tmp_path, output) == []
    written = [file for file in tmp_path.rglob("*") if file.is_file()]
    assert OTHER[:20] not in output
    assert [str(file) for file in written if OTHER[:20].encode() in file.read_bytes()] == []


def test_a_cache_that_cannot_be_used_is_named_before_any_call(
    tmp_path: Path, endpoint: RunningEndpoint
) -> None:
    bench(tmp_path, 1)
    name = suite(tmp_path, endpoint.url)
    (tmp_path / "cache").write_text("a file where a folder is wanted")

    done = run(tmp_path, name, MY_SECRET=KEY, OTHER_SECRET=OTHER)

    assert "the interceptor caching cannot use" in done.stdout + done.stderr
    assert endpoint.bodies() == []


def test_a_wrong_interceptor_is_named_before_any_call(
    tmp_path: Path, endpoint: RunningEndpoint
) -> None:
    bench(tmp_path, 1)
    name = suite(tmp_path, endpoint.url)
    text = (tmp_path / name).read_text().replace("cache_dir", "cache_dri")
    (tmp_path / name).write_text(text)

    done = run(tmp_path, name, MY_SECRET=KEY, OTHER_SECRET=OTHER)

    said = "services.model.proxy.interceptors[0].config.cache_dri: unknown option 'cache_dri'"
    assert said in done.stdout + done.stderr
    assert endpoint.bodies() == []


AGENT = """
import httpx
import pytest

from pytest_nel import SolveResult


class Agent:
    def __init__(self, adapter):
        self.adapter = adapter

    async def solve(self, seed, sandbox):
        url = self.adapter.url_for(seed.attempt)
        question = {"messages": [{"role": "user", "content": seed.prompt}]}
        async with httpx.AsyncClient() as http:
            reply = await http.post(f"{url}/chat/completions", json=question, timeout=20)
        self.adapter.end(url)
        return SolveResult(reply.json()["choices"][0]["message"]["content"])


@pytest.fixture(scope="session")
def nel_solver(nel_adapter):
    return Agent(nel_adapter)
"""


def test_an_agent_reaches_the_model_by_the_url_of_a_fixture(
    tmp_path: Path, endpoint: RunningEndpoint
) -> None:
    bench(tmp_path, 4)
    (tmp_path / "conftest.py").write_text(AGENT)
    env = {"MY_SECRET": KEY, "OTHER_SECRET": OTHER}
    name = suite(tmp_path, endpoint.url)

    first = run(tmp_path, name, **env)
    asked = endpoint.stats()["requests"]
    again = run(tmp_path, name, "--nel-resume", **env)

    assert (first.returncode, again.returncode) == (0, 0), first.stdout + again.stdout
    assert "4 taken as recorded" in again.stdout
    assert asked == endpoint.stats()["requests"] == 4
    sent = [json.loads(body) for body in endpoint.bodies()]
    assert {(body["model"], body["top_k"], body["temperature"]) for body in sent} == {("m", 7, 0.5)}
    assert leaks(tmp_path, first.stdout + first.stderr + again.stdout) == []
