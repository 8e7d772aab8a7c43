"""Models of one run side by side: each benchmark of a matrix, compared with its first model."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from pytest_nel.config.matrix import Compared, mark
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


@dataclass(frozen=True, slots=True)
class Table:
    """The models of one list, side by side.

    Attributes:
        name: The list's in the matrix; None where no list is known.
        rows: Model by model for each benchmark, the first of them the one compared with.
    """

    name: str | None
    rows: tuple[Variant, ...]


def variants(derived: Sequence[Derived], lists: Sequence[Compared]) -> Iterator[Table]:
    """The benchmarks that several models were asked, in a table for each list of models.

    Those of no list, as in the run of a suite that another run has written, are in one table.

    Args:
        derived: Benchmarks of one run; of those that differ in their service alone the first is
            what the others are compared with.
        lists: What is compared, with the order of its models.

    Raises:
        OSError: Rows cannot be read.
    """
    known = [
        (one, mark(one.plan["config"])) for one in derived if one.plan["config"].get("variant")
    ]
    for each in lists:
        mine = [one for one, its in known if its in each.entries]
        mine.sort(key=partial(_place, each.services))
        yield Table(each.name, tuple(_rows(mine)))
    listed = {its for each in lists for its in each.entries}
    yield Table(None, tuple(_rows([one for one, its in known if its not in listed])))


def _place(services: Sequence[str], one: Derived) -> int:
    service = one.plan["config"]["solver"].get("service")
    return services.index(service) if service in services else len(services)


def _rows(derived: Sequence[Derived]) -> Iterator[Variant]:
    groups: dict[str, list[Derived]] = {}
    for one in derived:
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
