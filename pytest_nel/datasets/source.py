"""What a kind of dataset must do: read rows, and say where each came from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as a source read them, not yet checked.

    Attributes:
        rows: One value for each row; anything but a dict is refused later, with its place.
        where: The place of a row by its position from 0, as ``capitals.jsonl line 3``.
        revision: What pins the data, where the source has such a thing.
        fresh: Nobody else holds these rows, so they need no copy.
    """

    rows: Sequence[Any]  # Any: whatever the file holds
    where: Callable[[int], str]
    revision: str | None = None
    fresh: bool = True


class Source(Protocol):
    """Reads one dataset."""

    def __init__(self, spec: str, *, base: Path) -> None:
        """Take the text of the benchmark, and the folder that a relative path is relative to."""

    def read(self, limit: int | None) -> Rows:
        """Read the rows, at most ``limit``; raise DataError naming file, line and field."""
        ...
