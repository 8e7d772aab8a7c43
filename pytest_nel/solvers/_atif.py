"""Documents of the Agent Trajectory Interchange Format, v1.6."""

from collections.abc import Mapping, Sequence
from secrets import token_hex

from pytest_nel.core.types import JsonObject

_SCHEMA = "ATIF-v1.6"
_VERSION = "0.1.0"


def document(
    agent: str,
    steps: Sequence[JsonObject],
    *,
    model: str | None = None,
    totals: Mapping[str, int] | None = None,
) -> JsonObject:
    """One document, of a session of its own.

    Args:
        agent: Its name.
        steps: What happened.
        model: The model that it used, if any.
        totals: More of ``final_metrics`` than how many steps there are.
    """
    about: JsonObject = {"name": agent, "version": _VERSION}
    if model is not None:
        about["model_name"] = model
    return {
        "schema_version": _SCHEMA,
        "session_id": token_hex(8),
        "agent": about,
        "steps": list(steps),
        "final_metrics": {"total_steps": len(steps), **(totals or {})},
    }


def two_steps(agent: str, prompt: str, said: str, *, model: str | None = None) -> list[JsonObject]:
    """One document of an agent of which only beginning and end are known.

    Args:
        agent: Its name.
        prompt: The instruction.
        said: Its last words.
        model: The model that it used, if any.
    """
    steps: list[JsonObject] = [
        {"step_id": 1, "source": "user", "message": prompt},
        {"step_id": 2, "source": "agent", "message": said},
    ]
    return [document(agent, steps, model=model)]
