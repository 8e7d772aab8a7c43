"""No response makes a scorer's cost grow faster than its length, in the process of the run."""

import time
from typing import Any

import pytest

from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.catalog import get_scorer

LENGTH = 20_000
FLOOR = 0.25  # processor seconds: below, a measurement says nothing about growth
GROWTH = 3.2  # for twice the length

SCORERS: dict[str, tuple[str, dict[str, Any]]] = {
    "answer_line": ("x+5", {}),
    "exact_match": ("x+5", {}),
    "f1": ('["a", "b 5"]', {}),
    "fuzzy_match": ("x+5", {}),
    "json_schema": ("", {"schema": {"type": "object"}}),
    "math_equal": ("x+5", {}),
    "mcq_extract": ("B", {}),
    "multichoice_regex": ("B", {}),
    "numeric_match": ("5", {}),
    "pattern": ("5", {"pattern": r"Result: (\d+)"}),
}
REPEATED = {
    "spaces": " ", "no-break spaces": "\u00a0", "wide spaces": "\u3000", "zero width": "\u200b",
    "lines": "\n", "dots": ".", "sentences": "a. ", "digits": "1", "numbers": "1 ", "commas": "1,",
    "exclamation": "!", "opening": "{", "closing": "}", "brackets": "[", "backslashes": "\\",
    "dollars": "$", "formulas": "$a", "boxes": "\\boxed{", "several boxes": "\\boxed{5} or ",
    "labels": "Answer: ", "answers": "the answer is 5 ", "equations": "a=1 ", "words": "ab ",
    "approximations": "\\approx ", "stars": "*", "fences": "```\n",
}  # fmt: skip
FRAMES = ["{}", "Answer: 1{}x", "\\boxed{{5}}\nAnswer: a{}a", "\\boxed{{1{}x}}"]


def cost(scorer: str, response: str) -> float:
    """Processor seconds of this process for one verdict."""
    target, config = SCORERS[scorer]
    began = time.process_time()

    get_scorer(scorer)(ScorerInput(response, target, config=config))

    return time.process_time() - began


@pytest.mark.parametrize("repeated", REPEATED.values(), ids=list(REPEATED))
@pytest.mark.parametrize("scorer", SCORERS)
def test_twice_the_length_costs_at_most_about_twice_the_time(scorer: str, repeated: str) -> None:
    half, whole = (repeated * (length // len(repeated)) for length in (LENGTH // 2, LENGTH))
    slow = [frame for frame in FRAMES if cost(scorer, frame.format(whole)) > FLOOR]

    growth = {
        frame: min(cost(scorer, frame.format(whole)) for _ in range(3))
        / min(cost(scorer, frame.format(half)) for _ in range(3))
        for frame in slow
    }

    assert {frame: factor for frame, factor in growth.items() if factor > GROWTH} == {}


@pytest.mark.parametrize("scorer", ["f1", "math_equal"])
def test_what_is_longer_than_an_answer_is_unparsed(scorer: str) -> None:
    target, config = SCORERS[scorer]

    result: VerifyResult = get_scorer(scorer)(
        ScorerInput(f"Answer: 1{'!' * 5000}x", target, config=config)
    )

    assert (result.reward, result.parsed) == (0.0, False)
    assert "longer than an answer is" in result.scoring_details["reason"]
