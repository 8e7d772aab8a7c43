"""The tools of a sandbox in sandboxes of every kind, and a model that edits files with them."""

import json
import time

import pytest

from pytest_nel.core.types import Endpoint, SeedResult
from pytest_nel.http.client import ModelClient
from pytest_nel.solvers.tool_calling import ToolCallingSolver
from pytest_nel.solvers.tool_calling.sandbox_tools import SandboxTools
from tests.contract.boxes import no_image, started
from tests.unit.solvers.atif import Document
from tests.unit.solvers.scripted import ScriptedModel, running, says

KINDS = [
    pytest.param(
        "docker", marks=pytest.mark.skipif("no_image() is not None", reason=str(no_image()))
    ),
    "local",
]
pytestmark = [pytest.mark.parametrize("kind", KINDS), pytest.mark.asyncio]
WRONG = "def largest(numbers):\n    return min(numbers)\n"
TRIED = "python3 -B -c 'import code_here; print(code_here.largest([3, 9, 4]))'"


async def test_files_are_edited_by_the_calls_of_a_model(kind: str) -> None:
    fix = {"old_str": "min(", "new_str": "max("}
    model = ScriptedModel(
        says("I look around.", ("bash", {"command": "mkdir -p src && cd src && pwd"})),
        says(None, ("file_write", {"path": "code_here.py", "content": WRONG})),
        says(None, ("bash", {"command": TRIED}), ("fly", {})),
        says(
            None, ("str_replace_editor", {"command": "str_replace", "path": "code_here.py", **fix})
        ),
        says(None, ("bash", {"command": f"{TRIED} | tee result.txt"})),
        says("It is fixed."),
    )
    with running(model):
        url = f"{model.url}/v1/chat/completions"
        client = ModelClient(Endpoint("s", url, "chat_completions", "m"))
        solver = ToolCallingSolver(
            client, ToolCallingSolver.Config(service="s", sandbox_tools=True)
        )
        async with started(kind) as sandbox:
            result = await solver.solve(SeedResult(prompt="Fix largest()."), sandbox)
            made = await sandbox.read("src/result.txt")
        await solver.close()

    document = Document.model_validate(json.loads(json.dumps(result.trajectory[0])))
    seen = [
        told.content
        for step in document.steps
        if step.observation is not None
        for told in step.observation.results
    ]
    assert made == b"9\n"
    assert result.response == "It is fixed."
    assert seen[2] == "3"
    assert "there is no tool called 'fly'" in seen[3]
    assert seen[-1] == "9"
    assert document.final_metrics.total_prompt_tokens == 60


async def test_state_rights_bytes_and_time_limits_hold(kind: str) -> None:
    async with started(kind) as sandbox:
        tools = SandboxTools(sandbox, patience=15.0)
        brief = SandboxTools(sandbox, patience=2.0)

        async def bash(command: str) -> str:
            return (await tools.call("bash", {"command": command})).content

        await bash("export X='a b'; mkdir 'd e'; cd 'd e'; exit 3")
        kept = await bash('echo "$X"; basename "$PWD"')
        await bash("printf '#!/bin/sh\\r\\necho \\377\\r\\n' >run; chmod 750 run")
        edit = {"command": "str_replace", "path": "run", "old_str": "echo", "new_str": "printf"}
        await tools.call("str_replace_editor", edit)
        after = await bash("stat -c %a run; od -An -c -w99 run | tr -s ' '")
        began = time.monotonic()
        left = await bash("sleep 30 & echo at once")
        took = time.monotonic() - began
        ended = await brief.call("bash", {"command": "echo so far; sleep 60"})

    assert kept == "a b\nd e"
    assert after.startswith("750\n")
    assert "p r i n t f 377 \\r \\n" in after
    assert (left, took < 8) == ("at once", True)
    assert ended.is_error
    assert ended.content.endswith("\nso far")


async def test_what_the_user_inside_may_not_read_no_tool_reads(kind: str) -> None:
    if kind == "local":
        pytest.skip("a local sandbox has the rights of whoever runs it")
    async with started(kind) as sandbox:
        tools = SandboxTools(sandbox, patience=15.0)
        await sandbox.exec("echo gold >/etc/hidden; chmod 600 /etc/hidden", user="root")

        read = await tools.call("file_read", {"path": "/etc/hidden"})
        wrote = await tools.call("file_write", {"path": "/etc/passwd", "content": "x"})

    assert read.is_error
    assert "ermission denied" in read.content
    assert wrote.is_error
