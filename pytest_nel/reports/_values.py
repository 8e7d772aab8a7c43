"""What files of others say, as far as it is of the kind that is wanted there."""

from collections.abc import Mapping
from typing import Any

from pytest_nel.core.types import JsonObject

_LARGEST = 1e300  # sums and differences of smaller ones are finite
_MOST = 10**15  # of anything that is counted; a page's script knows whole numbers up to 2**53


def number(value: object) -> float | None:
    """A number that one can calculate with; what else a file may say is none."""
    if type(value) is not int and type(value) is not float:
        return None
    return float(value) if -_LARGEST < value < _LARGEST else None


def count(value: object) -> int | None:
    """A number of things; less than none, or more than there can be, is none."""
    found = number(value)
    return int(found) if found is not None and 0 <= found <= _MOST else None


def mapping(value: object) -> JsonObject:
    """An object, else an empty one."""
    return dict(value) if isinstance(value, Mapping) else {}


def listed(value: object) -> list[Any]:  # Any: JSON
    """A list, else an empty one."""
    return list(value) if isinstance(value, list) else []
