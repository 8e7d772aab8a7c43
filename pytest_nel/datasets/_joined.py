"""Rows of several files as one dataset."""

from collections.abc import Callable
from typing import Any

from pytest_nel.core.errors import DataError
from pytest_nel.datasets.source import Origin, Rows

_FIELD = "config"


class Joined:
    """Rows in order, each with its place.

    Attributes:
        values: The rows.
        places: For each, who knows its place, and its number there.
    """

    def __init__(self) -> None:
        self.values: list[Any] = []  # Any: whatever the files hold
        self.places: list[tuple[Callable[[int], str], int]] = []

    def __len__(self) -> int:
        return len(self.values)

    def add(self, rows: Rows) -> None:
        """Append the rows of a file."""
        self.values += rows.rows
        self.places += [(rows.where, index) for index in range(len(rows.rows))]

    def cut(self, start: int, stop: int) -> None:
        """Keep what lies between."""
        self.values = self.values[start:stop]
        self.places = self.places[start:stop]

    def take(self, other: "Joined", config: str | None, limit: int | None) -> None:
        """Append at most ``limit`` of another's rows; with ``config``, each says it is of that.

        Raises:
            DataError: A row has such a field, with another value.
        """
        for row, place in list(zip(other.values, other.places, strict=True))[:limit]:
            if config is not None and isinstance(row, dict):
                said = row.setdefault(_FIELD, config)
                if said != config:
                    msg = (
                        f"{place[0](place[1])}: field {_FIELD!r} should say the configuration "
                        f"{config!r}, but the row has its own, {said!r}"
                    )
                    raise DataError(msg)
            self.values.append(row)
            self.places.append(place)

    def rows(self, revision: str | None, origin: Origin) -> Rows:
        """All of it."""
        places = self.places
        return Rows(
            self.values,
            lambda index: places[index][0](places[index][1]),
            revision=revision,
            origin=origin,
        )
