"""One chat request per problem."""

from pytest_nel.config.schema import Generation, Model
from pytest_nel.core.conversation import conversation
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import SeedResult, SolveResult
from pytest_nel.http.answer import answer_flags
from pytest_nel.http.client import ModelClient
from pytest_nel.http.pictures import Detail, with_images
from pytest_nel.http.sampling import as_sent


class SimpleSolver:
    """Sends the problem as a conversation and takes the reply as the answer.

    Raises:
        ConfigError: The service speaks another protocol, or has not a parameter of generation.
    """

    class Config(Model):
        """Options of ``solver: {type: simple}``.

        Attributes:
            service: The service to ask.
            system_prompt: The system message, for every benchmark: it replaces the benchmark's
                own. Empty sends none; null leaves the benchmark's.
            generation: Sampling parameters; what is null comes from the benchmark's, then from
                the service's.
            image_detail: How closely the model looks at a problem's pictures.
        """

        service: str
        system_prompt: str | None = None
        generation: Generation | None = None
        image_detail: Detail = "auto"

    version = 1
    """Raised when it asks otherwise than before: stored answers are then not its own."""
    reads_row = False
    uses_sandbox = False

    def __init__(self, client: ModelClient, config: Config) -> None:
        if client.endpoint.protocol == "completions":
            msg = (
                f"solver simple: service {client.endpoint.name!r} speaks "
                f"{client.endpoint.protocol}; use solver type completion, or set the service's "
                "protocol to chat_completions"
            )
            raise ConfigError(msg)
        self._client = client
        self._system = config.system_prompt
        self._sampling = config.generation.given() if config.generation else {}
        self._detail = config.image_detail
        as_sent({**client.endpoint.generation, **self._sampling}, client.endpoint.protocol)

    async def open(self) -> None:
        """Bind the client to the loop of the run."""
        await self._client.open()

    async def close(self) -> None:
        """Let go of that loop: the same solver may serve another run."""
        await self._client.release()

    async def solve(self, seed: SeedResult, sandbox: Sandbox) -> SolveResult:  # noqa: ARG002  # the role's signature
        """Ask once.

        Raises:
            DataError: A picture of the problem cannot be sent.
            InfraError: The endpoint gave no answer.
        """
        messages = conversation(seed, self._system)
        if seed.images:
            messages = await with_images(messages, seed.images, self._detail)
        reply = await self._client.chat(messages, **self._sampling)
        return SolveResult(
            response=reply.content, model_response=reply, scoring_details=answer_flags(reply)
        )
