"""How many problems lie between a candidate and its limit on a drop."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from pytest_nel.gate.findings import CLOSE
from pytest_nel.gate.metrics import in_range
from pytest_nel.gate.pairs import Values
from pytest_nel.stats.paired import paired_difference

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Column = npt.NDArray[np.float64]


def margin_problems(values: Values, most: float, *, higher_is_better: bool, ci: bool) -> int | None:
    """How many further problems the candidate could lose and still pass ``max_drop``.

    Lost are those first that both sides solve alike: of these each costs the most. Negative where
    the limit does not hold: so many it would have to win, those first that it lost.

    Args:
        values: Of all problems; the worst case where some are missing.
        most: ``max_drop``.
        higher_is_better: Which way is better.
        ci: Whether the whole interval must be inside the limit, or the score alone.

    Returns:
        None where the answer depends on which problems, because they come in clusters, where
        values lie outside [0, 1], and where no number of problems won would be enough.
    """
    import numpy as np  # noqa: PLC0415 - heavy

    before, after = (np.asarray(side, dtype=float) for side in (values.baseline, values.candidate))
    inside = len(before) and in_range([before.min(), before.max(), after.min(), after.max()])
    if values.clusters is not None or not inside:
        return None
    if not higher_is_better:
        before, after = 1.0 - before, 1.0 - after

    def room(changed: "Column") -> float:
        """What is left below the limit."""
        if not ci:
            return most + float((changed - before).mean())
        found = paired_difference(before, changed)
        assert found is not None
        return most + found.low

    now = room(after)
    worse = now < -CLOSE
    order, ends = _won(before, after) if worse else _lost(before, after)

    def left(count: int) -> float:
        changed = after.copy()
        changed[order[:count]] = ends[order[:count]]
        return room(changed)

    if worse:
        steps = _first(lambda count: left(count) + CLOSE, len(order), now + CLOSE, len(before))
        return None if steps is None else -steps
    steps = _first(lambda count: -left(count) - CLOSE, len(order), -now - CLOSE, len(before))
    return len(order) if steps is None else steps - 1


def _lost(before: "Column", after: "Column") -> "tuple[npt.NDArray[np.intp], Column]":
    """Problems that can be lost, those that both have alike first, and what they come to."""
    import numpy as np  # noqa: PLC0415 - heavy

    order = np.lexsort((before, -after, before != after))  # before last: rows come in any order
    return order[after[order] > 0.0], np.zeros_like(after)


def _won(before: "Column", after: "Column") -> "tuple[npt.NDArray[np.intp], Column]":
    """Problems that can be won, the largest losses first, and what they come to."""
    import numpy as np  # noqa: PLC0415 - heavy

    ends = np.where(before > after, before, 1.0)
    order = np.lexsort((before, after - ends, before <= after))
    return order[ends[order] > after[order]], ends


def _first(beyond: Callable[[int], float], most: int, start: float, problems: int) -> int | None:
    """The smallest count at which a rising function is above 0; None where it stays below.

    By false position with the Illinois rule (Dowell & Jarratt 1971), which takes a few steps where
    halving takes a dozen; each step costs an interval.

    Args:
        beyond: The function.
        most: The largest count there is.
        start: Its value at 0, which is not above 0.
        problems: A problem moves the function by one over this, about.
    """
    low, high = 0, min(most, 1 + int(-start * problems))
    below, above = start, beyond(high)
    if above <= 0.0 and high < most:
        low, below, high = high, above, most
        above = beyond(high)
    if above <= 0.0:
        return None
    kept = 0
    while high - low > 1:
        guess = low + round((high - low) * -below / (above - below))
        at = min(max(guess, low + 1), high - 1)
        value = beyond(at)
        if value > 0.0:
            high, above, kept = at, value, min(kept, 0) - 1
            below /= 2 if kept < -1 else 1
        else:
            low, below, kept = at, value, max(kept, 0) + 1
            above /= 2 if kept > 1 else 1
    return high
