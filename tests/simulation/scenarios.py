"""What the intervals are tried on: populations of problems of which the true mean is known.

Each scenario draws the per-problem values of a run, or of two runs on the same problems.
"""

from collections.abc import Callable, Iterator
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

Array = npt.NDArray[np.float64]
Rng = np.random.Generator

SIZES = (30, 200, 2000)
SHARES = (0.05, 0.5, 0.95)
# A beta distribution of the chances of a problem: the smaller, the more problems are (nearly)
# always right or always wrong. None: all problems are equally hard.
SPREADS = {"bimodal": 0.3, "flat": 2.0, "equal": None}


class Sample(NamedTuple):
    """What one experiment gives: a run, or a baseline and a candidate."""

    candidate: Array
    baseline: Array | None = None
    clusters: list[int] | None = None


class Strike(NamedTuple):
    """What happens to whole clusters, however little their answers are alike.

    Attributes:
        share: Of the clusters that are struck.
        lost: Share of its right answers that such a cluster loses; its wrong ones where ``up``.
        alike: Intraclass correlation of the baseline's answers.
        flips: Share of the other problems that change either way.
        up: The candidate gains.
    """

    share: float
    lost: float
    alike: float = 0.02
    flips: float = 0.0
    up: bool = False


class Scenario(NamedTuple):
    """A population and how it is sampled."""

    group: str
    name: str
    n: int
    truth: float
    draw: Callable[[Rng], Sample]
    repeats: int = 1


def chances(rng: Rng, mean: float, spread: float | None, count: int) -> Array:
    if spread is None:
        return np.full(count, mean)
    return rng.beta(mean * spread, (1.0 - mean) * spread, count)


def scores() -> Iterator[Scenario]:
    """Means of one run: repeats and fractional rewards (single answers are summed exactly)."""
    for n in SIZES:
        for p in SHARES:
            for repeats in (4, 16):
                for label, spread in SPREADS.items():
                    name = f"p {p}, {repeats} repeats, {label}"
                    yield Scenario("repeats", name, n, p, _repeats(n, p, repeats, spread), repeats)
            for label, spread in (("bimodal", 0.5), ("skewed", 4.0)):
                name = f"mean {p}, {label}"
                yield Scenario("fractional", name, n, p, _fractions(n, p, spread))
        share = 0.08
        name = "9 of 10 are 0, the rest uniform"
        yield Scenario("fractional", name, n, share / 2, _few_informative(n, share))


def clustered_scores() -> Iterator[Scenario]:
    for groups in (5, 20, 100):
        for balance in ("equal sizes", "unequal sizes"):
            sizes = cluster_sizes(groups, balanced=balance == "equal sizes")
            for alike in (0.02, 0.5):
                for p in SHARES:
                    name = f"{groups} clusters, {balance}, ICC {alike}, p {p}"
                    draw = _clustered(sizes, p, alike)
                    yield Scenario("clusters", name, int(sizes.sum()), p, draw)


def differences() -> Iterator[Scenario]:
    """Two runs on the same problems; the candidate loses as much as the name says."""
    for n in SIZES:
        for repeats in (4, 16):
            for p in SHARES:
                for label, spread in (("bimodal", 0.3), ("flat", 2.0)):
                    name = f"p {p}, {repeats} repeats, {label}, drop {0.04 * p:.3f}"
                    draw = _repeated_pair(n, p, repeats, spread)
                    yield Scenario("paired repeats", name, n, -0.04 * p, draw)
        for share, size in ((0.05, 1.0), (0.05, 0.25), (0.2, 0.5)):
            name = f"{share:.0%} change by {size}, 3 of 4 down"
            yield Scenario("heavy ties", name, n, -share * size / 2, _ties(n, share, size))
        yield Scenario("paired fractional", "1 of 10 loses a part", n, -0.015, _skewed_losses(n))
        for relative in (0.02, 0.1):
            truth = 0.7 * 0.96 + 0.3 * 0.04 - (1.0 - relative) * 0.7
            name = f"relative margin {relative}"
            yield Scenario("relative", name, n, truth, _relative(n, relative))


def binary_differences() -> Iterator[Scenario]:
    for n in SIZES:
        for gain, loss in ((0.05, 0.05), (0.02, 0.1), (0.1, 0.02), (0.1, 0.2), (0.01, 0.05)):
            name = f"gains {gain}, losses {loss}"
            yield Scenario("paired single answers", name, n, gain - loss, _flips(n, gain, loss))


def clustered_differences() -> Iterator[Scenario]:
    for groups in (5, 20, 100):
        for balance in ("equal sizes", "unequal sizes"):
            sizes = cluster_sizes(groups, balanced=balance == "equal sizes")
            n = int(sizes.sum())
            head = f"{groups} clusters, {balance}"
            draw = _clustered_flips(sizes, (1.0, 0.06, 0.06), 0.05)
            yield Scenario("paired clusters", f"{head}, changes alone", n, -0.02, draw)
            draw = _clustered_flips(sizes, (0.1, 0.6, 0.02), 0.5)
            name = f"{head}, 1 of 10 loses most"
            yield Scenario("paired clusters", name, n, 0.04 - 0.1 * 0.6 - 0.9 * 0.02, draw)


def struck_clusters() -> Iterator[Scenario]:
    """Few clusters change, and much; in many experiments none of those that were seen."""
    equal = (
        (20, 10, Strike(0.05, 0.5)),
        (20, 10, Strike(0.05, 1.0)),
        (50, 10, Strike(0.05, 0.5, flips=0.01)),
        (120, 10, Strike(0.02, 0.5)),
        (120, 10, Strike(0.02, 0.5, alike=0.048)),
        (120, 10, Strike(0.02, 1.0, alike=0.5)),
        (120, 10, Strike(0.02, 0.5, flips=0.01)),
        (120, 10, Strike(0.02, 1.0, alike=0.05, up=True)),
        (200, 20, Strike(0.015, 1.0)),
        (500, 5, Strike(0.005, 1.0)),
        (500, 5, Strike(0.005, 1.0, flips=0.005)),
        (500, 5, Strike(0.05, 1.0)),
    )
    for groups, size, strike in equal:
        yield _struck_scenario(np.full(groups, size), f"{size} problems each", strike)
    for groups, strike in ((57, Strike(0.05, 1.0)), (120, Strike(0.02, 1.0, flips=0.01))):
        yield _struck_scenario(cluster_sizes(groups, balanced=False), "unequal sizes", strike)


def cluster_sizes(groups: int, *, balanced: bool) -> npt.NDArray[np.int64]:
    """Ten problems each, or from 2 to 40."""
    if balanced:
        return np.full(groups, 10)
    return np.round(np.geomspace(2, 40, groups)).astype(np.int64)


def flipped(changes: Array) -> Sample:
    """Runs of single answers that differ so."""
    baseline = np.where(changes == 1, 0.0, 1.0)
    return Sample(baseline + changes, baseline)


def _repeats(n: int, p: float, repeats: int, spread: float | None) -> Callable[[Rng], Sample]:
    return lambda rng: Sample(rng.binomial(repeats, chances(rng, p, spread, n)) / repeats)


def _fractions(n: int, mean: float, spread: float) -> Callable[[Rng], Sample]:
    return lambda rng: Sample(chances(rng, mean, spread, n))


def _few_informative(n: int, share: float) -> Callable[[Rng], Sample]:
    return lambda rng: Sample(np.where(rng.random(n) < share, rng.random(n), 0.0))


def _clustered(sizes: npt.NDArray[np.int64], p: float, alike: float) -> Callable[[Rng], Sample]:
    names = np.repeat(np.arange(len(sizes)), sizes)

    def draw(rng: Rng) -> Sample:
        chance = chances(rng, p, 1.0 / alike - 1.0, len(sizes))[names]
        right = (rng.random(len(names)) < chance).astype(float)
        return Sample(right, clusters=names.tolist())

    return draw


def _repeated_pair(n: int, p: float, repeats: int, spread: float) -> Callable[[Rng], Sample]:
    def draw(rng: Rng) -> Sample:
        chance = chances(rng, p, spread, n)
        before = rng.binomial(repeats, chance) / repeats
        return Sample(rng.binomial(repeats, 0.96 * chance) / repeats, before)

    return draw


def _ties(n: int, share: float, size: float) -> Callable[[Rng], Sample]:
    def draw(rng: Rng) -> Sample:
        changed = rng.random(n) < share
        down = rng.random(n) < 0.75
        changes = np.where(changed, np.where(down, -size, size), 0.0)
        baseline = np.where(changes > 0, 0.0, 1.0)
        return Sample(baseline + changes, baseline)

    return draw


def _skewed_losses(n: int) -> Callable[[Rng], Sample]:
    def draw(rng: Rng) -> Sample:
        before = rng.beta(0.3, 0.7, n)
        kept = np.where(rng.random(n) < 0.1, rng.random(n), 1.0)
        return Sample(before * kept, before)

    return draw


def _relative(n: int, relative: float) -> Callable[[Rng], Sample]:
    def draw(rng: Rng) -> Sample:
        before = (rng.random(n) < 0.7).astype(float)
        after = np.where(rng.random(n) < 0.04, 1.0 - before, before)
        return Sample(after, (1.0 - relative) * before)

    return draw


def _flips(n: int, gain: float, loss: float) -> Callable[[Rng], Sample]:
    def draw(rng: Rng) -> Sample:
        luck = rng.random(n)
        return flipped(np.where(luck < gain, 1.0, np.where(luck < gain + loss, -1.0, 0.0)))

    return draw


def _clustered_flips(
    sizes: npt.NDArray[np.int64], losses: tuple[float, float, float], alike: float
) -> Callable[[Rng], Sample]:
    """A share of the clusters loses so much, the others so much; 4 % of all problems are gained."""
    names = np.repeat(np.arange(len(sizes)), sizes)
    share, much, little = losses

    def draw(rng: Rng) -> Sample:
        chance = chances(rng, 0.7, 1.0 / alike - 1.0, len(sizes))[names]
        hit = (rng.random(len(sizes)) < share)[names]
        luck = rng.random(len(names))
        lost = luck < np.where(hit, much, little)
        gained = luck > 0.96
        before = np.where(lost, 1.0, np.where(gained, 0.0, rng.random(len(names)) < chance))
        return Sample(before - lost + gained, before, names.tolist())

    return draw


def _struck_scenario(sizes: npt.NDArray[np.int64], balance: str, strike: Strike) -> Scenario:
    right = 0.8
    whole, sign = (1.0 - right, 1.0) if strike.up else (right, -1.0)
    hit = strike.share * strike.lost
    truth = sign * hit * whole + (1.0 - hit) * strike.flips * (1.0 - 2.0 * right)
    verb = "gain" if strike.up else "lose"
    name = f"{len(sizes)} clusters, {balance}, ICC {strike.alike}, "
    name += f"{strike.share:.1%} {verb} {'all' if strike.lost == 1.0 else f'{strike.lost:.0%}'}"
    name += f", {strike.flips:.1%} flips" if strike.flips else ""
    return Scenario("struck clusters", name, int(sizes.sum()), truth, _struck(sizes, right, strike))


def _struck(sizes: npt.NDArray[np.int64], right: float, strike: Strike) -> Callable[[Rng], Sample]:
    codes = np.repeat(np.arange(len(sizes)), sizes)
    names, spread = codes.tolist(), 1.0 / strike.alike - 1.0

    def draw(rng: Rng) -> Sample:
        chance = chances(rng, right, spread, len(sizes))[codes]
        before = (rng.random(len(codes)) < chance).astype(float)
        hit = (rng.random(len(sizes)) < strike.share)[codes]
        hit &= rng.random(len(codes)) < strike.lost
        others = np.where(rng.random(len(codes)) < strike.flips, 1.0 - before, before)
        return Sample(np.where(hit, float(strike.up), others), before, names)

    return draw
