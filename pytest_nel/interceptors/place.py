"""Where an interceptor works: of which service, in which run."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path


def _nothing(text: str) -> str:
    return text


@dataclass(frozen=True, slots=True)
class Place:
    """What an interceptor is told when it is made.

    Attributes:
        run_dir: The run's directory.
        service: The service's name.
        model: The model name that is asked for.
        tenant: What tells this endpoint's answers from those of another; no secret is in it.
        redact: Takes the secrets of the service out of a text.
    """

    run_dir: Path
    service: str
    model: str = ""
    tenant: str = ""
    redact: Callable[[str], str] = _nothing


_QUESTION = frozenset({"input", "messages", "model", "prompt"})


def refuse_of_the_question(names: Iterable[str]) -> None:
    """Refuse to change who is asked what: that is what the records, prices and gates go by.

    Raises:
        ValueError: One of the names is part of the question.
    """
    if found := sorted(_QUESTION & set(names)):
        msg = (
            f"{', '.join(found)}: who is asked what is said by the service's `model` and by the "
            "benchmark, and records go by that"
        )
        raise ValueError(msg)
