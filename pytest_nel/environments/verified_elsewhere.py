"""Problems of one benchmark, judged by a server: ``verifier`` in a benchmark's entry."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from pytest_nel.core.conversation import conversation
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import ImageFacts, Sandbox, SandboxSpec
from pytest_nel.core.types import JsonObject, SeedResult, VerifyResult
from pytest_nel.environments._gym_http import GymClient
from pytest_nel.environments._gym_native import result_of, verify_body
from pytest_nel.environments.gym import rewarded
from pytest_nel.http.pictures import with_images
from pytest_nel.http.responses import fields

SEEDED = "seeded_idx"
"""The key of a seed's metadata that leads back to the problem."""
_ASKED_FOR = ("another_size", "lacks_solution", "seed_now", "without_network")
"""What only some environments say of their problems, and who wants it looks whether it is there."""


class VerifiedElsewhere(EvalEnvironment):
    """Everything of an environment but its judgements, which a server gives (native protocol).

    Args:
        seeds: Gives the problems.
        judge: What determines the server's judgements, as far as it is known.
        timeout: Seconds for one judgement.
    """

    def __init__(self, seeds: EvalEnvironment, judge: Mapping[str, Any], *, timeout: float) -> None:
        self.name = seeds.name
        self.min_score = seeds.min_score
        self.endpoint_type = getattr(seeds, "endpoint_type", "chat")
        self.seeds = seeds
        self._judge = dict(judge)
        self._timeout = timeout
        self._client: GymClient | None = None

    def __getattr__(self, name: str) -> Any:  # Any: as those of the problems' environment
        """What its problems' environment says of them, where it says that."""
        if name in _ASKED_FOR:
            return getattr(self.seeds, name)
        msg = f"{type(self).__name__!r} object has no attribute {name!r}"
        raise AttributeError(msg)

    def at(
        self,
        url: str,
        client: GymClient | None = None,
        gone: Callable[[], str | None] | None = None,
    ) -> None:
        """Say where the server is, before anything is judged.

        Args:
            url: Its base URL.
            client: Asks it; None: one of its own.
            gone: Says why it has ended for good, or None; None where nobody watches it.
        """
        self._client = client or GymClient(url, timeout=self._timeout)
        self._client.gone = gone or self._client.gone

    async def dataset_size(self) -> int:
        """That of the problems."""
        return await self.seeds.dataset_size()

    async def seed(self, idx: int) -> SeedResult:
        """The problem, with a way back to it."""
        seed = await self.seeds.seed(idx)
        return replace(seed, metadata={**seed.metadata, SEEDED: idx})

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        """Have the server judge.

        Raises:
            InfraError: It did not.
            ConfigError: Nobody has said where it is.
            DataError: A picture of the problem cannot be read.
        """
        del sandbox
        if self._client is None:
            msg = f"benchmark {self.name}: its verifier is not started: a run of a suite starts it"
            raise ConfigError(msg)
        seed = await self.seeds.seed(metadata.pop(SEEDED))
        body = verify_body(await _row(seed, expected, metadata), response)
        return result_of(rewarded(await self._client.ask("/verify", body)), body)

    async def sandbox_specs(self) -> Sequence[SandboxSpec] | None:
        """Those in which problems are solved."""
        return await self.seeds.sandbox_specs()

    def sandbox_warnings(self, memory: int | None, cpus: float | None) -> Iterable[str]:
        """As the problems' environment."""
        return self.seeds.sandbox_warnings(memory, cpus)

    @property
    def images_by_problem(self) -> bool:  # type: ignore[override]  # others just say it
        """As the problems' environment."""
        return self.seeds.images_by_problem

    def problems_chosen(self, problems: Sequence[int]) -> None:
        """As the problems' environment."""
        self.seeds.problems_chosen(problems)

    def images_known(self, found: Sequence[tuple[SandboxSpec, ImageFacts]]) -> None:
        """As the problems' environment."""
        self.seeds.images_known(found)

    async def prepare(self) -> None:
        """As the problems' environment."""
        await self.seeds.prepare()

    async def close(self) -> None:
        """Close both."""
        if self._client is not None:
            await self._client.close()
        await self.seeds.close()

    def problem_id(self, idx: int) -> str:
        """As the problems' environment."""
        return self.seeds.problem_id(idx)

    def twin(self, idx: int) -> str:
        """As the problems' environment."""
        return self.seeds.twin(idx)

    @property
    def pass_at(self) -> float:
        """As the problems' environment."""
        return self.seeds.pass_at

    def judging(self) -> Mapping[str, Any]:
        """The server as the suite describes it: it says nothing of itself."""
        return {"verifier": self._judge, "pass_at": self.pass_at}

    def fingerprint(self) -> Mapping[str, Any]:
        """The data of the problems, and who judges."""
        own = dict(self.seeds.fingerprint())
        own.pop("extra", None)  # settings of a scorer that is not asked
        return {**own, "scorer": "verifier", "verifier": self._judge}


async def _row(seed: SeedResult, expected: str, metadata: Mapping[str, Any]) -> JsonObject:
    """A problem as a row of the native protocol: whole, whoever has solved it how."""
    asked = conversation(seed, None)
    if seed.images:
        asked = await with_images(asked, seed.images, "auto")
    return {
        **metadata,
        "responses_create_params": {"input": fields(asked)["input"]},
        "expected_answer": expected,
        "metadata": dict(metadata),
        "verifier_metadata": dict(metadata),
    }
