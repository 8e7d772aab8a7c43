"""Exit codes: one table, one order."""

from collections.abc import Iterable
from enum import IntEnum


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


def worst(codes: Iterable[int]) -> int:
    """The one that stands when several apply; a code we do not know stands before all."""
    given = set(codes)
    for code in sorted(given):
        if code not in _WORST_FIRST:
            return code
    return next((int(code) for code in _WORST_FIRST if code in given), int(Exit.GO))
