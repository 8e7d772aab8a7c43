"""Models of one run side by side: each benchmark of a matrix, compared with its first model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_nel.core.keys import digest, safe_name
from pytest_nel.gate.compare import measure
from pytest_nel.gate.comparison import Rules
from pytest_nel.records.bundle import headline
from pytest_nel.records.files import Derived
from pytest_nel.records.sides import read_side
from pytest_nel.stats.paired import Difference


@dataclass(frozen=True, slots=True)
class Variant:
    """One model on one benchmark.

    Attributes:
        benchmark: The benchmark, without the model.
        model: The service's name.
        score: Mean reward; None where nothing was scored.
        difference: From the first model on the problems that both have a score for; None for the
            first, and where they have none.
        n_missing: Attempts of the two that lack a score.
        regressions: Problems that the first solved and this one did not.
        improvements: The other way round.
    """

    benchmark: str
    model: str
    score: float | None
    difference: Difference | None = None
    n_missing: int = 0
    regressions: int = 0
    improvements: int = 0


def variants(derived: Sequence[Derived]) -> Iterator[Variant]:
    """The benchmarks that several models were asked, model by model.

    Args:
        derived: Benchmarks of one run; of those that differ in their service alone the first is
            what the others are compared with.

    Raises:
        OSError: Rows cannot be read.
    """
    groups: dict[str, list[Derived]] = {}
    for one in derived:
        if one.plan["config"].get("variant"):
            groups.setdefault(_but_for_the_model(one.plan["config"]), []).append(one)
    for group in groups.values():
        if len(group) > 1:
            yield from _compared(group)


def _but_for_the_model(config: Mapping[str, Any]) -> str:
    service = str(config["solver"].get("service"))
    solver = {**config["solver"], "service": None}
    variant = str(config["variant"]).removesuffix(service)
    return digest({**config, "solver": solver, "variant": variant})


def _compared(group: Sequence[Derived]) -> Iterator[Variant]:
    first, *others = group
    baseline = read_side(first.directory, first.bundle)
    yield _alone(first)
    for other in others:
        found = measure(baseline, read_side(other.directory, other.bundle), Rules())
        alone = _alone(other)
        counts = found.flips.counts
        yield Variant(
            alone.benchmark,
            alone.model,
            alone.score,
            found.case.difference if found.n_paired else None,
            found.n_missing,
            counts.baseline_only_correct,
            counts.candidate_only_correct,
        )


def _alone(one: Derived) -> Variant:
    config = one.plan["config"]
    service = str(config["solver"].get("service"))
    benchmark = str(one.plan["benchmark"]).removesuffix(f"-{safe_name(service)}")
    return Variant(benchmark, service, headline(one.bundle)["value"])
