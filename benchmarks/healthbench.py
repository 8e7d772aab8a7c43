"""HealthBench: conversations about health, each with criteria that physicians wrote for it.

5,000 conversations, the file of the whole set in ``openai/healthbench`` (MIT) at a pinned commit.
Arora et al., *HealthBench: Evaluating Large Language Models Towards Improved Human Health*, 2025,
arXiv:2505.08775. Category: the theme.

The conversation is sent as it is, and the model says what comes next. The suite names a model that
grades (preset ``healthbench``), and that is asked of each criterion by itself whether the answer
meets it, as the paper does: about eleven requests for an answer. Points are won by criteria that
are met, and lost by what an answer should not do; the reward is their sum as a share of what can
be won, cut to 0 to 1. The paper cuts the mean over all answers and not each, so its scores are a
little lower where answers do much harm: ``points_share`` in the details is the uncut value.
Published scores were graded by GPT-4.1; another grader gives other numbers.
"""

import math
from collections.abc import Mapping
from typing import Any

from pytest_nel import Benchmark, DataError, SeedResult

_ROLES = ("system", "user", "assistant")
_THEME = "theme:"


def problem(row: dict[str, Any], idx: int, rng: object) -> dict[str, Any]:  # Any: JSON
    """The conversation and its criteria; the physicians' own answers are left out.

    Raises:
        DataError: The conversation ends with no question, or there are no points to win.
    """
    del idx, rng
    where = f"healthbench: conversation {row['prompt_id']}"
    tags = [str(tag) for tag in row.get("example_tags") or ()]
    themes = [tag.removeprefix(_THEME) for tag in tags if tag.startswith(_THEME)]
    return {
        "id": str(row["prompt_id"]),
        "messages": _conversation(row["prompt"], where),
        "rubrics": _criteria(row["rubrics"], where),
        "category": themes[0] if themes else None,
        "tags": tags,
    }


def _conversation(messages: Any, where: str) -> list[dict[str, str]]:  # Any: JSON
    """Role and content of each message, the last one the user's."""
    found = []
    for message in messages or ():
        role, content = message.get("role"), message.get("content")
        if role not in _ROLES or not isinstance(content, str):
            msg = f"{where}: expected messages with a role and a text, got {str(message)[:200]}"
            raise DataError(msg)
        found.append({"role": role, "content": content})
    if not found or found[-1]["role"] != "user" or not found[-1]["content"].strip():
        msg = f"{where}: expected that its last message is the user's, and says something"
        raise DataError(msg)
    return found


def _criteria(rubrics: Any, where: str) -> list[dict[str, Any]]:  # Any: JSON
    """What an answer gets points for, or loses them by."""
    found = []
    for each in rubrics or ():
        text, points = each.get("criterion"), each.get("points")
        if not isinstance(text, str) or not text.strip() or not _is_number(points):
            msg = f"{where}: expected a criterion and its points, got {str(each)[:200]}"
            raise DataError(msg)
        found.append({"criterion": text, "points": points, "tags": list(each.get("tags") or ())})
    if not any(each["points"] > 0 for each in found):
        msg = f"{where}: no criterion has points above 0, so there is nothing to win"
        raise DataError(msg)
    return found


def _is_number(value: object) -> bool:
    return isinstance(value, int | float) and not isinstance(value, bool) and math.isfinite(value)


def conversation(row: Mapping[str, Any], idx: int) -> SeedResult:
    """The messages as they are sent; criteria stay with the judge."""
    del idx
    messages = row["messages"]
    return SeedResult(
        prompt=messages[-1]["content"],
        messages=messages,
        metadata={"category": row["category"], "tags": row["tags"]},
    )


healthbench = Benchmark(
    name="healthbench",
    dataset=(
        "hf://openai/healthbench?file=2025-05-07-06-14-12_oss_eval.jsonl"
        "&revision=40ee1968852fc57f625934251ac22be47077a8fb"
    ),
    size=5000,
    prepare_row=problem,
    seed_fn=conversation,
    judge="healthbench",
)
