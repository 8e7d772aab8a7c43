"""A benchmark that a server judges keeps everything else of what it wraps."""

import json
from collections.abc import Iterable, Mapping
from typing import Any

import httpx
import pytest

from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.types import SeedResult
from pytest_nel.environments._gym_http import GymClient
from pytest_nel.environments.verified_elsewhere import VerifiedElsewhere

PICTURE = "data:image/png;base64,iVBORw0KGgo="
TEXT = {"type": "input_text", "text": "What is this?"}


class Told(EvalEnvironment):
    """Says all that an environment can say of its problems."""

    another_size = "told: 2 problems were loaded, and the whole set has 3"

    def __init__(self, seed: SeedResult) -> None:
        self.name = "told"  # of the object: a class with a name is a benchmark of this file
        self._seed = seed

    async def seed(self, idx: int) -> SeedResult:
        del idx
        return self._seed

    def seed_now(self, idx: int) -> SeedResult:
        del idx
        return self._seed

    def lacks_solution(self) -> list[str]:
        return ["a"]

    def without_network(self) -> list[str]:
        return ["b"]

    def sandbox_warnings(self, memory: int | None, cpus: float | None) -> Iterable[str]:
        return [f"asks for more than {memory} and {cpus}"]


def test_what_an_environment_says_of_its_problems_is_said_of_those_judged_elsewhere() -> None:
    seed = SeedResult("Q")
    wrapped: Any = VerifiedElsewhere(Told(seed), {}, timeout=1.0)
    silent = VerifiedElsewhere(EvalEnvironment(), {}, timeout=1.0)

    assert wrapped.another_size == Told.another_size
    assert list(wrapped.sandbox_warnings(5, 1.0)) == ["asks for more than 5 and 1.0"]
    assert (wrapped.lacks_solution(), wrapped.without_network()) == (["a"], ["b"])
    assert wrapped.seed_now(0) is seed
    for name in ("another_size", "lacks_solution", "seed_now", "without_network", "at_all"):
        assert not hasattr(silent, name)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("seed", "asked"),
    [
        (SeedResult("Q"), [{"role": "user", "content": "Q"}]),
        (
            SeedResult("Q", system="Be brief."),
            [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Q"}],
        ),
        (
            SeedResult("-", messages=[{"role": "user", "content": "Q"}], system="Be brief."),
            [{"role": "system", "content": "Be brief."}, {"role": "user", "content": "Q"}],
        ),
        (
            SeedResult("What is this?", images=[PICTURE]),
            [
                {
                    "role": "user",
                    "content": [
                        TEXT,
                        {"type": "input_image", "image_url": PICTURE, "detail": "auto"},
                    ],
                }
            ],
        ),
    ],
)
async def test_the_server_is_sent_the_whole_problem(
    seed: SeedResult, asked: list[dict[str, Any]]
) -> None:
    rows: list[Mapping[str, Any]] = []

    def verify(request: httpx.Request) -> httpx.Response:
        rows.append(json.loads(request.content))
        return httpx.Response(200, json={"reward": 1.0})

    wrapped = VerifiedElsewhere(Told(seed), {}, timeout=1.0)
    wrapped.at("http://h:1", GymClient("http://h:1", transport=httpx.MockTransport(verify)))
    metadata = (await wrapped.seed(0)).metadata

    await wrapped.verify("A", "gold", **metadata)
    await wrapped.close()

    assert rows[0]["responses_create_params"] == {"input": asked}
    assert rows[0]["expected_answer"] == "gold"
