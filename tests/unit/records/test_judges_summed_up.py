"""What judges said and took, summed up."""

import pytest

from pytest_nel.core.types import JsonObject
from pytest_nel.records.judges import JudgeTally, simpleqa

PRICES = {"grader": {"prompt": 2.0, "completion": 10.0, "currency": "EUR"}}


def spent(**changes: int) -> JsonObject:
    took = {"model": "g", "calls": 1, "requests": 2, "prompt_tokens": 500_000, "latency_ms": 10.0}
    return {"grader": {**took, "completion_tokens": 100_000, **changes}}


def details(**said: object) -> JsonObject:
    return {"method": "own", "scorer:j": {"spent": spent(), "reward": 1.0, **said}}


def test_tokens_and_money_are_those_of_the_judge() -> None:
    tally = JudgeTally()

    tally.add(details())
    tally.add(details(reward=None, unreadable=True))

    took = tally.runtime(PRICES)["grader"]
    assert (took["calls"], took["requests"], took["total_tokens"]) == (2, 4, 1_200_000)
    assert took["mean_latency_ms"] == 10.0
    assert took["cost"] == {"total": 4.0, "prompt": 2.0, "completion": 2.0, "currency": "EUR"}
    assert tally.counts() == {"n_judge_failures": 1, "n_judge_unreadable": 1}


def test_replies_of_a_cache_are_counted_and_are_in_no_mean() -> None:
    tally = JudgeTally()
    found = spent(cached=1, requests=0, prompt_tokens=0, completion_tokens=0, latency_ms=0)

    tally.add(details())
    tally.add(details(spent=found))
    alone = JudgeTally()
    alone.add(details(spent=found))

    took = tally.runtime(PRICES)["grader"]
    assert (took["calls"], took["cached_replies"], took["requests"]) == (2, 1, 2)
    assert (took["mean_latency_ms"], took["total_tokens"]) == (10.0, 600_000)
    assert alone.runtime({})["grader"]["mean_latency_ms"] is None


def test_an_answer_of_nothing_counts_among_all_of_simpleqa() -> None:
    tally = JudgeTally()

    for said in ({"verdict": "CORRECT"}, {"verdict": "NOT_ATTEMPTED", "spent": {}, "reward": 0.0}):
        for _ in range(5):
            tally.add(details(preset="simpleqa", **said))

    assert tally.metrics["scorer:j"].as_json()["f_score"] == 0.666667
    assert tally.counts() == {"n_judge_failures": 0, "n_judge_unreadable": 0}


def test_a_scorer_that_asks_nobody_is_no_judge() -> None:
    tally = JudgeTally()

    tally.add({"scorer:exact_match": {"reward": None, "error": "x"}, "method": "own"})

    assert tally.counts() == {}
    assert tally.runtime({}) == {}


def test_bias_and_agreement_are_means_over_what_has_a_verdict() -> None:
    tally = JudgeTally()

    for bias, consistent in ((1.0, False), (0.0, True)):
        tally.add(details(verdict="tie", position_bias=bias, consistent=consistent))
    tally.add(details(reward=None, unreadable=False))

    assert tally.metrics["scorer:j"].as_json() == {
        "verdicts": {"tie": 2},
        "position_bias": 0.5,
        "n_inconsistent": 1,
    }


@pytest.mark.parametrize(
    ("counts", "given", "f_score"),
    [
        ((4, 3, 3), 4 / 7, 2 * (4 / 7) * 0.4 / (4 / 7 + 0.4)),
        ((0, 2, 2), 0.0, 0.0),
        ((0, 0, 2), None, 0.0),
        ((2, 0, 0), 1.0, 1.0),
    ],
)
def test_simpleqa_has_the_measures_of_its_field(
    counts: tuple[int, int, int], given: float | None, f_score: float
) -> None:
    names = ("CORRECT", "INCORRECT", "NOT_ATTEMPTED")

    found = simpleqa(dict(zip(names, counts, strict=True)))

    attempted = found["accuracy_given_attempted"]
    assert attempted == (given if given is None else pytest.approx(given, abs=1e-6))
    assert found["f_score"] == pytest.approx(f_score, abs=1e-6)
