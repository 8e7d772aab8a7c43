"""Further scorers that failed are named in the numbers."""

from typing import Any

from tests.unit.records.attempts import attempt, scores_of


def test_a_further_scorer_that_failed_says_how_often_and_what_it_said_first() -> None:
    def failed(said: str) -> dict[str, Any]:
        return {"scorer_rewards": {"f1": None}, "details": {"scorer:f1": {"error": said}}}

    pairs = [
        attempt(0, 0, 1.0, scorer_rewards={"f1": 0.25, "exact": 1.0}),
        attempt(1, 0, 0.0, **failed("no helper")),
        attempt(2, 0, 0.0, **failed("no file")),
        attempt(3, 0, None),
    ]

    scores = scores_of(pairs)

    f1 = scores["scorer:f1"]
    assert (f1["n"], f1["n_missing"]) == (1, 3)
    assert (f1["n_failed"], f1["error"]) == (2, "no helper")
    assert "n_failed" not in scores["scorer:exact"]
