"""The native protocol: problems are rows of a file, answers go out as Responses-API objects."""

import json
from collections.abc import Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_nel.core.errors import DataError
from pytest_nel.core.types import JsonObject, SeedResult, VerifyResult
from pytest_nel.environments._gym_input import conversation, text_of

ROW = "gym_row"
"""The key of a seed's metadata that leads back to its row."""

_EXTRACTED = ("extracted_sql", "extracted_answer")
_HIDDEN = ("expected_answer", "metadata", "verifier_metadata")


class NativeRows:
    """The rows of a ``data=`` file.

    Args:
        path: The JSONL file.
        limit: Take the first so many.

    Attributes:
        rows: As they stand in the file.
        content_hash: The hash of the rows taken.

    Raises:
        DataError: It cannot be read, or a row is no problem; file and line are named.
    """

    def __init__(self, path: Path, limit: int | None) -> None:
        try:
            text = path.read_text(encoding="utf-8-sig")
        except (OSError, UnicodeDecodeError) as error:
            msg = f"{path}: the rows (data=) cannot be read: {error}"
            raise DataError(msg) from error
        lines = [(at, line) for at, line in enumerate(text.split("\n"), 1) if line.strip()]
        self.rows = [_row(line, f"{path}:{at}") for at, line in lines[:limit]]
        self.seeds = [seed_of(row, idx) for idx, row in enumerate(self.rows)]
        self.content_hash = (
            "sha256:"
            + sha256(
                "\n".join(json.dumps(row, sort_keys=True) for row in self.rows).encode("ascii")
            ).hexdigest()
        )


def seed_of(row: JsonObject, idx: int) -> SeedResult:
    """The problem of a row; its metadata lead back to the row and hold no gold answer."""
    params = row["responses_create_params"]
    messages = conversation(params)
    asked = [each for each in messages if each["role"] == "user"]
    facts = {
        name: value
        for name, value in row.items()
        if name not in _HIDDEN and isinstance(value, str | int | float | bool | None)
    }
    more = {name: params[name] for name in ("tools", "reasoning") if params.get(name)}
    return SeedResult(
        prompt=text_of(asked[-1]["content"]),
        expected_answer=_text(row.get("expected_answer")),
        metadata={
            **facts,
            **_mapping(row.get("metadata")),
            **_mapping(row.get("verifier_metadata")),
            **more,
            ROW: idx,
        },
        messages=messages,
        system=next((text_of(one["content"]) for one in messages if one["role"] == "system"), None),
    )


def verify_body(row: JsonObject, response: str, model: str = "") -> JsonObject:
    """What is sent to judge an answer: the whole row, and the answer as a response object."""
    content = {"type": "output_text", "text": response, "annotations": []}
    message = {
        "id": "msg-eval-synthetic",
        "type": "message",
        "role": "assistant",
        "status": "completed",
        "content": [content],
    }
    answer = {
        "id": "eval-synthetic",
        "object": "response",
        "created_at": 0,
        "model": model,
        "status": "completed",
        "output": [message],
        "output_text": response,
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": row["responses_create_params"].get("tools") or [],
    }
    return {**row, "response": answer}


def result_of(reply: Mapping[str, Any], sent: Mapping[str, Any]) -> VerifyResult:
    """What a server says of an answer; what it only says back is left out.

    Args:
        reply: Its reply, ``reward`` checked.
        sent: The request.
    """
    name = next((each for each in _EXTRACTED if reply.get(each) is not None), None)
    told = name is not None or any(each in reply for each in _EXTRACTED)
    extracted = None if name is None else _text(reply[name])
    own = {*sent, "reward", "parsed", "scoring_details", *_EXTRACTED}
    details = {key: value for key, value in reply.items() if key not in own}
    return VerifyResult(
        reward=reply["reward"],
        extracted_answer=extracted,
        scoring_details=tidy({**details, **_mapping(reply.get("scoring_details"))}),
        parsed=was_parsed(reply, found=extracted is not None or not told),
    )


def was_parsed(reply: Mapping[str, Any], *, found: bool) -> bool:
    """Whether an answer was found; where the server does not say, by whether it shows one."""
    said = reply.get("parsed")
    return said if isinstance(said, bool) else found or reply["reward"] != 0


def tidy(details: Mapping[str, Any]) -> JsonObject:
    """The facts of another's scorer: what it calls ``correct`` need not be a truth value."""
    found = dict(details)
    if "correct" in found and not isinstance(found["correct"], bool):
        found["server_correct"] = found.pop("correct")
    return found


def _row(line: str, at: str) -> JsonObject:
    try:
        row: Any = json.loads(line)
    except (ValueError, RecursionError) as error:
        msg = f"{at}: no JSON: {error}"
        raise DataError(msg) from error
    params = row.get("responses_create_params") if isinstance(row, dict) else None
    if not isinstance(params, dict) or not isinstance(params.get("input"), str | list):
        msg = f"{at}: expected an object with responses_create_params.input, a text or a list"
        raise DataError(msg)
    try:
        asked = conversation(params)
    except DataError as error:
        msg = f"{at}: {error}"
        raise DataError(msg) from error
    if not any(one["role"] == "user" for one in asked):
        msg = f"{at}: responses_create_params.input has no user message, so nothing is asked"
        raise DataError(msg)
    return dict(row)


def _mapping(value: object) -> Mapping[str, Any]:
    return value if isinstance(value, Mapping) else {}


def _text(value: object) -> str:
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)
