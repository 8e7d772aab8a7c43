"""Two sides of a benchmark in memory, for comparisons."""

from collections.abc import Mapping, Sequence
from typing import Any

from pytest_nel.gate.compare import judge, measure
from pytest_nel.gate.comparison import BenchmarkComparison, Rules
from pytest_nel.gate.evidence import Row, Side

Tries = Sequence[float | None]


def side(
    rewards: Sequence[float | None] | Sequence[Tries],
    *,
    name: str = "mmlu",
    categories: Sequence[str] = (),
    clusters: Sequence[str] = (),
    bundle: Mapping[str, Any] | None = None,
) -> Side:
    """A reward per problem, or several; None is an attempt without a score."""
    problems: list[Tries] = [one if isinstance(one, Sequence) else [one] for one in rewards]
    rows = [
        Row(
            at,
            repeat,
            reward,
            reward is not None and reward >= 1.0,
            f"p{at}",
            categories[at] if categories else "",
            clusters[at] if clusters else "",
            outcome="unscored" if reward is None else "correct" if reward >= 1.0 else "wrong",
        )
        for at, tries in enumerate(problems)
        for repeat, reward in enumerate(tries)
    ]
    repeats = max((len(tries) for tries in problems), default=1)
    whole = {"run_id": "r", "benchmark": {"name": name, "repeats": repeats, "scores": {}}}
    return Side(whole | dict(bundle or {}), rows)


def binary(
    regressions: int, improvements: int, n: int, right: int | None = None
) -> tuple[Side, Side]:
    """Baseline and candidate of ``n`` problems; of the unchanged, ``right`` (or all) are solved."""
    rest = n - regressions - improvements
    both = rest if right is None else right
    stable = [1.0] * both + [0.0] * (rest - both)
    return (
        side([1.0] * regressions + [0.0] * improvements + stable),
        side([0.0] * regressions + [1.0] * improvements + stable),
    )


def compare(baseline: Side, candidate: Side, **rules: Any) -> BenchmarkComparison:
    """One benchmark judged by these rules."""
    chosen = Rules(**rules)
    return judge([measure(baseline, candidate, chosen)], chosen)[0]
