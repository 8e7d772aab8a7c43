"""Judges that go by rubrics of the problems, and problems that have none."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from pytest_nel.core.errors import ConfigError, ScorerError
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.engine.judge_plan import HEALTHBENCH, RUBRIC, JudgeSpec
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.scoring.judging.together import criteria_of


def refuse_without_rubrics(
    environment: EvalEnvironment, judges: Sequence[JudgeSpec], problems: Iterable[int]
) -> None:
    """Refuse a judge that could judge no answer, before any answer is paid for.

    Of a benchmark whose scorer says what to judge by, and of a class, it is known only later.

    Raises:
        ConfigError: A problem has not what a judge's preset goes by.
    """
    if not isinstance(environment, BenchmarkEnvironment):
        return
    if environment.judge_preset is not None and environment.benchmark.scorer is not None:
        return
    for spec in judges:
        where = f"benchmark {environment.name}: judge {spec.name!r}: the preset {spec.preset}"
        if spec.preset == RUBRIC:
            msg = (
                f"{where} needs the rubric of each problem, which only the benchmark's scorer can "
                "give, as needs_judge(rubric=…): use another preset, or generic with a `rubric`"
            )
            raise ConfigError(msg)
        if spec.preset == HEALTHBENCH:
            _refuse_missing(environment, problems, where)


def _refuse_missing(environment: BenchmarkEnvironment, problems: Iterable[int], where: str) -> None:
    for idx, row in _rows(environment, problems):
        try:
            criteria_of(row.get("rubrics"), "rubrics")
        except ScorerError as error:
            msg = (
                f"{where} needs a field `rubrics` with criteria in each row, and problem {idx} "
                f"has none: {error}"
            )
            raise ConfigError(msg) from error


def _rows(
    environment: BenchmarkEnvironment, problems: Iterable[int]
) -> Iterator[tuple[int, Mapping[str, Any]]]:
    """Each problem with the fields that a judge is given."""
    for idx in problems:
        try:
            seed = environment.seed_now(idx)
        except Exception:  # noqa: BLE001, S112 - a user's seed_fn; its attempt will say why
            continue
        yield idx, environment.sample("", seed.expected_answer, seed.metadata).metadata
