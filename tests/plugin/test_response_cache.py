"""``--nel-cache``: what was asked in the same way by another run is not asked again."""

import json
from typing import Any

import pytest

from tests.plugin.running import Ended, Nel, rows, sums
from tests.support.endpoint import RunningEndpoint

CACHE = ["--nel-cache", "answers"]


def run(nel: Nel, directory: str, *args: str, code: int = 0) -> Ended:
    ended = nel.run("bench_sums.py", "--nel-output-dir", directory, *CACHE, *args)
    assert ended.code == code, ended.text
    return ended


def bundle(nel: Nel, directory: str) -> dict[str, Any]:
    (path,) = (nel.folder / directory / "sums").glob("eval-*.json")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def outcomes(nel: Nel, directory: str) -> list[tuple[int, str, str]]:
    text = (nel.folder / directory / "sums/results.jsonl").read_text()
    found = [json.loads(line) for line in text.splitlines()]
    return [(row["problem_idx"], row["outcome"], row["model_response"]) for row in found]


def test_a_second_run_is_answered_by_the_first(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    nel.bench(sums(20))
    run(nel, "one", *how)
    endpoint.reset()

    ended = run(nel, "two", *how)

    assert endpoint.stats()["requests"] == 0
    assert outcomes(nel, "two") == outcomes(nel, "one")
    assert bundle(nel, "two")["n_cached"] == 20
    assert bundle(nel, "one")["n_cached"] == 0
    assert "sums: 20 answers came from the cache" in ended.out
    tokens = [bundle(nel, name)["benchmark"]["scores"]["runtime"] for name in ("one", "two")]
    assert tokens[0]["total_tokens"] == tokens[1]["total_tokens"] > 0


def test_another_benchmark_that_asks_the_same_is_answered_as_well(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(10))
    run(nel, "one")
    nel.bench([*sums(5)][::-1], file="bench_more.py", name="more")
    endpoint.reset()

    ended = nel.run("bench_more.py", *CACHE)

    assert ended.code == 0, ended.text
    assert endpoint.stats()["requests"] == 0


@pytest.mark.parametrize(
    "options", [["--nel-temperature", "0.3"], ["--nel-model-id", "n"], ["--nel-max-tokens", "8"]]
)
def test_what_is_asked_otherwise_is_asked(
    nel: Nel, endpoint: RunningEndpoint, options: list[str]
) -> None:
    nel.bench(sums(5))
    run(nel, "one")
    endpoint.reset()

    run(nel, "two", *options)

    assert endpoint.stats()["requests"] == 5


def test_repeats_and_equal_problems_share_no_answer(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(rows("7", "7", "8"))

    run(nel, "one", "--nel-repeats", "3")
    first = endpoint.stats()["requests"]
    run(nel, "two", "--nel-repeats", "4")

    assert first == 9
    assert endpoint.stats()["requests"] == 12


@pytest.mark.parametrize(("temperature", "asked"), [("0", 5), ("0.7", 20)])
def test_repeats_share_answers_where_that_is_asked_for_and_the_model_is_cold(
    nel: Nel, endpoint: RunningEndpoint, temperature: str, asked: int
) -> None:
    nel.bench(sums(5))

    run(
        nel,
        "one",
        "--nel-cache-share-repeats",
        *("--nel-repeats", "4", "--nel-temperature", temperature),
    )

    assert endpoint.stats()["requests"] == asked
    assert len(outcomes(nel, "one")) == 20


def test_what_failed_is_in_no_cache(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(rows("7", "!400 no"))
    run(nel, "one", code=7)
    endpoint.reset()

    run(nel, "two", code=7)

    assert endpoint.stats()["requests"] == 1


def test_an_attempt_that_is_made_again_is_asked(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(6))
    run(nel, "one")
    endpoint.reset()

    run(nel, "one", "--nel-resume", "--nel-only", "wrong", code=6)

    assert endpoint.stats()["requests"] == 2


def test_a_cache_that_cannot_be_opened_is_one_line(nel: Nel) -> None:
    nel.bench(sums(3))
    nel.write("answers", "a file")

    ended = run(nel, "one", code=4)

    assert "answers" in ended.out
    assert "Traceback" not in ended.text


def test_a_cache_that_is_damaged_while_it_is_used_costs_no_result(nel: Nel) -> None:
    nel.bench(sums(6))
    run(nel, "one")
    path = nel.folder / "answers/answers.sqlite3"
    path.write_bytes(path.read_bytes()[:5000])

    ended = nel.run("bench_sums.py", "--nel-output-dir", "two", *CACHE)

    assert ended.code in {0, 4}, ended.text
    assert "Traceback" not in ended.text
    if ended.code == 0:
        assert len(outcomes(nel, "two")) == 6
