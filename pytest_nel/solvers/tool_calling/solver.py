"""The solver: its options, what it holds, and what a problem gets of it."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal

from pydantic import Field, ValidationError, model_validator

from pytest_nel.config.schema import Generation, Model
from pytest_nel.core.conversation import conversation
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.sandbox import NoSandbox, Sandbox, SandboxError
from pytest_nel.core.types import Endpoint, SeedResult, SolveResult
from pytest_nel.http.client import ModelClient
from pytest_nel.http.pictures import with_images
from pytest_nel.http.sampling import as_sent
from pytest_nel.http.tools import ToolServer
from pytest_nel.solvers.tool_calling.gym_tools import GymTools, Offer
from pytest_nel.solvers.tool_calling.loop import Rollout, Rules
from pytest_nel.solvers.tool_calling.routing import TOOLS, Router, given_tools
from pytest_nel.solvers.tool_calling.sandbox_tools import SandboxTools
from pytest_nel.solvers.tool_calling.tools import Toolbox


class ToolCallingSolver:
    """Lets the model call tools until it calls for none.

    Args:
        client: Whom to ask.
        config: How.
        resource: The server of ``resource_service``, where there is one.

    Raises:
        ConfigError: The service speaks another protocol, or has not a parameter of generation.
    """

    class Config(Model):
        """Options of ``solver: {type: tool_calling}``.

        Attributes:
            service: The service to ask.
            resource_service: A service of type ``gym`` whose tools may be called.
            sandbox_tools: Whether the problem's sandbox has tools: bash, file_read, file_write,
                str_replace_editor.
            max_turns: Replies of the model at most; what the last one calls for is still done.
            system_prompt: The system message, for every benchmark: it replaces the benchmark's
                own. Empty sends none; null leaves the benchmark's.
            generation: Sampling parameters; what is null comes from the benchmark's, then from
                the service's.
            tool_timeout: Seconds for each call.
            max_output_chars: Of what a call tells the model; of more, the middle is left out.
            max_context_tokens: Of a prompt, from which on the oldest turns are left out; null
                takes the service's ``max_input_tokens``, or what the model says when a prompt is
                too long.
            response_mode: ``last_message``: the answer is the text of the model's last reply, and
                none where that has none.
                ``sandbox_artifact``: what is judged is what was done in the sandbox.
            tool_format: ``native``: tools and calls in the protocol's own form. ``text``: tools
                in the system message and calls in the text, for models without that form.
        """

        service: str
        resource_service: str | None = None
        sandbox_tools: bool = False
        max_turns: Annotated[int, Field(ge=1)] = 50
        system_prompt: str | None = None
        generation: Generation | None = None
        tool_timeout: Annotated[float, Field(gt=0)] = 180.0
        max_output_chars: Annotated[int, Field(ge=0)] = 16384
        max_context_tokens: Annotated[int, Field(gt=0)] | None = None
        response_mode: Literal["last_message", "sandbox_artifact"] = "last_message"
        tool_format: Literal["native", "text"] = "native"

        @model_validator(mode="after")
        def _some_tools(self) -> "ToolCallingSolver.Config":
            if self.resource_service is None and not self.sandbox_tools:
                msg = (
                    "there are no tools: set sandbox_tools: true, or name a service of type gym "
                    "by resource_service, or use solver type simple"
                )
                raise ValueError(msg)
            return self

    version = 1
    """Raised when it asks otherwise than before: stored answers are then not its own."""
    reads_row = True
    uses_sandbox = True

    @staticmethod
    def row_fields(options: Mapping[str, Any]) -> tuple[str, ...] | None:
        """What it reads of a problem's metadata; None: all, for a server's session."""
        return None if options.get("resource_service") else (TOOLS,)

    @property
    def reads_fields(self) -> tuple[str, ...] | None:
        """The same with its own options."""
        return self.row_fields({"resource_service": self._config.resource_service})

    @staticmethod
    def needs_sandbox(options: Mapping[str, Any]) -> bool:
        """Whether it cannot work without one; what is wrong with options is said elsewhere."""
        try:
            return ToolCallingSolver.Config(**options).sandbox_tools
        except ValidationError:
            return False

    def __init__(
        self, client: ModelClient, config: Config, *, resource: Endpoint | None = None
    ) -> None:
        endpoint = client.endpoint
        if endpoint.protocol == "completions":
            msg = (
                f"solver tool_calling: service {endpoint.name!r} speaks {endpoint.protocol}, which "
                "has no conversations: set the service's protocol to chat_completions"
            )
            raise ConfigError(msg)
        self._client = client
        self._config = config
        sampling = config.generation.given() if config.generation else {}
        as_sent({**endpoint.generation, **sampling}, endpoint.protocol)
        self._rules = Rules(
            max_turns=config.max_turns,
            artifact=config.response_mode == "sandbox_artifact",
            in_text=config.tool_format == "text",
            max_context_tokens=config.max_context_tokens or endpoint.max_input_tokens,
            sampling=sampling,
        )
        self._offer = None if resource is None else Offer(_server(resource, config))

    async def open(self) -> None:
        """Bind the clients to the loop of the run."""
        await self._client.open()
        if self._offer is not None:
            await self._offer.open()

    async def close(self) -> None:
        """Let go of that loop: the same solver may serve another run."""
        if self._offer is not None:
            await self._offer.close()
        await self._client.release()

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:
        """Ask, do what is called for, and ask again, until nothing is.

        Raises:
            DataError: The problem's tools or pictures cannot be sent.
            InfraError: The endpoint, the sandbox or the resource server failed.
        """
        given = given_tools(seed.metadata)
        messages = conversation(seed, self._config.system_prompt)
        if seed.images:
            messages = await with_images(messages, seed.images, "auto")
        router = Router(await self._toolboxes(seed, sandbox), self._config.max_output_chars, given)
        return await Rollout(self._client, router, self._rules, messages).run()

    async def _toolboxes(self, seed: SeedResult, sandbox: Sandbox) -> list[Toolbox]:
        boxes: list[Toolbox] = []
        if self._config.sandbox_tools:
            if isinstance(sandbox, NoSandbox):
                msg = (
                    "solver tool_calling has sandbox_tools and there is no sandbox: give the "
                    "benchmark's entry in the suite one, such as sandbox: {type: docker}"
                )
                raise SandboxError(msg, retryable=False)
            boxes.append(SandboxTools(sandbox, self._config.tool_timeout))
        if self._offer is not None:
            boxes.append(await GymTools.begun(self._offer, seed))
        return boxes


def _server(resource: Endpoint, config: ToolCallingSolver.Config) -> ToolServer:
    if resource.kind != "resource":
        msg = (
            f"solver tool_calling: resource_service {resource.name!r} is a model: name a service "
            "of type gym"
        )
        raise ConfigError(msg)
    return ToolServer(resource.name, resource.url, patience=config.tool_timeout)
