"""What is a refusal, and what failure analysis counts."""

import pytest

from pytest_nel.records.failing import failure_of, refused, truncated
from tests.unit.records.attempts import Pair, attempt, bundle_of

DECLINES = "I'm sorry, but I can't help with that."


def said(text: str, reward: float | None = 0.0, **scored: object) -> Pair:
    return attempt(0, 0, reward, solved={"response": text}, **scored)


@pytest.mark.parametrize(
    "text",
    [
        DECLINES,
        "I cannot do that",
        "As an AI, no.",
        "i'm unable to",
        "I am unable to assist with that.",
        "I'm not able to help.",
        "I am not able to help.",
        "I won’t do this.",
        "I will not do this.",
        "I don’t have the ability",
        "I do not have access to it.",
        "I apologize",
    ],
)
def test_words_that_decline_are_a_refusal_where_there_is_no_answer(text: str) -> None:
    assert refused(*said(text, outcome="unparsed"))
    assert failure_of(*said(text, outcome="unparsed")) == "refusal"


@pytest.mark.parametrize(
    "text",
    [
        f"{DECLINES} Answer: 7",
        "I cannot determine x exactly, but the answer is 5.",
        "I apologize for the confusion. Answer: 7",
    ],
)
@pytest.mark.parametrize("reward", [0.0, 1.0])
def test_what_holds_an_answer_is_no_refusal_by_its_words(text: str, reward: float) -> None:
    """The reference system labels it so."""
    pair = said(text, reward)

    assert not refused(*pair)
    assert failure_of(*pair) is None
    assert bundle_of([pair])["n_refusals"] == 0


def test_a_derivation_that_says_cannot_somewhere_declines_nothing() -> None:
    text = "Step. " * 60 + "I cannot simplify this further."

    assert not refused(*said(text, outcome="unparsed"))


def test_the_replys_own_field_decides() -> None:
    pair = attempt(0, 0, 0.0, outcome="unparsed", solved={"response": "", "refusal": "No."})
    right = attempt(1, 0, 1.0, solved={"refusal": "No."})  # a benchmark of refusals

    made = bundle_of([pair, right])

    assert made["n_refusals"] == 2
    assert made["benchmark"]["scores"]["failures"]["categories"] == {
        "refusal": {
            "count": 1,
            "n_unscored": 0,
            "percentage": 0.5,
            "exemplars": [{"problem_idx": 0, "repeat": 0, "error": "No."}],
        }
    }


def test_an_answer_without_an_answer_is_a_format_error_and_an_empty_one_is_none() -> None:
    """An empty response is an observation, never a failure category."""
    assert failure_of(*said("forty-two or so", outcome="unparsed")) == "format_error"
    assert failure_of(*said("  ", outcome="unparsed")) is None
    assert failure_of(*said("7")) is None


@pytest.mark.parametrize(
    ("reply", "cut"),
    [
        ({"finish_reason": "length"}, True),
        ({"finish_reason": "stop", "completion_tokens": 64}, True),
        ({"finish_reason": "stop", "completion_tokens": 63}, False),
        ({"finish_reason": "stop"}, False),
    ],
)
def test_a_reply_that_used_all_tokens_was_cut_off_whatever_the_server_says(
    reply: dict[str, object], *, cut: bool
) -> None:
    solved = {**reply, "sampling": {"max_tokens": 64}}

    rate = bundle_of([attempt(0, solved=solved)])["benchmark"]["scores"]["rates"]["truncated"]

    assert truncated(solved) is cut
    assert rate["n"] == cut


def test_what_the_engine_recorded_comes_first() -> None:
    pair = said(DECLINES, None, failure="server_error")

    assert failure_of(*pair) == "server_error"


def test_failures_say_how_many_lack_a_score() -> None:
    pairs = [
        attempt(0, 0, None, failure="model_error", error="x"),
        attempt(1, 0, 0.0, failure="model_error", error="y"),
    ]

    found = bundle_of(pairs)["benchmark"]["scores"]["failures"]["categories"]["model_error"]

    assert (found["count"], found["n_unscored"]) == (2, 1)
