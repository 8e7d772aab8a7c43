"""How many problems a decision needs, and how small a difference so many can show.

``alpha`` is one-sided everywhere: 0.025 goes with a two-sided interval of 95 %.
"""

import math
from collections.abc import Callable
from statistics import NormalDist

from pytest_nel.stats._score import scale_of


def required_n(effect: float, *, spread: float, alpha: float = 0.025, power: float = 0.8) -> int:
    """Problems needed to show a mean difference of ``effect``: ``((z_α + z_β) spread / effect)²``.

    The normal approximation for paired means (Lachin 1981).

    Args:
        effect: The difference to show; its sign does not matter.
        spread: Standard deviation of the per-problem differences.
        alpha: One-sided level.
        power: Chance of showing it if it is there.

    Raises:
        ValueError: ``effect`` is 0, ``spread`` negative, or a probability not in (0, 1).
    """
    _check(alpha, power)
    _check_effect(effect)
    _check_spread(spread)
    return max(2, _up(((_z(alpha) + _z(1.0 - power)) * spread / effect) ** 2))


def minimum_detectable_effect(
    n: int, *, spread: float, alpha: float = 0.025, power: float = 0.8
) -> float:
    """The difference that ``n`` problems show with that power: ``(z_α + z_β) spread / √n``.

    The inverse of :func:`required_n`. Of discordant pairs alone, ``spread`` is 1: ten of them
    show a surplus of 88.6 % of them, a hundred 28 %, a thousand 8.9 %.

    Raises:
        ValueError: ``n`` < 1, ``spread`` is negative, or a probability not in (0, 1).
    """
    _check(alpha, power)
    _check_spread(spread)
    _check_n(n)
    return (_z(alpha) + _z(1.0 - power)) * spread / math.sqrt(n)


def required_n_binary(
    effect: float, *, discordance: float, alpha: float = 0.025, power: float = 0.8
) -> int:
    """Problems needed to show a difference of two scores of single answers (Connor 1987).

    ``(z_α √ψ + z_β √(ψ - δ²))² / δ²``, with ψ the discordance and δ the effect.

    Args:
        effect: Difference of the two shares correct; its sign does not matter.
        discordance: Share of problems that one run has right and the other wrong.
        alpha: One-sided level.
        power: Chance of showing it if it is there.

    Raises:
        ValueError: Not 0 < effect <= discordance <= 1 in size, or a probability not in (0, 1).
    """
    _check(alpha, power)
    _check_effect(effect)
    delta = abs(effect)
    if not delta <= discordance <= 1.0:
        msg = f"wanted |effect| <= discordance <= 1, got {delta} and {discordance}"
        raise ValueError(msg)
    rest = max(0.0, discordance - delta * delta)
    root = _z(alpha) * math.sqrt(discordance) + _z(1.0 - power) * math.sqrt(rest)
    return _up((root / delta) ** 2)


def minimum_detectable_effect_binary(
    n: int, *, discordance: float, alpha: float = 0.025, power: float = 0.8
) -> float | None:
    """The inverse of :func:`required_n_binary`; None where even all pairs one way do not show.

    Raises:
        ValueError: ``n`` < 1, or ``discordance`` or a probability not in its range.
    """
    _check(alpha, power)
    _check_n(n)
    if not 0.0 <= discordance <= 1.0:
        msg = f"wanted a discordance in [0, 1], got {discordance}"
        raise ValueError(msg)
    first, second = _z(alpha), _z(1.0 - power)
    # δ √n = z_α √ψ + z_β √(ψ - δ²), squared and solved for δ
    size = n + second * second
    middle = first * math.sqrt(n * discordance)
    rest = size * discordance * (first * first - second * second)
    delta = (middle + math.sqrt(max(0.0, middle * middle - rest))) / size
    return delta if 0.0 < delta <= discordance else None


def problems_to_pass(margin: float, confidence: float = 0.95) -> int:
    """The smallest number of problems at which two runs without any differing answer can pass.

    The bound on the drop is then ``q / (n + q)`` (Tango 1998 with no discordant pair; ``q`` the
    squared quantile that :func:`pytest_nel.stats.paired.paired_difference` uses), and has to be at
    most ``margin``. With fewer problems a limit on the drop cannot be met, whatever the candidate.

    Raises:
        ValueError: ``margin`` is not above 0, or ``confidence`` not in (0, 1).
    """
    if not margin > 0.0:
        msg = f"wanted a margin above 0, got {margin}: no number of problems is enough for that"
        raise ValueError(msg)
    return _smallest(lambda n: _missed(n, confidence) <= margin)


def problems_to_reach(min_score: float, confidence: float = 0.95) -> int:
    """The smallest number of problems at which a perfect score has a lower bound of ``min_score``.

    The bound is ``n / (n + q)`` (Wilson 1927, all correct), as in :func:`problems_to_pass`.

    Raises:
        ValueError: ``min_score`` is not in [0, 1), or ``confidence`` not in (0, 1).
    """
    if not 0.0 <= min_score < 1.0:
        msg = f"wanted a score in [0, 1), got {min_score}: no number of problems proves 1"
        raise ValueError(msg)
    return _smallest(lambda n: 1.0 - _missed(n, confidence) >= min_score)


def _missed(n: int, confidence: float) -> float:
    quantile = scale_of(n).squared_quantile(confidence)
    return quantile / (n + quantile)


def _smallest(enough: Callable[[int], bool]) -> int:
    """By doubling, then halving: ``enough`` stays true once it is."""
    most = 1
    while not enough(most):
        most *= 2
    least = most // 2
    while most - least > 1:
        middle = (least + most) // 2
        least, most = (least, middle) if enough(middle) else (middle, most)
    return most


def _up(number: float) -> int:
    return math.ceil(number * (1.0 - 1e-12))  # what is whole but for rounding stays


def _z(tail: float) -> float:
    return NormalDist().inv_cdf(1.0 - tail)


def _check(alpha: float, power: float) -> None:
    if not (0.0 < alpha < 1.0 and 0.0 < power < 1.0):
        msg = f"alpha and power must be between 0 and 1, got {alpha} and {power}"
        raise ValueError(msg)


def _check_effect(effect: float) -> None:
    if effect == 0.0 or not math.isfinite(effect):
        msg = f"wanted an effect other than 0, got {effect}"
        raise ValueError(msg)


def _check_spread(spread: float) -> None:
    if not 0.0 <= spread < math.inf:
        msg = f"wanted a standard deviation of at least 0, got {spread}"
        raise ValueError(msg)


def _check_n(n: int) -> None:
    if n < 1:
        msg = f"wanted at least one problem, got {n}"
        raise ValueError(msg)
