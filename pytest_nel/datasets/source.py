"""What a kind of dataset must do: read rows, and say where each came from."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal, Protocol, TypeAlias

#: ``local`` is a file of the user's; ``cached`` one that was downloaded; ``missing`` one that would
#: be.
State: TypeAlias = Literal["local", "cached", "missing"]
Origin: TypeAlias = Literal["hub", "local", "web"]


@dataclass(frozen=True, slots=True)
class Rows:
    """Rows as a source read them, not yet checked.

    Attributes:
        rows: One value for each row; anything but a dict is refused later, with its place.
        where: The place of a row by its position from 0, as ``capitals.jsonl line 3``.
        revision: What pins the data, where the source has such a thing.
        fresh: Nobody else holds these rows, so they need no copy.
        origin: Where they were read; None where the source has but one place.
    """

    rows: Sequence[Any]  # Any: whatever the file holds
    where: Callable[[int], str]
    revision: str | None = None
    fresh: bool = True
    origin: Origin | None = None


@dataclass(frozen=True, slots=True)
class SourceFiles:
    """What a dataset needs, and where it is.

    Attributes:
        paths: The files that are here, in the order in which they are read.
        size: Of all files in bytes, also of those that are not here; None where nobody says.
        state: Whether they are here.
        revision: The commit, or the hash of the file; None where nothing pins it.
        asked: The revision that was asked for.
        gated: Whether terms must be accepted first; None where nobody says.
        licence: As the publisher names it.
        page: Where licence and terms can be read.
    """

    paths: Sequence[Path]
    size: int | None
    state: State
    revision: str | None = None
    asked: str | None = None
    gated: bool | None = None
    licence: str | None = None
    page: str | None = None


class Source(Protocol):
    """Reads one dataset."""

    def __init__(self, spec: str, *, base: Path) -> None:
        """Take the text of the benchmark, and the folder that a relative path is relative to."""

    def read(self, limit: int | None) -> Rows:
        """Read the rows, at most ``limit``; raise DataError naming file, line and field."""
        ...

    def files(self, *, fetch: bool) -> SourceFiles:
        """Say what it needs and where that is; with ``fetch``, download what is not here.

        Raises:
            DataError: There is no such dataset, or it cannot be had.
        """
        ...
