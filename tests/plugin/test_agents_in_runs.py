"""Agents in whole runs: a model that calls tools in a sandbox, judged by what it leaves there."""

import json
from collections.abc import Mapping
from typing import Any

from tests.plugin.running import Ended, Nel
from tests.support.endpoint import running_endpoint
from tests.unit.solvers.scripted import Server, running

MODEL = '''"""Writes the number it is told to; the last problem never ends."""

import json


def call(command):
    said = json.dumps({"name": "bash", "arguments": {"command": command}})
    return f"<tool_call>{said}</tool_call>"


def answer(request, nth):
    messages = request["messages"]
    number = messages[1]["content"]
    turns = sum(message["role"] == "assistant" for message in messages)
    if turns == 0:
        return "I go there. " + call("mkdir -p out; cd out")
    if turns == 1 or number == "3":
        return call(f"echo {number} > answer.txt")
    return "Done."
'''
BENCH = '''"""Writes numbers into files."""

from pytest_nel import ScorerInput, SandboxSpec, SeedResult, benchmark, scorer

ROWS = [{"id": f"p{i}", "say": str(i), "target": str(i)} for i in range(4)]


def seeded(row, idx):
    return SeedResult(row["say"], row["target"], {}, sandbox_spec=SandboxSpec())


@benchmark(name="files", dataset=ROWS, seed_fn=seeded, sandbox="any")
@scorer
async def files(sample: ScorerInput) -> bool:
    """Reads the file there."""
    ran = await sample.sandbox.exec("cat out/answer.txt")
    return ran.stdout.strip() == sample.target
'''


ASKS = '''"""Asks for the double of what it is asked about, and says that."""


def answer(request, nth):
    said = request["messages"][-1]["content"]
    if "tool_response" in said:
        return said.split(chr(10))[1]
    call = f\'{{"name": "double", "arguments": {{"number": {said}}}}}\'
    return f"<tool_call>{call}</tool_call>"
'''


class Doubles(Server):
    """A resource server with one tool."""

    def reply(
        self, method: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Any, dict[str, str]]:
        del method, headers
        if path == "/openapi.json":
            return 200, {"paths": {"/double": {"post": {"summary": "Doubles a number."}}}}, {}
        return 200, 2 * body["number"], {}


def measured(nel: Nel, **options: Any) -> Ended:
    """A run of the four problems."""
    nel.write("bench_files.py", BENCH)
    nel.write("model.py", MODEL)
    solver = {"type": "tool_calling", "service": "model", "sandbox_tools": True, **options}
    with running_endpoint(script=str(nel.folder / "model.py")) as endpoint:
        service = {
            "type": "api",
            "url": f"{endpoint.url}/chat/completions",
            "protocol": "chat_completions",
            "model": "m",
        }
        entry = {"name": "bench_files.py", "solver": solver, "sandbox": {"type": "local"}}
        suite = {"services": {"model": service}, "benchmarks": [entry]}
        nel.write("my.nel.yaml", json.dumps(suite))
        return nel.run("my.nel.yaml", "--nel-shuffle-seed", "none", model=False)


def test_what_counts_is_what_is_left_in_the_sandbox(nel: Nel) -> None:
    ended = measured(nel, tool_format="text", max_turns=5, response_mode="sandbox_artifact")

    assert ended.code == 0, ended.text
    assert set(ended.outcomes("files").values()) == {"correct"}
    rows = {row["problem_idx"]: row for row in ended.results("files")}
    assert rows[0]["scoring_details"]["turns"] == 3
    assert rows[3]["scoring_details"]["error_category"] == "turn_budget_exhausted"
    (document,) = rows[0]["trajectory"]
    assert document["schema_version"] == "ATIF-v1.6"
    assert rows[0]["tokens"] == sum(
        sum(step["metrics"][name] for name in ("prompt_tokens", "completion_tokens"))
        for step in document["steps"]
        if step["source"] == "agent"
    )


def test_turns_of_an_agent_are_no_retries(nel: Nel) -> None:
    ended = measured(nel, tool_format="text", max_turns=5, response_mode="sandbox_artifact")

    assert ended.code == 0, ended.text
    assert next(row["scoring_details"]["turns"] for row in ended.results("files")) == 3
    (folder,) = (nel.folder / "eval_results").glob("*/files")
    steps = (folder / "trajectories.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(step)["retries"] for step in steps] == [0] * 4
    assert json.loads((folder / "runtime_stats.json").read_text())["total_retries"] == 0


def test_who_never_ends_is_wrong_and_the_record_says_why(nel: Nel) -> None:
    ended = measured(nel, tool_format="text", max_turns=5)

    assert ended.code == 0, ended.text
    assert ended.outcomes("files")[3, 0] == "wrong"
    row = next(row for row in ended.results("files") if row["problem_idx"] == 3)
    assert row["failure_category"] == "turn_budget_exhausted"
    assert row["error"] == "max_turns_exhausted (5 turns)"


def test_tools_of_a_service_of_the_suite_are_called(nel: Nel, how: list[str]) -> None:
    nel.bench([{"say": str(n), "target": str(2 * n)} for n in range(1, 5)])
    nel.write("model.py", ASKS)
    doubles = Doubles()
    solver = {"type": "tool_calling", "service": "model", "tool_format": "text"}
    with running_endpoint(script=str(nel.folder / "model.py")) as endpoint, running(doubles):
        services = {
            "model": {
                "type": "api",
                "url": f"{endpoint.url}/chat/completions",
                "protocol": "chat_completions",
                "model": "m",
            },
            "tools": {"type": "gym", "url": doubles.url},
        }
        entry = {"name": "bench_sums.py", "solver": {**solver, "resource_service": "tools"}}
        nel.write("my.nel.yaml", json.dumps({"services": services, "benchmarks": [entry]}))

        ended = nel.run("my.nel.yaml", *how, model=False)

    assert ended.code == 0, ended.text
    assert set(ended.outcomes().values()) == {"correct"}
    assert ended.results()[0]["scoring_details"]["tool_calls"] == 1


def test_an_agent_without_the_sandbox_it_works_in_is_refused_before_it_is_asked(nel: Nel) -> None:
    nel.write("bench_files.py", BENCH.replace(', sandbox="any"', ""))
    url = f"{nel.url}/chat/completions"
    service = {"type": "api", "url": url, "protocol": "chat_completions", "model": "m"}
    solver = {"type": "tool_calling", "service": "model", "sandbox_tools": True}
    entry = {"name": "bench_files.py", "solver": solver}
    nel.write("my.nel.yaml", json.dumps({"services": {"model": service}, "benchmarks": [entry]}))

    ended = nel.run("my.nel.yaml", "--nel-no-selftest", model=False)

    assert ended.code == 4, ended.text
    assert "files: its solver tool_calling works in a sandbox and has none" in ended.text
