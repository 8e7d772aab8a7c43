"""Tools of a Gym resource server, against a real one on this machine."""

import asyncio
import json
import threading
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError, InfraError
from pytest_nel.core.sandbox import NoSandbox, Sandbox
from pytest_nel.core.types import Endpoint, JsonObject, SeedResult, SolveResult
from pytest_nel.http.client import ModelClient
from pytest_nel.solvers.tool_calling import ToolCallingSolver
from tests.unit.solvers.process_sandbox import ProcessSandbox
from tests.unit.solvers.scripted import ScriptedModel, Server, Step, running, says

DONE = says("Done.")


def _posts(summary: str = "", schema: JsonObject | None = None, **more: Any) -> JsonObject:
    post: JsonObject = {"summary": summary, **more} if summary else dict(more)
    if schema is not None:
        post["requestBody"] = {"content": {"application/json": {"schema": schema}}}
    return {"post": post}


def _object(**properties: JsonObject) -> JsonObject:
    return {"type": "object", "properties": properties, "required": list(properties)}


TEXT = {"type": "string"}
PATHS: JsonObject = {
    "/seed_session": _posts("Seed", _object(start={"type": "integer"})),
    "/verify": _posts("Verify", _object()),
    "/health": {"get": {}},
    "/{path}": _posts("Anything"),
    "/count": _posts("Count up.", {"$ref": "#/components/schemas/By"}),
    "/files/read": _posts(description="Read a file.", schema=_object(name=TEXT)),
    "/files_read": _posts(schema=_object(name=TEXT)),
    "/items/{item}": _posts(
        "Get an item.",
        parameters=[
            {"in": "path", "name": "item", "required": True, "schema": TEXT},
            {"in": "query", "name": "deep", "schema": {"type": "boolean"}},
        ],
    ),
    "/slow": _posts("Slow."),
    "/meet": _posts("Wait for another."),
    "/bad": _posts("Bad."),
    "/sum": _posts("Sum.", {"type": "array", "items": {"type": "integer"}}),
    "/whose": _posts("Whose?", _object(session_id=TEXT, question=TEXT)),
}


class Gym(Server):
    """Counts per session, by cookie, and says what it was asked."""

    def __init__(self) -> None:
        super().__init__()
        self.paths = dict(PATHS)
        self.counts: dict[str, int] = {}
        self.asked: list[tuple[str, str, Any]] = []
        self.meeting = threading.Barrier(2, timeout=5)
        self.slow = threading.Event()
        self.seeds: tuple[int, JsonObject] = (200, {})

    def reply(
        self, method: str, path: str, body: Any, headers: Mapping[str, str]
    ) -> tuple[int, Any, dict[str, str]]:
        self.asked.append((method, path, body))
        if path == "/openapi.json":
            schemas = {"By": _object(by={"type": "integer"})}
            return 200, {"paths": self.paths, "components": {"schemas": schemas}}, {}
        if path == "/seed_session":
            key = f"s{len(self.counts)}"
            self.counts[key] = int(body.get("start", 0))
            return *self.seeds, {"Set-Cookie": f"session={key}; Path=/; HttpOnly"}
        if path == "/count":
            key = headers["Cookie"].partition("=")[2]
            self.counts[key] += body["by"]
            return 200, {"count": self.counts[key]}, {}
        if path == "/slow":
            self.slow.wait(5)
        if path == "/meet":
            self.meeting.wait()
        return (422 if path == "/bad" else 200), {"path": path, "body": body}, {}


class Bench:
    """Runs solvers against a scripted model and the server."""

    def __init__(self, stack: ExitStack) -> None:
        self.model, self.gym = ScriptedModel(), Gym()
        stack.enter_context(running(self.model))
        stack.enter_context(running(self.gym))

    def solver(self, *steps: Step, url: str | None = None, **options: Any) -> ToolCallingSolver:
        self.model.steps = list(steps)
        endpoint = Endpoint(
            name="s",
            url=f"{self.model.url}/v1/chat/completions",
            protocol="chat_completions",
            model="m",
        )
        resource = Endpoint(
            name="tools",
            url=url or self.gym.url,
            protocol="chat_completions",
            model="",
            kind="resource",
        )
        config = {"service": "s", "resource_service": "tools", **options}
        return ToolCallingSolver(
            ModelClient(endpoint),
            ToolCallingSolver.Config.model_validate(config),
            resource=resource,
        )

    async def solve(
        self,
        *steps: Step,
        sandbox: Sandbox | None = None,
        metadata: JsonObject | None = None,
        **options: Any,
    ) -> SolveResult:
        solver = self.solver(*steps, **options)
        await solver.open()
        try:
            seed = SeedResult(prompt="P", metadata=metadata or {})
            return await solver.solve(seed, sandbox or NoSandbox())
        finally:
            await solver.close()

    def told(self) -> list[str]:
        """What came of the calls of the first turn."""
        messages = self.model.bodies[1]["messages"]
        return [message["content"] for message in messages if message["role"] == "tool"]

    def called(self) -> list[tuple[str, Any]]:
        """What the server was asked, its description and sessions apart."""
        known = ("/openapi.json", "/seed_session")
        return [(path, body) for _, path, body in self.gym.asked if path not in known]


@pytest.fixture
def bench() -> Iterator[Bench]:
    with ExitStack() as stack:
        made = Bench(stack)
        yield made
        made.gym.slow.set()


@pytest.mark.asyncio
async def test_what_is_posted_to_is_a_tool(bench: Bench) -> None:
    await bench.solve(DONE)

    tools = {tool["function"]["name"]: tool["function"] for tool in bench.model.bodies[0]["tools"]}
    assert list(tools) == [
        *(
            "count",
            "files_read",
            "files_read_2",
            "items_item",
            "slow",
            "meet",
            "bad",
            "sum",
            "whose",
        )
    ]
    assert tools["count"]["parameters"] == _object(by={"type": "integer"})
    assert [tools[name]["description"] for name in ("count", "files_read", "files_read_2")] == [
        *("Count up.", "Read a file.", "files_read_2")
    ]
    assert tools["items_item"]["parameters"] == {
        "type": "object",
        "properties": {"item": TEXT, "deep": {"type": "boolean"}},
        "required": ["item"],
    }
    assert list(tools["whose"]["parameters"]["properties"]) == ["question"]
    assert tools["slow"]["parameters"] == {"type": "object", "properties": {}}


@pytest.mark.asyncio
async def test_calls_reach_the_paths_they_are_described_by(bench: Bench) -> None:
    await bench.solve(
        says(
            None,
            ("files_read", {"name": "n"}),
            ("items_item", {"item": "a/b ?", "deep": True}),
            ("sum", {"body": [1, 2]}),
            ("items_item", {}),
        ),
        DONE,
    )

    assert sorted(bench.called(), key=str) == [
        ("/files/read", {"name": "n"}),
        ("/items/a%2Fb%20%3F?deep=true", {}),
        ("/sum", [1, 2]),
    ]
    assert json.loads(bench.told()[0]) == {"path": "/files/read", "body": {"name": "n"}}
    assert bench.told()[0].startswith('{\n  "path"')
    assert bench.told()[3] == "Error: item is missing"


@pytest.mark.asyncio
async def test_each_problem_has_a_session_of_its_own(bench: Bench) -> None:
    count = says(None, ("count", {"by": 1}))
    last: dict[int, str] = {}

    def model(body: JsonObject) -> JsonObject:
        told = [m["content"] for m in body["messages"] if m["role"] == "tool"]
        start = int(body["messages"][0]["content"])
        if len(told) == 3:
            last[start] = told[-1]
        return DONE if len(told) == 3 else count

    solver = bench.solver(model)
    await solver.open()
    seeds = [SeedResult(prompt=str(n), metadata={"start": n, "gold": "x"}) for n in (0, 100, 200)]
    await asyncio.gather(*(solver.solve(seed, NoSandbox()) for seed in seeds))
    await solver.close()

    assert {start: json.loads(said) for start, said in last.items()} == {
        0: {"count": 3},
        100: {"count": 103},
        200: {"count": 203},
    }
    assert sum(path == "/openapi.json" for _, path, _ in bench.gym.asked) == 1
    assert all("gold" not in (body or {}) for _, _, body in bench.gym.asked)


@pytest.mark.asyncio
async def test_a_session_id_is_sent_where_there_is_a_field_for_it(bench: Bench) -> None:
    bench.gym.seeds = (200, {"session_id": "theirs"})

    await bench.solve(says(None, ("whose", {"question": "q", "session_id": "forged"})), DONE)

    assert bench.called() == [("/whose", {"question": "q", "session_id": "theirs"})]


@pytest.mark.asyncio
async def test_errors_of_a_call_are_told(bench: Bench) -> None:
    await bench.solve(says(None, ("bad", {}), ("slow", {}), ("fly", {})), DONE, tool_timeout=0.5)

    bad, slow, fly = bench.told()
    assert bad == 'HTTP 422: {"path": "/bad", "body": {}}'
    assert slow == "Tool 'slow' timed out after 0.5s"
    assert "there is no tool called 'fly'" in fly


@pytest.mark.asyncio
async def test_calls_of_a_turn_are_made_at_once_and_told_in_order(bench: Bench) -> None:
    await bench.solve(says(None, ("meet", {"n": 1}), ("meet", {"n": 2})), DONE)

    assert [json.loads(said)["body"]["n"] for said in bench.told()] == [1, 2]


@pytest.mark.asyncio
@pytest.mark.parametrize("seeds", [(500, {"detail": "no"}), (404, {})])
async def test_a_server_that_begins_no_session_leaves_the_attempt_without_score(
    bench: Bench, seeds: tuple[int, JsonObject]
) -> None:
    bench.gym.seeds = seeds

    with pytest.raises(InfraError, match="began no session"):
        await bench.solve(DONE)


@pytest.mark.asyncio
async def test_a_server_that_is_not_there_leaves_the_attempt_without_score(bench: Bench) -> None:
    with pytest.raises(InfraError, match="no reply from"):
        await bench.solve(DONE, url="http://127.0.0.1:9")


@pytest.mark.asyncio
async def test_a_description_that_is_none_leaves_the_attempt_without_score(bench: Bench) -> None:
    bench.gym.paths = {"/a": {"post": {"parameters": ["x"]}}}

    with pytest.raises(InfraError, match="is no OpenAPI document that can be read"):
        await bench.solve(DONE)


def test_one_solver_serves_several_runs_each_on_a_loop_of_its_own(bench: Bench) -> None:
    solver = bench.solver(DONE)

    async def run() -> list[SolveResult]:
        await solver.open()
        try:
            asked = (solver.solve(SeedResult(prompt="P"), NoSandbox()) for _ in range(5))
            return await asyncio.gather(*asked)
        finally:
            await solver.close()

    both = [asyncio.run(run()) for _ in range(2)]

    assert [result.response for results in both for result in results] == ["Done."] * 10


@pytest.mark.asyncio
async def test_a_server_without_tools_is_refused(bench: Bench) -> None:
    bench.gym.paths = {"/verify": _posts("Verify")}

    with pytest.raises(InfraError, match="no tools available"):
        await bench.solve(DONE)


@pytest.mark.asyncio
async def test_a_model_is_no_resource(bench: Bench) -> None:
    model = Endpoint(name="tools", url=bench.gym.url, protocol="chat_completions", model="m")
    config = ToolCallingSolver.Config(service="s", resource_service="tools")

    with pytest.raises(ConfigError, match="name a service of type gym"):
        ToolCallingSolver(ModelClient(model), config, resource=model)


@pytest.mark.asyncio
async def test_the_sandboxs_tools_come_first_where_names_are_equal(
    bench: Bench, tmp_path: Path
) -> None:
    bench.gym.paths = {
        "/bash": _posts("Theirs."),
        "/count": PATHS["/count"],
        "/seed_session": _posts(),
    }

    await bench.solve(
        says(None, ("bash", {"command": "echo ours"}), ("count", {"by": 2})),
        DONE,
        sandbox=ProcessSandbox(tmp_path),
        sandbox_tools=True,
    )

    names = [tool["function"]["name"] for tool in bench.model.bodies[0]["tools"]]
    assert names == ["bash", "file_read", "file_write", "str_replace_editor", "count"]
    assert bench.told()[0] == "ours"
    assert json.loads(bench.told()[1]) == {"count": 2}


@pytest.mark.asyncio
async def test_a_problems_own_tools_reach_both_places(bench: Bench, tmp_path: Path) -> None:
    flat: list[JsonObject] = [
        {"type": "function", "name": name, "parameters": {}} for name in ("bash", "count", "free")
    ]

    await bench.solve(
        says(None, ("bash", {"command": "echo 1"}), ("count", {"by": 2}), ("free", {"a": 1})),
        DONE,
        sandbox=ProcessSandbox(tmp_path),
        sandbox_tools=True,
        metadata={"tools": flat},
    )

    sent = bench.model.bodies[0]["tools"]
    assert [tool["function"]["name"] for tool in sent] == ["bash", "count", "free"]
    assert bench.told()[0] == "1"
    assert json.loads(bench.told()[2]) == {"path": "/free", "body": {"a": 1}}
