"""What a model is sent first of a problem, by whichever solver."""

from collections.abc import Sequence

from pytest_nel.core.types import Message, SeedResult

_SYSTEM_ROLES = ("system", "developer")


def conversation(seed: SeedResult, system: str | None) -> Sequence[Message]:
    """The messages to send.

    Args:
        seed: The problem; its messages are not changed.
        system: The solver's system prompt. None keeps the problem's own: the one its messages
            begin with, else ``seed.system``. Anything else takes that place; empty means none.
    """
    if seed.messages is None:
        rest: list[Message] = [{"role": "user", "content": seed.prompt}]
        own: list[Message] = []
    else:
        first = 1 if seed.messages and seed.messages[0].get("role") in _SYSTEM_ROLES else 0
        own, rest = list(seed.messages[:first]), list(seed.messages[first:])
    if system is None and own:
        return [*own, *rest]
    text = seed.system if system is None else system
    return [{"role": "system", "content": text}, *rest] if text else rest
