"""Prices of a service: what a run has cost, in every file that says so."""

import json
from typing import Any

from tests.plugin.running import Ended, Nel, sums
from tests.support.endpoint import RunningEndpoint

ARGS = ("my.nel.yaml", "--nel-output-dir", "run")
EACH = "{prompt: 1000000, completion: 2000000, currency: EUR}"  # 1 and 2 a token


def priced(nel: Nel, prices: str | None) -> None:
    path = nel.suite("bench_sums.py:sums")
    if prices is not None:
        path.write_text(path.read_text().replace("model: m}", f"model: m, prices: {prices}}}"))


def measured(nel: Nel, *args: str) -> Ended:
    ended = nel.run(*ARGS, *args, model=False)
    assert ended.code == 0, ended.text
    return ended


def bundle(nel: Nel) -> dict[str, Any]:
    (path,) = (nel.folder / "run" / "sums").glob("eval-*.json")
    made: dict[str, Any] = json.loads(path.read_text())
    stats = json.loads((path.parent / "runtime_stats.json").read_text())
    assert stats == made["benchmark"]["scores"]["runtime"]
    return made


def runtime(nel: Nel) -> dict[str, Any]:
    found: dict[str, Any] = bundle(nel)["benchmark"]["scores"]["runtime"]
    return found


def test_a_run_says_what_it_cost(nel: Nel) -> None:
    nel.bench(sums(6))
    priced(nel, EACH)

    ended = measured(nel)

    found = runtime(nel)
    prompt, completion = found["total_prompt_tokens"], 2 * found["total_completion_tokens"]
    assert prompt * completion > 0
    assert found["cost"] == {
        "total": prompt + completion,
        "prompt": prompt,
        "completion": completion,
        "currency": "EUR",
        "n_unknown": 0,
        "n_made_again": 0,
    }
    assert f"cost: {prompt + completion:,.2f} EUR (prompts" in ended.out


def test_without_prices_nothing_is_said(nel: Nel) -> None:
    nel.bench(sums(6))
    priced(nel, None)

    ended = measured(nel)

    assert "cost" not in runtime(nel)
    assert "cost" not in ended.out


def test_other_prices_ask_nobody_again_and_count_all_answers(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(6))
    priced(nel, None)
    measured(nel)
    before = bundle(nel)
    endpoint.reset()
    priced(nel, EACH)

    measured(nel, "--nel-resume")

    after = bundle(nel)
    assert endpoint.stats()["requests"] == 0
    assert runtime(nel)["cost"]["total"] > 0
    assert after["fingerprint"] == before["fingerprint"]
    assert after["config_hash"] == before["config_hash"]


def test_rescoring_keeps_the_price_of_the_answers(nel: Nel) -> None:
    nel.bench(sums(6))
    priced(nel, EACH)
    measured(nel)
    before = runtime(nel)["cost"]
    priced(nel, None)

    measured(nel, "--nel-rescore")

    assert runtime(nel)["cost"] == before


def test_another_model_has_not_the_price_of_the_suites(nel: Nel) -> None:
    nel.bench(sums(6))
    priced(nel, EACH)

    measured(nel, "--nel-model-id", "other")

    assert "cost" not in runtime(nel)


def test_answers_from_the_cache_cost_nothing(nel: Nel) -> None:
    nel.bench(sums(6))
    priced(nel, EACH)
    first = nel.run("my.nel.yaml", "--nel-cache", "c", "--nel-output-dir", "x", model=False)

    measured(nel, "--nel-cache", "c")

    assert first.code == 0
    assert bundle(nel)["n_cached"] == 6
    assert runtime(nel)["total_tokens"] > 0
    assert runtime(nel)["cost"]["total"] == 0


def test_wrong_prices_are_refused_before_anything_is_asked(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(6))
    priced(nel, "{prompt: 1}")

    ended = nel.run(*ARGS, model=False)

    assert ended.code == 4, ended.text
    assert "services.model.prices.completion: required, but missing" in ended.out
    assert endpoint.stats()["requests"] == 0
