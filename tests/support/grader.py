"""A mock judge: answers by what it is asked for, and by orders that stand in the judged answer.

An answer may say ``grade=…`` for the verdict, and ``!503``, ``!garbage``, ``!shy`` (garbage once)
or ``!flaky`` (garbage one time in ten) for a judge that fails on it.
"""

import json
import re
import zlib
from typing import Any

_BLOCK = re.compile(
    r"<(?P<name>[a-z AB]+) (?P<mark>[0-9a-f]{12})>\n(?P<text>.*?)\n</(?P=name) (?P=mark)>",
    re.DOTALL,
)
_GRADE = re.compile(r"grade=([\w.-]+)")


def answer(request: dict[str, Any], nth: int) -> str | tuple[int, str]:
    """A verdict on the ``response`` of the prompt."""
    del nth
    asked = str(request["messages"][-1]["content"])
    blocks = {found["name"]: found["text"] for found in _BLOCK.finditer(asked)}
    judged = blocks.get("response", blocks.get("response A", ""))
    if not blocks:  # asked as a model: a baseline, or a reward model
        return "0.25" if request["messages"][-1]["role"] == "assistant" else "the baseline"
    return _failure(request, asked, judged) or json.dumps(_verdict(asked, blocks, judged))


def _failure(request: dict[str, Any], asked: str, judged: str) -> str | tuple[int, str] | None:
    if "!schema" in judged and "response_format" in request:
        return (400, "response_format is not supported")
    if "!503" in judged:
        return (503, "overloaded")
    if "!garbage" in judged or ("!shy" in judged and "of no use" not in asked):
        return "I would say it is rather good."
    cut = "!flaky" in judged and zlib.crc32(asked.encode()) % 10 == 0
    return '{"reasoning": "I would' if cut else None


def _verdict(asked: str, blocks: dict[str, str], judged: str) -> dict[str, Any]:
    found = _GRADE.search(judged)
    grade = found[1] if found else ""
    if '"criteria_met"' in asked:
        return {"explanation": "looked", "criteria_met": blocks["criterion"] in judged}
    if '"winner"' in asked:
        mine = "A" if "grade" in blocks["response A"] else "B"
        wish = _GRADE.search(blocks[f"response {mine}"])
        other = "B" if mine == "A" else "A"
        wishes = {"win": mine, "loss": other, "first": "A"}
        return {"reasoning": "compared", "winner": wishes.get(wish[1] if wish else "", "tie")}
    if '"grade"' in asked:
        return {"reasoning": "graded", "grade": grade or "NOT_ATTEMPTED"}
    return {"reasoning": "scored", "score": float(grade or 1)}
