"""A solver of tool calls with a scripted model and a sandbox of processes, for tests."""

import json
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from pytest_nel.core.types import Endpoint, JsonObject, SeedResult, SolveResult
from pytest_nel.http.client import ModelClient
from pytest_nel.solvers.tool_calling import ToolCallingSolver
from tests.unit.solvers.atif import Document
from tests.unit.solvers.process_sandbox import ProcessSandbox
from tests.unit.solvers.scripted import ScriptedModel, Step, running, says

SEED = SeedResult(prompt="Fix it.", system="You are careful.")
DONE = says("All done.")


class Bench:
    """Runs solvers against scripted models.

    Attributes:
        work: The folder of the sandbox.
    """

    def __init__(self, sandbox: ProcessSandbox, stack: ExitStack) -> None:
        self.sandbox = sandbox
        self.work = Path(sandbox.workdir)
        self.model = ScriptedModel()
        self._stack = stack
        self._stack.enter_context(running(self.model))
        self.endpoint: JsonObject = {}

    def solver(self, *steps: Step, **options: Any) -> ToolCallingSolver:
        self.model.steps = list(steps)
        facts: JsonObject = {
            "name": "s",
            "url": f"{self.model.url}/v1/chat/completions",
            "protocol": "chat_completions",
            "model": "m",
            "max_retries": 0,
            **self.endpoint,
        }
        config = {"service": "s", "sandbox_tools": True, **options}
        client = ModelClient(Endpoint(**facts))
        return ToolCallingSolver(client, ToolCallingSolver.Config.model_validate(config))

    async def solve(self, *steps: Step, seed: SeedResult = SEED, **options: Any) -> SolveResult:
        solver = self.solver(*steps, **options)
        await solver.open()
        try:
            return await solver.solve(seed, self.sandbox)
        finally:
            await solver.close()

    def text(self, name: str) -> str:
        """Of a file in the sandbox."""
        return (self.work / name).read_text()

    def sent(self, turn: int) -> list[JsonObject]:
        """The messages of a request, from 1."""
        messages: list[JsonObject] = self.model.bodies[turn - 1]["messages"]
        return messages


def document(result: SolveResult) -> Document:
    (one,) = result.trajectory
    return Document.model_validate(json.loads(json.dumps(one)))


def contents(messages: Sequence[JsonObject], role: str = "tool") -> list[str]:
    return [message["content"] for message in messages if message["role"] == role]
