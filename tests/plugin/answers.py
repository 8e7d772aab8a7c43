"""The mock model of these tests: repeats the prompt, or answers ``!500 text`` with status 500."""

import re
from typing import Any

_STATUS = re.compile(r"!(\d{3}) (.*)", re.DOTALL)


def answer(request: dict[str, Any], nth: int) -> str | tuple[int, str]:
    """The text of the last message, unless that begins with a status."""
    del nth
    asked = request["messages"][-1]["content"] if "messages" in request else request["prompt"]
    prompt = str(asked)
    wanted = _STATUS.fullmatch(prompt)
    return prompt if wanted is None else (int(wanted[1]), wanted[2])
