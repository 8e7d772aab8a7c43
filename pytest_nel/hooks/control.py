"""The small file through which the controller speaks to its workers while they run."""

import json
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field
from pathlib import Path

from pytest_nel.records.whole import whole_json

CONTROL = ".control.json"
_EVERY = 0.25
"""Seconds between two looks at it."""


@dataclass(frozen=True, slots=True)
class Adoption:
    """What a worker takes over from one that has died and is not replaced.

    Attributes:
        turn: What it writes from now on counts after all of a lower turn.
        indices: The items, in the order in which it is sent them.
    """

    turn: int
    indices: list[int]


@dataclass(frozen=True, slots=True)
class Control:
    """All that the controller has to say.

    Attributes:
        stop: Send nothing more.
        live: The workers among whom limits are divided.
        adopt: By worker.
    """

    stop: bool = False
    live: list[str] = field(default_factory=list)
    adopt: Mapping[str, Adoption] = field(default_factory=dict)

    def write(self, directory: Path) -> None:
        """Put it into the run's directory, whole.

        Raises:
            OSError: The disk does not take it.
        """
        whole_json(directory / CONTROL, asdict(self))


class Listener:
    """A worker's ear.

    Args:
        directory: The run's.
    """

    def __init__(self, directory: Path) -> None:
        self._path = directory / CONTROL
        self._next = 0.0
        self._seen = (0, 0)

    def news(self, *, now: bool = False) -> Control | None:
        """What is said now, when that has changed; looks four times a second, or ``now``."""
        clock = time.monotonic()
        if clock < self._next and not now:
            return None
        self._next = clock + _EVERY
        try:
            stat = self._path.stat()
            state = (stat.st_mtime_ns, stat.st_ino)  # replaced each time: another inode
            if state == self._seen:
                return None
            said = json.loads(self._path.read_text(encoding="utf-8"))
        except FileNotFoundError:  # it says nothing yet, or the session is over
            return None
        self._seen = state
        adopt = {name: Adoption(**found) for name, found in said.pop("adopt").items()}
        return Control(**said, adopt=adopt)
