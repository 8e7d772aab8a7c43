"""A mock judge whose replies are written as those of models are, good ones and bad ones.

An answer names the reply it wants, as in ``reply=c3``. For criteria of HealthBench the judge finds
``criterion`` met where the answer has its words.
"""

import json
import re
from typing import Any

GRADES = {
    "c1": '{"reasoning": "The response says Canberra, as the reference does.", "grade": "CORRECT"}',
    "c2": '```json\n{"reasoning": "Same city.", "grade": "CORRECT"}\n```',
    "c3": 'Let me compare them.\n\n{"reasoning": "equal", "grade": "correct"}',
    "c4": '<think>Is {"grade": "INCORRECT"} right? No.</think>{"grade": "CORRECT"}',
    "c5": '{"grade": "Correct", "reasoning": "hedged, but right"}',
    "c6": '{"grade": "INCORRECT"}\nWait, that is wrong.\n{"grade": "CORRECT", "reasoning": "ok"}',
    "i1": '{"reasoning": "Sydney contradicts the reference.", "grade": "INCORRECT"}',
    "i2": '{"reasoning": "It hedges between two cities.", "grade": "incorrect"}\n',
    "i3": 'Verdict:\n{\n  "reasoning": "no",\n  "grade": "INCORRECT"\n}',
    "i4": '```\n{"grade": "INCORRECT", "reasoning": "wrong year"}\n```\n',
    "n1": '{"reasoning": "It says that it does not know.", "grade": "NOT_ATTEMPTED"}',
    "n2": '{"reasoning": "It asks back.", "grade": "not attempted"}',
    "n3": '{"grade": "Not_Attempted", "reasoning": "declines"}',
}
"""Replies of a grader of SimpleQA that hold a verdict; the first letter says which."""
GARBAGE = {
    "g1": "CORRECT",
    "g2": "A",
    "g3": "The answer seems right to me.",
    "g4": '{"reasoning": "I would say that',
    "g5": '{"reasoning": "fine", "grade": "MOSTLY_CORRECT"}',
    "g6": '{"reasoning": "fine", "score": 5}',
    "g7": "",
    "g8": '{"grade": ["CORRECT"]}',
    "g9": "I'm sorry, but I can't help with that.",
}
"""Replies that hold none."""
RUBRICS = {
    "r1": '{"reasoning": "all there", "scores": [{"criterion": "a", "score": 1}], "total": 1.0}',
    "r2": '{"scores": {"a": 1.0, "b": 0.5}, "total": 0.75, "notes": "one is thin"}',
    "r3": '{"criteria_scores": {"a": {"score": 0.5, "why": "x"}, "b": {"score": 1}}}',
    "r4": '```json\n{"scores": {"a": 1, "b": 0.5}, "total": 1.5}\n```',
    "r5": 'Here it is:\n{"score": 0.75, "notes": "good"}',
    "r6": '{"scores": {"a": 0, "b": 0}, "total": 0}',
    "r7": '{"total": "0.25", "scores": []}',
}
"""Replies of a grader by rubric; :data:`SHARES` has what they are worth."""
SHARES = {"r1": 1.0, "r2": 0.75, "r3": 0.75, "r4": 0.75, "r5": 0.75, "r6": 0.0, "r7": 0.25}
NO_RUBRICS = {
    "x1": '{"scores": {"a": 4, "b": 5}, "total": 9}',
    "x2": "Total: 0.8",
    "x3": '{"total": -0.5}',
    "x4": '{"scores": {"a": "good"}}',
    "x5": '{"total": true, "scores": []}',
    "x6": '{"total": 0.5, "scores": {"a": 0.5',
}
"""Replies that hold no score."""
_REPLIES = {**GRADES, **GARBAGE, **RUBRICS, **NO_RUBRICS}
_BLOCK = re.compile(r"<(\w+) (?P<mark>[0-9a-f]{12})>\n(.*?)\n</\1 (?P=mark)>", re.DOTALL)


def answer(request: dict[str, Any], nth: int) -> str:
    """The reply that the judged answer names."""
    del nth
    asked = str(request["messages"][-1]["content"])
    blocks = {found[1]: found[3] for found in _BLOCK.finditer(asked)}
    judged = blocks["response"]
    if "criterion" in blocks:
        if "reply=broken" in judged:
            return "It is met."
        met = blocks["criterion"] in judged
        return json.dumps({"explanation": "looked", "criteria_met": met})
    named = re.findall(r"reply=(\w\d)", judged)
    return _REPLIES[named[-1]] if named else "I was told to say nothing."
