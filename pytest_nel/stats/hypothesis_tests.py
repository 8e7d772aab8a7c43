"""Tests of whether a candidate differs from a baseline on the same problems, and Holm's correction.

Three questions each: is it worse, is it better, is it either. A p-value says whether there is a
difference, not whether it matters; for that see :mod:`pytest_nel.stats.paired`.
"""

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt

    Values = Sequence[float] | npt.NDArray[np.float64]

_SEED = 42
_CHUNK = 4_000_000  # signs held at once: 32 MB
_TIE = 1e-12  # relative: sums of the same numbers in another order


@dataclass(frozen=True, slots=True)
class McNemar:
    """McNemar's exact test.

    Attributes:
        n: Problems on both sides.
        regressions: Correct before, wrong after.
        improvements: Wrong before, correct after.
        effect: (regressions - improvements) / n: the drop of the score.
        p_worse: Of the candidate being no worse.
        p_better: Of the candidate being no better.
        p_two_sided: Of no difference.
    """

    n: int
    regressions: int
    improvements: int
    effect: float
    p_worse: float
    p_better: float
    p_two_sided: float


@dataclass(frozen=True, slots=True)
class SignTest:
    """The sign test: in which direction did the problems that changed go.

    Attributes:
        worse: Problems with a lower value after.
        better: Problems with a higher value after.
        ties: Problems that did not change; they say nothing about the direction.
        p_worse: Of the candidate being no worse.
        p_better: Of the candidate being no better.
        p_two_sided: Of no difference.
    """

    worse: int
    better: int
    ties: int
    p_worse: float
    p_better: float
    p_two_sided: float


@dataclass(frozen=True, slots=True)
class PermutationTest:
    """The sign-flip test of the mean difference.

    Attributes:
        n: Problems on both sides.
        mean_drop: Mean of baseline - candidate.
        standardized: ``mean_drop`` over the standard deviation of the differences (Cohen's d), no
            share of a score; None where they do not differ.
        permutations: How many sign flips were counted: all there are, or as many as were drawn.
        p_worse: Of the candidate being no worse.
        p_better: Of the candidate being no better.
        p_two_sided: Of no difference.
    """

    n: int
    mean_drop: float
    standardized: float | None
    permutations: int
    p_worse: float
    p_better: float
    p_two_sided: float


def mcnemar(regressions: int, improvements: int, n: int) -> McNemar:
    """McNemar's test (McNemar 1947), exact: discordant pairs are as likely to go either way.

    Raises:
        ValueError: A count is negative, or there are more discordant pairs than pairs.
    """
    if min(regressions, improvements) < 0 or regressions + improvements > n:
        msg = f"wanted counts of {n} pairs, got {regressions} worse and {improvements} better"
        raise ValueError(msg)
    effect = (regressions - improvements) / n if n else 0.0
    return McNemar(n, regressions, improvements, effect, *_binomial(regressions, improvements))


def sign_test(baseline: "Values", candidate: "Values") -> SignTest:
    """The sign test (Dixon & Mood 1946), exact; ties are set aside.

    Raises:
        ValueError: The sides differ in length, or a value is not finite.
    """
    drops = _drops(baseline, candidate)
    worse, better = int((drops > 0).sum()), int((drops < 0).sum())
    return SignTest(worse, better, len(drops) - worse - better, *_binomial(worse, better))


def permutation_test(
    baseline: "Values", candidate: "Values", *, permutations: int = 10_000
) -> PermutationTest:
    """The sign-flip permutation test of the mean (Fisher 1935; Pitman 1937).

    If the two runs are alike, each difference might as well have had the other sign. The share of
    sign flips with a mean at least as large is the p-value: of all of them where there are no more
    than ``permutations``, else of so many drawn and the observed one (Phipson & Smyth 2010). The
    seed is fixed, and the order of the problems is nothing.

    Raises:
        ValueError: The sides differ in length, a value is not finite, or ``permutations`` < 1.
    """
    if permutations < 1:
        msg = f"wanted at least one permutation, got {permutations}"
        raise ValueError(msg)
    drops = _drops(baseline, candidate)
    changed = drops[drops != 0]
    total = math.fsum(changed.tolist())
    exact = len(changed) < permutations.bit_length()  # 2 ** changed <= permutations
    if exact:
        permutations = 2 ** len(changed)
    observed = 0 if exact else 1  # one of all, but not of those drawn
    found = _flip(changed, total, None if exact else permutations)
    shares = [(count + observed) / (permutations + observed) for count in found]
    mean = total / len(drops) if len(drops) else 0.0
    spread = float(drops.std(ddof=1)) if len(drops) > 1 else 0.0
    standardized = mean / spread if spread > 0.0 else None
    return PermutationTest(len(drops), mean, standardized, permutations, *shares)


def holm(p_values: Sequence[float]) -> list[float]:
    """P-values adjusted for their number (Holm 1979), in the order given.

    Rejecting those at or below α keeps the chance of any false rejection at α, whatever the
    dependence.

    Raises:
        ValueError: A p-value is not in [0, 1].
    """
    wrong = [value for value in p_values if not 0.0 <= value <= 1.0]
    if wrong:
        msg = f"p-values lie in [0, 1], got {wrong[0]}"
        raise ValueError(msg)
    adjusted, largest = [0.0] * len(p_values), 0.0
    order = sorted(range(len(p_values)), key=p_values.__getitem__)
    for rank, index in enumerate(order):
        largest = max(largest, min(1.0, (len(order) - rank) * p_values[index]))
        adjusted[index] = largest
    return adjusted


def _binomial(worse: int, better: int) -> tuple[float, float, float]:
    """One-sided both ways and two-sided: how surprising is that split of a fair coin."""
    if worse + better == 0:
        return 1.0, 1.0, 1.0
    from scipy.stats import binom  # binomtest takes ten times as long, for the same numbers

    p_worse = float(binom.sf(worse - 1, worse + better, 0.5))
    p_better = float(binom.sf(better - 1, worse + better, 0.5))
    return p_worse, p_better, min(1.0, 2.0 * min(p_worse, p_better))


def _flip(
    changed: "npt.NDArray[np.float64]", total: float, permutations: int | None
) -> tuple[int, int, int]:
    """How many sign flips reach the observed sum upwards, downwards, in size; None: of all."""
    import numpy as np  # noqa: PLC0415 - heavy

    size = np.sort(np.abs(changed))
    slack = _TIE * float(size.sum())
    above = below = apart = 0
    for kept in _every(len(size)) if permutations is None else _drawn(len(size), permutations):
        sums = 2.0 * (kept @ size) - size.sum()
        above += int((sums >= total - slack).sum())
        below += int((sums <= total + slack).sum())
        apart += int((np.abs(sums) >= abs(total) - slack).sum())
    return above, below, apart


def _every(count: int) -> "Iterator[npt.NDArray[np.float64]]":
    """All choices of ``count`` signs, one a row: 1 for plus."""
    import numpy as np  # noqa: PLC0415 - heavy

    yield ((np.arange(2**count)[:, None] >> np.arange(count)) & 1).astype(float)


def _drawn(count: int, permutations: int) -> "Iterator[npt.NDArray[np.float64]]":
    """So many random choices of signs, in chunks that memory holds."""
    import numpy as np  # noqa: PLC0415 - heavy

    rng = np.random.default_rng(_SEED)
    rows = max(1, _CHUNK // count)
    for start in range(0, permutations, rows):
        shape = (min(rows, permutations - start), -(-count // 8))
        packed = rng.integers(0, 256, size=shape, dtype=np.uint8)
        yield np.unpackbits(packed, axis=1, count=count).astype(float)


def _drops(baseline: "Values", candidate: "Values") -> "npt.NDArray[np.float64]":
    import numpy as np  # noqa: PLC0415 - heavy

    before, after = np.asarray(baseline, dtype=float), np.asarray(candidate, dtype=float)
    if before.shape != after.shape or before.ndim != 1:
        msg = f"wanted one value a problem on both sides, got {before.shape} and {after.shape}"
        raise ValueError(msg)
    drops = before - after
    if not np.isfinite(drops).all():
        msg = "wanted finite values on both sides, got NaN or infinity"
        raise ValueError(msg)
    return np.asarray(drops, dtype=float)
