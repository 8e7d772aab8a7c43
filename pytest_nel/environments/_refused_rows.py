"""What is said of a row that a benchmark's own code refuses: where it is, and what was in it."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from pytest_nel.authoring.benchmark import Row
from pytest_nel.authoring.catalog import blame
from pytest_nel.core.errors import ConfigError, DataError, NelError
from pytest_nel.datasets.load import Dataset

_SHOWN = 80  # characters of a value


@dataclass(frozen=True, slots=True)
class Refusal:
    """Where it happened.

    Attributes:
        place: The benchmark, as ``gsm8k.py:gsm8k``.
        what: The function that was called.
        file: The benchmark's.
        at: The row's place, as ``test.jsonl line 3``.
        number: Of the row, from 1.
    """

    place: str
    what: str
    file: str
    at: str
    number: int


def refused(
    error: Exception, how: Refusal, row: Row, again: Callable[[dict[str, Any]], object]
) -> NelError:
    """The error to raise: with the row's place, the field, and what was in it.

    Args:
        error: What came.
        how: Where.
        row: The row as it was given.
        again: Does the same with another row: it is done once more, to see what is read last.
    """
    if isinstance(error, NelError) and not isinstance(error, ConfigError):
        return error
    ours = isinstance(error, NelError)
    verb = "refuses" if ours else "failed at"
    said = str(error) if ours else blame(error, how.file)
    came = _came(error, row, again)
    where = f"{how.place}: {how.what} {verb} {how.at} (row {how.number})"
    return DataError(f"{where}: {said}{came}: correct the row, or {how.what}")


@contextmanager
def in_place_of(dataset: Dataset) -> Iterator[None]:
    """Say of an error in the block that the rows are those of a file in another's place."""
    try:
        yield
    except DataError as error:
        if dataset.origin != "local":
            raise
        msg = (
            f"{error}. By NEL_DATA_DIR this file stands in the place of {dataset.source}: its rows "
            "must have the fields of that dataset, as they are there"
        )
        raise DataError(msg) from error


def _came(error: Exception, row: Row, again: Callable[[dict[str, Any]], object]) -> str:
    fields = ", ".join(sorted(row)) or "none"
    missing = error.args[0] if isinstance(error, KeyError) and error.args else None
    if isinstance(missing, str) and missing not in row:
        return f"; there is no field {missing!r} in the row, which has: {fields}"
    watched = _Watched(row)
    try:
        again(watched)
    except Exception:  # noqa: BLE001 - the author's code: it is known that it raises
        if watched.last is not None:
            shown = repr(row[watched.last])
            cut = shown if len(shown) <= _SHOWN else shown[:_SHOWN] + "…"
            kind = type(row[watched.last]).__name__
            return f"; it had read the field {watched.last!r} last, which is {kind} {cut}"
    return f"; the row has: {fields}"


class _Watched(dict[str, Any]):  # Any: JSON
    """A row that notes which of its fields was read last."""

    last: str | None = None

    def __getitem__(self, key: str) -> Any:
        value = super().__getitem__(key)
        self.last = key
        return value

    def get(self, key: str, default: Any = None) -> Any:
        """As a dict's."""
        try:
            return self[key]
        except KeyError:
            return default
