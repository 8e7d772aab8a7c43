"""Where an interceptor works: of which service, in which run."""

from collections.abc import Callable
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
