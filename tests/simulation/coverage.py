"""How often an interval holds the truth, and how often a gate at the truth would decide wrongly.

``python -m tests.simulation.coverage`` prints the tables of docs/explanation/statistics.md.
"""

import math
from collections.abc import Callable, Iterator
from itertools import chain
from typing import NamedTuple

import numpy as np

from pytest_nel.stats.intervals import interval_of_sums
from pytest_nel.stats.paired import paired_difference
from tests.simulation import scenarios
from tests.simulation.scenarios import Sample, Scenario, flipped

SEED = 20240501
INFORMATIVE = 8.0  # full-range changes' worth of squares from which an interval is not too wide

Bounds = tuple[float, float]
Method = Callable[[Sample, int], Bounds]


class Coverage(NamedTuple):
    """Shares of experiments.

    Attributes:
        held: The interval holds the truth.
        low_missed: The lower bound is above it: a gate with the drop at its margin says PASS.
        high_missed: The upper bound is below it: such a gate says BREACH.
        rounds: Experiments; 0 where the shares are exact sums.
        informative: Whether the values spread enough for the width to be that of the spread.
    """

    held: float
    low_missed: float
    high_missed: float
    rounds: int
    informative: bool


def bounds(sample: Sample, repeats: int) -> Bounds:
    """The interval under test."""
    if sample.baseline is not None:
        found = paired_difference(sample.baseline, sample.candidate, sample.clusters)
        assert found is not None
        return found.low, found.high
    sums = [(value * repeats, repeats) for value in sample.candidate.tolist()]
    binary = bool(np.isin(sample.candidate * repeats, np.arange(repeats + 1)).all())
    _, interval = interval_of_sums(sums, binary=binary, clusters=sample.clusters)
    assert interval is not None
    return interval.low, interval.high


def plain_t(sample: Sample, _repeats: int) -> Bounds:
    """Student's t interval, which falls short on few or skewed values: to be found out."""
    from scipy import stats

    values = sample.candidate - (0.0 if sample.baseline is None else sample.baseline)
    half = float(stats.t.ppf(0.975, len(values) - 1) * stats.sem(values))
    mean = float(values.mean())
    return mean - half, mean + half


def unclustered(sample: Sample, repeats: int) -> Bounds:
    """The interval that takes the problems of a cluster as independent: to be found out."""
    return bounds(sample._replace(clusters=None), repeats)


def rounds_of(scenario: Scenario) -> int:
    large = scenario.n >= 2000 and scenario.group != "struck clusters"  # of few units
    return 1000 if large else 3000


def simulate(scenario: Scenario, method: Method = bounds, rounds: int | None = None) -> Coverage:
    rounds = rounds or rounds_of(scenario)
    rng = np.random.default_rng(SEED)
    low_missed = high_missed = 0
    spread: list[float] = []
    for _ in range(rounds):
        sample = scenario.draw(rng)
        low, high = method(sample, scenario.repeats)
        low_missed += low > scenario.truth
        high_missed += high < scenario.truth
        spread.append(_squares(sample))
    low_share, high_share = low_missed / rounds, high_missed / rounds
    informative = float(np.mean(spread)) >= INFORMATIVE
    return Coverage(1.0 - low_share - high_share, low_share, high_share, rounds, informative)


def exact_score(n: int, p: float) -> Coverage:
    """Wilson's interval, by the binomial distribution."""
    from scipy import stats

    low_missed = high_missed = 0.0
    for right in range(n + 1):
        weight = float(stats.binom.pmf(right, n, p))
        if weight > 1e-12:
            values = np.repeat([1.0, 0.0], [right, n - right])
            low, high = bounds(Sample(values), 1)
            low_missed += weight * (low > p)
            high_missed += weight * (high < p)
    informative = n * p * (1 - p) >= INFORMATIVE * max(p, 1 - p) ** 2
    return Coverage(1.0 - low_missed - high_missed, low_missed, high_missed, 0, informative)


def exact_difference(n: int, gain: float, loss: float) -> Coverage:
    """Tango's interval, by the trinomial distribution."""
    from scipy import stats

    missed = [0.0, 0.0]
    for gains in range(n + 1):
        outer = float(stats.binom.pmf(gains, n, gain))
        losses = np.arange(n - gains + 1)
        inner = outer * stats.binom.pmf(losses, n - gains, loss / (1.0 - gain))
        for lost in losses[inner > 1e-10]:
            values = np.repeat([1.0, -1.0, 0.0], [gains, lost, n - gains - lost])
            low, high = bounds(flipped(values), 1)
            missed[0] += float(inner[lost]) * (low > gain - loss)
            missed[1] += float(inner[lost]) * (high < gain - loss)
    informative = n * (gain + loss - (gain - loss) ** 2) >= INFORMATIVE
    return Coverage(1.0 - sum(missed), missed[0], missed[1], 0, informative)


def noise(share: float, rounds: int) -> float:
    """Three standard errors of a simulated share; none of an exact one."""
    return 3.0 * math.sqrt(share * (1.0 - share) / rounds) if rounds else 0.0


def enough(found: Coverage) -> bool:
    """Whether the coverage may be 94 %, given the number of experiments."""
    return found.held >= 0.94 - noise(0.94, found.rounds)


def not_too_much(found: Coverage) -> bool:
    """Whether the coverage may be 96.5 %."""
    return found.held <= 0.965 + noise(0.965, found.rounds)


def gate_errs_rarely(found: Coverage) -> bool:
    """Whether false PASS and false BREACH at the margin may each be 5 %."""
    return max(found.low_missed, found.high_missed) <= 0.05 + noise(0.05, found.rounds)


def everything() -> Iterator[tuple[str, str, int, Coverage]]:
    for n in scenarios.SIZES:
        for p in scenarios.SHARES:
            yield "single answers", f"p {p} (exact)", n, exact_score(n, p)
    for n in (30, 200):
        for gain, loss in ((0.05, 0.05), (0.02, 0.1), (0.1, 0.02), (0.1, 0.2), (0.01, 0.05)):
            name = f"gains {gain}, losses {loss} (exact)"
            yield "paired single answers", name, n, exact_difference(n, gain, loss)
    rest = chain(
        scenarios.scores(),
        scenarios.clustered_scores(),
        (one for one in scenarios.binary_differences() if one.n == 2000),
        scenarios.differences(),
        scenarios.clustered_differences(),
        scenarios.struck_clusters(),
    )
    for one in rest:
        yield one.group, one.name, one.n, simulate(one)


def main() -> None:
    print("| data | scenario | n | coverage | false PASS | false BREACH | |")
    print("|---|---|---|---|---|---|---|")
    for group, name, n, found in everything():
        shares = (found.held, found.low_missed, found.high_missed)
        shown = " | ".join(f"{100 * share:.1f} %" for share in shares)
        note = "" if found.informative else "little spread"
        print(f"| {group} | {name} | {n} | {shown} | {note} |", flush=True)


def _squares(sample: Sample) -> float:
    """Sum of squared deviations, in squares of the distance to the farther end of the range."""
    values, reach = sample.candidate, 1.0
    if sample.baseline is not None:
        values = values - sample.baseline
    else:
        reach = max(float(values.mean()), 1.0 - float(values.mean()))
    if sample.clusters is not None:
        sizes = np.bincount(sample.clusters)
        sums = np.bincount(sample.clusters, weights=values - values.mean())
        return float((sums**2).sum() / (sizes**2).sum()) * len(sizes) / reach**2
    return float(((values - values.mean()) ** 2).sum()) / reach**2


if __name__ == "__main__":
    main()
