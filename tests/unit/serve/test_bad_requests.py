"""Whatever a client sends, the fault is told to whoever has made it."""

import asyncio
import datetime as dt
import json
from collections.abc import Iterator
from typing import Any

import httpx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel import ScorerInput, benchmark, numeric_match, scorer
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.core.types import SeedResult, VerifyResult
from pytest_nel.environments._gym_wire import decoded, encoded, same
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.serve.gym import GymApp
from tests.support.gym import URL, served

ROWS: list[dict[str, Any]] = [
    {"q": "2+2?", "target": "4", "weights": [1, 2]},
    {"q": "3+3?", "target": "6"},
]
EVALUATOR: dict[str, Any] = {"response": "4", "expected": "4", "metadata": {"problem_idx": 0}}
GYM: dict[str, Any] = {"response": "4", "expected_answer": "4", "metadata": {"problem_idx": 0}}


def weighed(sample: ScorerInput) -> object:
    """Compares numbers; weights that cannot be summed are its failure."""
    sum(sample.metadata.get("weights", []))
    return numeric_match(sample)


def sums(rows: list[dict[str, Any]] = ROWS, function: Any = weighed) -> GymApp:
    made = benchmark(name="sums", dataset=rows, prompt="{q}")(scorer(function))
    return GymApp(served(BenchmarkEnvironment(made)))


async def ask(app: GymApp, *asked: tuple[str, object]) -> list[httpx.Response]:
    """Post JSON or bytes; an error of the application's is one here."""
    async with httpx.AsyncClient(transport=httpx.ASGITransport(app=app.asgi), base_url=URL) as http:
        return [
            await http.post(
                path, content=body if isinstance(body, bytes) else json.dumps(body).encode()
            )
            for path, body in asked
        ]


@pytest.mark.parametrize(
    ("body", "field"),
    [
        ({**EVALUATOR, "expected": "four"}, "expected"),
        ({**GYM, "expected_answer": "four"}, "expected_answer"),
        ({**EVALUATOR, "metadata": {"problem_idx": 0, "weights": "?"}}, "metadata.weights"),
        ({**GYM, "verifier_metadata": {"weights": [{}]}}, "metadata.weights"),
        ({**GYM, "expected_answer": "", "metadata": {"problem_idx": 1}}, "expected_answer"),
    ],
)
@pytest.mark.asyncio
async def test_what_the_scorer_cannot_judge_by_is_named_where_the_client_has_changed_it(
    body: object, field: str
) -> None:
    (reply,) = await ask(sums(), ("/verify", body))

    assert reply.status_code == 422
    told = reply.json()["detail"]
    assert told.startswith(f"{field}: not as /seed_session gave it for idx=")
    assert "and the scorer cannot judge by that" in told


@pytest.mark.asyncio
async def test_another_gold_answer_that_can_be_judged_by_is_judged_by() -> None:
    (reply,) = await ask(sums(), ("/verify", {**EVALUATOR, "expected": "5"}))

    assert (reply.status_code, reply.json()["reward"]) == (200, 0.0)


class Levels(EvalEnvironment):
    """Its verifier needs what its problems have."""

    def __init__(self) -> None:
        self.name = "levels"

    async def dataset_size(self) -> int:
        return 2

    async def seed(self, idx: int) -> SeedResult:
        return SeedResult(f"{idx}?", str(idx), {"level": idx, "tags": ["a"]})

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        del sandbox
        right = response == expected and metadata["level"] + len(metadata["tags"]) > 0
        return VerifyResult(float(right), response)


@pytest.mark.asyncio
async def test_metadata_that_a_class_misses_are_named() -> None:
    body = {"response": "1", "expected": "1"}
    app = GymApp(served(Levels()))

    whole, without_tags, of_another_type = await ask(
        app,
        ("/verify", {**body, "metadata": {"served_idx": 1, "level": 1, "tags": ["a"]}}),
        ("/verify", {**body, "metadata": {"served_idx": 1, "level": 1}}),
        ("/verify", {**body, "metadata": {"served_idx": 1, "level": "1", "tags": []}}),
    )

    assert (whole.status_code, whole.json()["reward"]) == (200, 1.0)
    assert without_tags.status_code == of_another_type.status_code == 422
    assert without_tags.json()["detail"].startswith("metadata.tags: not as /seed_session")
    assert of_another_type.json()["detail"].startswith("metadata.level, metadata.tags: not as")


def deep(levels: int, name: str | None = None) -> object:
    """A list in a list in a list…, or objects."""
    found: object = 1
    for _ in range(levels):
        found = [found] if name is None else {name: found}
    return found


ODD: list[Any] = [
    *(None, True, False, 0, -1, 10**30, 1.5, 1e308, [], {}, [[]], {"a": [1]}, "", "abc"),
    *("\ud800", "\x00", "x" * 10_000, "9" * 5_000, "1e999999999", "1/0", "NaN", "∞", "١٢"),
    *(deep(100), deep(900), deep(300, "output"), deep(900, "choices")),
]
FIELDS = (
    *("response", "expected", "expected_answer", "metadata", "verifier_metadata"),
    *("responses_create_params", "more"),
)
KEYS = ("problem_idx", "served_idx", "q", "weights", "target", "response", "sandbox", "self")
RAW = [
    *(b"", b" ", b"\xff\xfe", b"{", b"null", b"NaN", b'{"idx": NaN}', b'{"idx": -Infinity}'),
    *(b"[" * 100_000, b'{"a":' * 100_000, b'{"idx":' + b"9" * 5_000 + b"}", b"\x00"),
    *('{"idx": 7}'.encode("utf-16"), b'{"response": "\\ud800"}', b'\xef\xbb\xbf{"idx": 9}'),
]


def odd_requests() -> Iterator[tuple[str, object]]:
    """Everything odd in every place."""
    for path in ("/seed_session", "/verify"):
        yield from ((path, raw) for raw in RAW)
    for odd in ODD:
        yield from (("/seed_session", body) for body in (odd, {"idx": odd}, {"more": odd}))
        yield "/verify", odd
        for form in (EVALUATOR, GYM):
            yield from (("/verify", {**form, field: odd}) for field in FIELDS)
            for key in KEYS:
                yield "/verify", {**form, "metadata": {"problem_idx": 0, key: odd}}
            for said in _responses(odd):
                yield "/verify", {**form, "response": said}


def _responses(odd: object) -> Iterator[object]:
    part = {"type": odd, "role": odd, "content": [{"text": odd}]}
    yield from ({"output": odd}, {"output": [odd]}, {"output": [part]}, {"output_text": odd})
    message = {"message": {"content": odd}}
    yield from ({"choices": odd}, {"choices": [odd]}, {"choices": [message]})


@pytest.mark.asyncio
async def test_no_odd_request_is_a_fault_of_the_server() -> None:
    asked = list(odd_requests())

    replies = await ask(sums(), *asked)

    faults = [
        (path, str(body)[:80], reply.status_code, reply.text[:200])
        for (path, body), reply in zip(asked, replies, strict=True)
        if reply.status_code >= 500
    ]
    assert faults == []
    for reply in replies:
        said = decoded(reply.content)  # strict JSON
        assert reply.status_code == 200 or said["detail"]
    assert {reply.status_code for reply in replies} == {200, 400, 422}


JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=9),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(st.sampled_from(KEYS) | st.text(max_size=3), inner, max_size=3)
    ),
    max_leaves=8,
)


@given(st.dictionaries(st.sampled_from(FIELDS), JSON), st.booleans())
def test_no_request_at_all_is_a_fault_of_the_server(fields: dict[str, Any], known: bool) -> None:  # noqa: FBT001
    body = {**fields, "metadata": {**GYM["metadata"], "more": fields}} if known else fields

    (reply,) = asyncio.run(ask(sums(), ("/verify", body)))

    assert reply.status_code in {200, 400, 422}
    assert decoded(reply.content)


def test_a_scorer_has_the_values_of_a_run_and_not_what_json_makes_of_them() -> None:
    seen: list[dict[str, Any]] = []

    def looks(sample: ScorerInput) -> object:
        seen.append(dict(sample.metadata))
        return True

    day = dt.date(2024, 2, 29)
    facts = {"pair": (1, 2), "day": day, "odd": float("inf"), "expected": "y", "kept": "x"}
    made = benchmark(
        name="seeded",
        dataset=[{"q": "?"}],
        prompt="",
        target_field="q",
        seed_fn=lambda row, idx: SeedResult(row["q"], str(idx), facts),
    )(scorer(looks))
    app = GymApp(served(BenchmarkEnvironment(made)))

    (seed,) = asyncio.run(ask(app, ("/seed_session", {})))
    metadata = {**decoded(seed.content)["metadata"], "kept": "changed"}
    (judged,) = asyncio.run(ask(app, ("/verify", {**EVALUATOR, "metadata": metadata})))

    assert judged.status_code == 200, judged.text
    (found,) = seen
    assert (found["pair"], found["day"], found["odd"]) == ((1, 2), day, float("inf"))
    assert (found["expected"], found["kept"]) == ("y", "changed")


@given(JSON)
def test_what_a_client_sends_back_is_the_same(value: object) -> None:
    assert same(value, value)
    assert same(value, decoded(encoded(value)))
