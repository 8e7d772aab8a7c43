"""A benchmark as an environment."""

import random
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.core.errors import ConfigError, DataError, GracefulError, ScorerError
from pytest_nel.core.sandbox import NoSandbox
from pytest_nel.core.types import ScorerInput, SeedResult
from pytest_nel.environments.builtin import BenchmarkEnvironment, scorer_identity

ROWS: list[dict[str, Any]] = [
    {"id": "fr", "question": "Capital of France?", "target": "Paris", "category": "eu"},
    {"id": "jp", "question": "Capital of {Japan}?", "target": "Tokyo", "category": "asia"},
]


def environment(limit: int | None = None, **arguments: Any) -> BenchmarkEnvironment:
    given: dict[str, Any] = {"name": "capitals", "dataset": ROWS, **arguments}
    if "seed_fn" not in given:
        given.setdefault("prompt", "Q: {question}")
    return BenchmarkEnvironment(Benchmark(**given), limit=limit)


def refusal(**arguments: Any) -> str:
    with pytest.raises(DataError) as caught:
        environment(**arguments)
    return str(caught.value)


def judge(env: BenchmarkEnvironment, response: str, idx: int = 0) -> Any:
    seed = env.seed_now(idx)
    return env.verify_now(response, seed.expected_answer, seed.metadata)


def test_a_row_becomes_a_problem() -> None:
    seed = environment(system_prompt="Be brief.").seed_now(1)

    assert seed.prompt == "Q: Capital of {Japan}?"
    assert seed.expected_answer == "Tokyo"
    assert seed.system == "Be brief."
    assert seed.messages == [
        {"role": "system", "content": "Be brief."},
        {"role": "user", "content": "Q: Capital of {Japan}?"},
    ]
    assert seed.metadata == {
        "source": "byob",
        "benchmark": "capitals",
        "id": "jp",
        "question": "Capital of {Japan}?",
        "category": "asia",
        "problem_idx": 1,
    }


@pytest.mark.asyncio
async def test_the_awaited_seed_is_the_same_and_the_size_is_known() -> None:
    env = environment()

    assert await env.seed(0) == env.seed_now(0)
    assert await env.dataset_size() == len(env) == 2


def test_a_problem_that_is_not_there_is_an_index_error() -> None:
    with pytest.raises(IndexError, match=r"idx=2 out of range \[0, 2\)"):
        environment().seed_now(2)


def test_fields_of_the_row_win_over_ours_except_the_index() -> None:
    rows = [{"question": "x", "target": "y", "source": "mine", "problem_idx": 99}]

    metadata = environment(dataset=rows).seed_now(0).metadata

    assert metadata["source"] == "mine"
    assert metadata["problem_idx"] == 0


def test_the_gold_answer_is_hidden_from_solvers_under_all_its_names() -> None:
    rows = [{"question": "x", "answer": "gold"}]

    seed = environment(dataset=rows, field_mapping={"answer": "target"}).seed_now(0)

    assert "gold" not in str(seed.metadata)
    assert seed.expected_answer == "gold"


def test_the_scorer_sees_the_whole_row_and_the_settings() -> None:
    seen: list[ScorerInput] = []

    def watch(sample: ScorerInput) -> bool:
        seen.append(sample)
        return True

    judge(environment(scorer=watch, extra={"k": 1}), "answer", 1)

    assert seen[0].response == "answer"
    assert seen[0].target == "Tokyo"
    assert seen[0].metadata["target"] == "Tokyo"
    assert seen[0].metadata["category"] == "asia"
    assert seen[0].config == {"k": 1}


def test_without_a_scorer_equality_decides() -> None:
    env = environment()

    right, wrong = judge(env, " paris \n"), judge(env, "Rome")

    assert (right.reward, right.extracted_answer, right.parsed) == (1.0, "paris", True)
    assert (wrong.reward, wrong.extracted_answer, wrong.parsed) == (0.0, "Rome", True)
    assert right.scoring_details["method"] == "byob_capitals"


@pytest.mark.parametrize("blank", ["", " \n\t"])
def test_a_blank_response_is_unparsed_and_not_scored(blank: str) -> None:
    def never(sample: ScorerInput) -> bool:
        raise AssertionError(sample)

    result = judge(environment(scorer=never), blank)

    assert (result.reward, result.parsed, result.extracted_answer) == (0.0, False, None)
    assert result.scoring_details == {"method": "byob_capitals", "empty": True}


def test_a_scorer_that_raises_is_blamed_with_row_and_line() -> None:
    def broken(sample: ScorerInput) -> bool:
        return bool(sample.metadata["no such field"])

    with pytest.raises(ScorerError) as caught:
        judge(environment(scorer=broken), "x", 1)

    message = str(caught.value)
    assert message.startswith(
        "test_benchmark_environment.py:capitals rows[1] (id 'jp'): the scorer failed: "
    )
    assert "KeyError: 'no such field'" in message
    assert f"{__file__}:" in message


@pytest.mark.parametrize("returned", [None, "yes", float("nan"), 2, {}, {"reward": "x"}])
def test_what_is_no_reward_is_a_scorer_error_with_the_row(returned: object) -> None:
    with pytest.raises(
        ScorerError, match=r"test_benchmark_environment\.py:capitals rows\[0\] \(id 'fr'\)"
    ):
        judge(environment(scorer=lambda _: returned), "x")


def test_a_plain_scorer_that_returns_a_coroutine_is_a_scorer_error() -> None:
    async def later() -> bool:
        return True

    with pytest.raises(ScorerError):
        judge(environment(scorer=lambda _: later()), "x")


def test_errors_of_our_own_pass_through() -> None:
    def gives_up(sample: ScorerInput) -> bool:
        raise GracefulError(str(sample.target))

    with pytest.raises(GracefulError):
        judge(environment(scorer=gives_up), "x")


@pytest.mark.asyncio
async def test_an_async_scorer_is_awaited_and_only_that() -> None:
    async def slow(sample: ScorerInput) -> dict[str, bool]:
        return {"correct": sample.response == sample.target}

    env = environment(scorer=slow)
    seed = env.seed_now(0)

    result = await env.verify("Paris", seed.expected_answer, None, **seed.metadata)

    assert result.reward == 1.0
    assert not env.judges_now
    with pytest.raises(NotImplementedError, match="async"):
        env.verify_now("Paris", "Paris", seed.metadata)


@pytest.mark.asyncio
async def test_an_async_scorer_that_raises_is_blamed_too() -> None:
    async def broken(sample: ScorerInput) -> bool:
        raise ValueError(sample.response)

    env = environment(scorer=broken)
    seed = env.seed_now(0)

    with pytest.raises(ScorerError, match="ValueError: x"):
        await env.verify("x", seed.expected_answer, None, **seed.metadata)


@pytest.mark.asyncio
async def test_a_plain_scorer_can_be_awaited_as_well() -> None:
    sandbox = NoSandbox()
    env = environment(scorer=lambda sample: sample.sandbox is sandbox)
    seed = env.seed_now(0)

    assert (await env.verify("Paris", "Paris", sandbox, **seed.metadata)).reward == 1.0
    assert env.judges_now


def test_metadata_that_leads_to_no_row_is_a_scorer_error() -> None:
    with pytest.raises(ScorerError, match="problem_idx=None"):
        environment().verify_now("x", "x", {})


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"prompt": "{qestion}"}, "the prompt uses {qestion}, but rows[0] has no field"),
        ({"prompt": 'Return {"a":1}. {question}'}, "for a literal brace write {{ or }}"),
        ({"target_field": "answer"}, "no field 'answer' in rows[0] for the gold answer"),
        ({"field_mapping": {"no": "x"}}, "field_mapping names 'no', which rows[0] does not have"),
        ({"field_mapping": {"id": "question"}}, "would overwrite field 'question' of rows[0]"),
        ({"id_field": "nope"}, "field 'nope' should name the problem"),
        ({"id_field": "k", "prepare_row": lambda row, *_: {**row, "k": 1}}, "should differ"),
        ({"prepare_row": lambda *_: None}, "it returned None (is the return missing?)"),
        ({"prepare_row": lambda *_: [1]}, "it returned list"),
        ({"prepare_row": lambda row, *_: row["no"]}, "prepare_row failed at rows[0]"),
        ({"prepare_row": lambda row, *_: {**row, "x": {1, 2}}}, "rows[0]: field 'x': expected"),
        ({"seed_fn": lambda *_: "text"}, "seed_fn returned str for rows[0]"),
        ({"seed_fn": lambda *_: SeedResult(prompt=" ")}, "neither prompt nor messages"),
        ({"seed_fn": lambda row, _: row["no"]}, "seed_fn failed at rows[0]"),
    ],
)
def test_what_is_wrong_with_the_data_shows_when_it_is_loaded(
    arguments: dict[str, Any], words: str
) -> None:
    assert words in refusal(**arguments)


@pytest.mark.parametrize(
    ("last", "words"),
    [
        ({"question": "x"}, "no field 'target' in rows[2]"),
        ({"question": "x", "target": None}, "(field 'target') of rows[2] is null"),
        ({"question": "x", "target": " "}, "(field 'target') of rows[2] is empty"),
        ({"question": None, "target": "y"}, "which is null in rows[2]"),
        ({"target": "y"}, "rows[2] has no field 'question'"),
    ],
)
def test_every_row_is_checked_not_only_the_first(last: dict[str, Any], words: str) -> None:
    assert words in refusal(dataset=[*ROWS, last])


def test_a_prompt_that_comes_out_empty_is_refused() -> None:
    rows = [{"question": "", "target": "y"}]

    assert "the prompt of rows[0] is empty" in refusal(dataset=rows, prompt="{question}")


def test_duplicate_ids_are_refused() -> None:
    assert "should differ in every row: 'fr' in rows[0] and rows[2]" in refusal(
        dataset=[*ROWS, ROWS[0]]
    )


def test_an_empty_dataset_is_refused() -> None:
    assert "there are no rows in it" in refusal(dataset=[])


def test_a_benchmark_without_gold_answers_says_so_and_has_a_scorer() -> None:
    env = environment(dataset=[{"question": "x"}], target_field=None, scorer=lambda _: 0.5)

    assert env.seed_now(0).expected_answer == ""
    assert judge(env, "anything").reward == 0.5


def test_gold_answers_that_are_no_text_become_text() -> None:
    rows = [{"question": "x", "target": value} for value in (2, True, 1.5, ["a", "é"])]

    env = environment(dataset=rows)

    assert [env.seed_now(idx).expected_answer for idx in range(4)] == [
        "2",
        "True",
        "1.5",
        '["a", "é"]',
    ]


def shuffled(row: dict[str, Any], _: int, rng: random.Random) -> dict[str, Any]:
    rng.shuffle(row["choices"])
    return row


def test_a_row_is_prepared_the_same_in_a_subset_and_every_time() -> None:
    rows = [{"question": "x", "target": "y", "choices": list(range(9))} for _ in range(3)]

    def choices(limit: int | None) -> list[Any]:
        env = environment(limit, dataset=rows, prepare_row=shuffled)
        return [env.seed_now(idx).metadata["choices"] for idx in range(len(env))]

    whole = choices(None)

    assert choices(None) == whole
    assert choices(2) == whole[:2]
    assert whole[0] != whole[1]
    assert rows[0]["choices"] == list(range(9))


def test_an_author_may_build_the_whole_problem() -> None:
    def build(row: dict[str, Any], idx: int) -> SeedResult:
        return SeedResult(prompt=f"{idx}: {row['question']}", metadata={"category": "own"})

    env = environment(
        seed_fn=build, scorer=lambda sample: sample.metadata["target"] == "Tokyo", system_prompt="S"
    )
    seed = env.seed_now(1)

    assert seed.prompt == "1: Capital of {Japan}?"
    assert (seed.system, seed.messages) == ("S", None)
    assert seed.metadata["category"] == "own"
    assert "target" not in seed.metadata
    assert judge(env, "x", 1).reward == 1.0


def test_a_problem_is_named_by_id_or_by_content() -> None:
    plain = [{"question": "x", "target": "y"}, {"question": "z", "target": "y"}]
    env = environment(dataset=[*plain, plain[0]])
    other = environment(dataset=list(reversed(plain)))

    names = [env.problem_id(idx) for idx in range(3)]

    assert environment().problem_id(1) == "jp"
    assert environment(id_field="question").problem_id(0) == "Capital of France?"
    assert names[2] == f"{names[0]}-2"
    assert len(names[0]) == 12
    assert [other.problem_id(0), other.problem_id(1)] == [names[1], names[0]]


def test_the_fingerprint_follows_what_was_measured() -> None:
    def of(**arguments: Any) -> dict[str, Any]:
        return dict(environment(**arguments).fingerprint())

    same = of()

    def differs(**arguments: Any) -> set[str]:
        return {key for key, value in of(**arguments).items() if value != same[key]}

    assert of() == same
    assert differs(prompt="Question: {question}") == {"prompts"}
    assert differs(system_prompt="S") == {"prompts"}
    assert differs(extra={"a": 1}) == {"extra"}
    assert differs(scorer=lambda _: True) == {"scorer"}
    assert differs(pass_at=0.5) == {"pass_at"}
    assert differs(prepare_row=lambda row, *_: {**row, "more": 1}) == {"rows_hash"}
    assert differs(dataset=ROWS[:1]) == {"content_hash", "rows_hash", "prompts"}


def test_the_scorer_is_known_by_its_source_not_by_its_place() -> None:
    def one(sample: ScorerInput) -> bool:
        return bool(sample.response)

    identity = scorer_identity(Benchmark(name="b", dataset=ROWS, prompt="x", scorer=one))

    assert identity.startswith("test_benchmark_environment.py:")
    assert " sha256:" in identity
    assert str(Path(__file__).parent) not in identity


def test_packages_are_checked_before_anything_is_loaded() -> None:
    with pytest.raises(ConfigError, match="pip install 'no-such-package-nel'"):
        environment(requirements=["no-such-package-nel"], dataset="gone.jsonl")


def test_data_and_prompt_lie_beside_the_benchmark(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"q": "x", "target": "y"}\n', encoding="utf-8")
    (tmp_path / "p.txt").write_text("Ask {q}\n", encoding="utf-8")

    env = environment(dataset="rows.jsonl", prompt="p.txt", file=str(tmp_path / "b.py"))

    assert env.seed_now(0).prompt == "Ask x"
    assert env.fingerprint()["dataset"] == "rows.jsonl"


@pytest.mark.parametrize(("size", "limit"), [(None, None), (2, None), (9, 1)])
def test_the_whole_set_and_a_limited_one_need_no_remark(
    size: int | None, limit: int | None
) -> None:
    assert environment(limit, size=size).another_size is None


def test_another_number_of_rows_than_the_set_has_is_said() -> None:
    said = environment(size=1319).another_size

    assert said == (
        "capitals: 2 problems were loaded, and the whole set has 1,319: its scores compare with "
        "no published ones"
    )
