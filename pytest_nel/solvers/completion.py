"""One text-completion request per problem."""

from pydantic import field_validator

from pytest_nel.config.schema import Generation, Model
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import SeedResult, SolveResult
from pytest_nel.http.answer import answer_flags
from pytest_nel.http.client import ModelClient


class CompletionSolver:
    """Lets the model continue the prompt; for base models.

    Raises:
        ConfigError: The service speaks another protocol.
    """

    class Config(Model):
        """Options of ``solver: {type: completion}``.

        Attributes:
            service: The service to ask.
            generation: Sampling parameters; what is null comes from the benchmark's, then from
                the service's.
            system_prompt: Not possible here: a completions endpoint has no system role.
        """

        service: str
        generation: Generation | None = None
        system_prompt: None = None

        @field_validator("system_prompt", mode="before")
        @classmethod
        def _no_system_prompt(cls, value: object) -> None:
            if value is not None:
                msg = (
                    "a completions endpoint has no system role: put the text into the "
                    "benchmark's prompt, or use solver type simple with a chat endpoint"
                )
                raise ValueError(msg)

    version = 1
    """Raised when it asks otherwise than before: stored answers are then not its own."""
    reads_row = False
    uses_sandbox = False

    def __init__(self, client: ModelClient, config: Config) -> None:
        if client.endpoint.protocol != "completions":
            msg = (
                f"solver completion: service {client.endpoint.name!r} speaks "
                f"{client.endpoint.protocol}; use solver type simple, or set the service's "
                "protocol to completions"
            )
            raise ConfigError(msg)
        self._client = client
        self._sampling = config.generation.given() if config.generation else {}

    async def open(self) -> None:
        """Bind the client to the loop of the run."""
        await self._client.open()

    async def close(self) -> None:
        """Let go of that loop: the same solver may serve another run."""
        await self._client.release()

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:  # noqa: ARG002  # the role's signature
        """Ask once.

        Raises:
            ConfigError: The problem has images or is a conversation.
            InfraError: The endpoint gave no answer.
        """
        if seed.images:
            msg = (
                "solver completion sends text only, but the problem has images: use solver type "
                "simple with a chat endpoint"
            )
            raise ConfigError(msg)
        reply = await self._client.complete(plain_prompt(seed), **self._sampling)
        return SolveResult(
            response=reply.content, model_response=reply, scoring_details=answer_flags(reply)
        )


def plain_prompt(seed: SeedResult) -> str:
    r"""The problem as one text: the system prompt, if any, ``\n\n`` and the prompt.

    Messages are accepted when they are no more than that: an optional system message and one
    user message, both text.

    Raises:
        ConfigError: The messages are a longer conversation, which one text cannot carry.
    """
    if seed.messages is None:
        return f"{seed.system}\n\n{seed.prompt}" if seed.system else seed.prompt
    messages = list(seed.messages)
    system: object = seed.system
    if messages and messages[0].get("role") in ("system", "developer"):
        system = messages.pop(0).get("content")
    user = messages[0].get("content") if len(messages) == 1 else None
    if not isinstance(user, str) or not isinstance(system, (str, type(None))):
        msg = (
            f"solver completion cannot send a conversation of {len(seed.messages)} messages to a "
            "completions endpoint: use solver type simple with a chat endpoint"
        )
        raise ConfigError(msg)
    if messages[0].get("role") != "user":
        msg = "solver completion: the problem's last message is not the user's: nothing to complete"
        raise ConfigError(msg)
    return f"{system}\n\n{user}" if system else user
