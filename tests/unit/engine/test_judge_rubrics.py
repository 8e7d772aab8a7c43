"""Judges that go by rubrics, and problems without any."""

from pathlib import Path
from typing import Any

import pytest

from pytest_nel import Benchmark
from pytest_nel.config.metrics import ScoringConfig
from pytest_nel.config.schema import BenchmarkConfig, PluginSpec
from pytest_nel.core.errors import ConfigError
from pytest_nel.engine.plan import BenchmarkPlan, make_plan
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.scoring.text import exact_match

RUBRICS = [{"criterion": "is kind", "points": 2}]


def planned(preset: str | None, *rows: dict[str, Any], **facts: Any) -> BenchmarkPlan:
    judge = {"name": "j", "type": "judge", "service": "s", "preset": preset}
    config = BenchmarkConfig(
        name="b",
        solver=PluginSpec(type="simple"),
        shuffle_seed=None,
        scoring=ScoringConfig.model_validate({"metrics": [judge]}),
    )
    given = {"scorer": exact_match} | facts
    made = Benchmark(name="b", dataset=list(rows), prompt="{q}", **given)
    return make_plan(config, BenchmarkEnvironment(made, base=Path()), len(rows))


def row(**more: Any) -> dict[str, Any]:
    return {"q": "Hello?", "target": "x", **more}


def test_a_row_without_rubrics_is_refused_before_any_answer_is_paid_for() -> None:
    with pytest.raises(ConfigError) as error:
        planned("healthbench", row(rubrics=RUBRICS), row())

    said = str(error.value)
    assert said.startswith("benchmark b: judge 'j': the preset healthbench needs a field `rubrics`")
    assert "problem 1 has none: rubrics: expected a list of criteria" in said


def test_rows_with_rubrics_can_be_judged() -> None:
    assert planned("healthbench", row(rubrics=RUBRICS)).judges[0].preset == "healthbench"


def test_a_benchmark_judged_by_its_rows_alone_needs_them_as_well() -> None:
    with pytest.raises(ConfigError, match="problem 0 has none"):
        planned(None, row(), scorer=None, judge="healthbench")


def test_a_rubric_that_no_scorer_gives_is_refused() -> None:
    with pytest.raises(ConfigError, match=r"only the benchmark's scorer can give"):
        planned("rubric", row())


def test_what_a_scorer_that_asks_for_the_judge_will_say_is_not_known_before() -> None:
    assert planned(None, row(), judge="healthbench").judges[0].on_request
