"""Exit codes: one table, one order; and what verdicts are called."""

from collections.abc import Iterable
from enum import IntEnum
from typing import TypeVar


class Exit(IntEnum):
    """What a run's exit status says. 0 to 5 are pytest's own."""

    GO = 0
    NO_GO = 1
    INTERRUPTED = 2
    INTERNAL = 3
    USAGE = 4
    NOTHING = 5
    INCONCLUSIVE = 6
    INCOMPLETE = 7


_WORST_FIRST = (
    Exit.USAGE,
    Exit.INTERNAL,
    Exit.INTERRUPTED,
    Exit.NO_GO,
    Exit.INCOMPLETE,
    Exit.INCONCLUSIVE,
    Exit.NOTHING,
    Exit.GO,
)
VERDICTS = {"GO": Exit.GO, "NO-GO": Exit.NO_GO, "INCONCLUSIVE": Exit.INCONCLUSIVE}
"""The exit code of each verdict of a gate, inside pytest."""
_COMMAND = {Exit.GO: 0, Exit.NO_GO: 1, Exit.INCONCLUSIVE: 2}


def worst(codes: Iterable[int]) -> int:
    """The one that stands when several apply; a code we do not know stands before all."""
    given = set(codes)
    for code in sorted(given):
        if code not in _WORST_FIRST:
            return code
    return next((int(code) for code in _WORST_FIRST if code in given), int(Exit.GO))


def command_code(verdict: str) -> int:
    """What ``nel gate`` ends with: the reference system's 0, 1 and 2; mistakes are 4."""
    return _COMMAND[VERDICTS[verdict]]


_Compared = TypeVar("_Compared", bound=str)
_COMPARED = {"PASS": 0, "INCONCLUSIVE": 2, "WARN": 2, "BLOCK": 1}
"""The exit code of each verdict of a comparison, from mild to severe."""


def compared_code(verdict: str) -> int:
    """What ``nel compare`` ends with: the reference system's 0, 1 and 2; mistakes are 4."""
    return _COMPARED[verdict]


def severest(verdicts: Iterable[_Compared]) -> _Compared:
    """The one that stands for several comparisons.

    Raises:
        ValueError: There is none.
    """
    order = list(_COMPARED)
    return max(verdicts, key=order.index)
