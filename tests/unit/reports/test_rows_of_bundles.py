"""Rows say what bundles say: what is not there is unknown, and 0 is a number."""

import json
from dataclasses import asdict
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.records.conclude import rebuild
from pytest_nel.records.gated import CHECKS
from pytest_nel.reports import _words
from pytest_nel.reports.bundles import Found
from pytest_nel.reports.rows import row_of
from tests.unit.records.parts_of_runs import Whole, record
from tests.unit.reports.made import reference, table


def found(**bundle: Any) -> Found:
    scores = bundle.pop("scores", {"mean_reward": {"value": 0.5}})
    benchmark = {"name": "b", "samples": 3, "repeats": 1, "scores": scores}
    content = {"benchmark": benchmark | bundle.pop("benchmark", {}), **bundle}
    return Found(Path("e.json"), content, Path("r"), "r", None)


def test_a_bound_of_zero_is_a_bound() -> None:
    """The reference system leaves the interval out."""
    said = {"value": 0.1, "ci_lower": 0.0, "ci_upper": 0.0, "ci_method": "wilson"}

    metric = row_of(found(scores={"mean_reward": said})).headline

    assert (metric.low, metric.high, metric.has_interval) == (0.0, 0.0, True)


@pytest.mark.parametrize(
    ("scores", "name"),
    [
        ({"pass@1": {"value": 0.2}, "mean_reward": {"value": 0.1}}, "mean_reward"),
        ({"pass@4": {"value": 0.3}, "pass@1": {"value": 0.2}}, "pass@1"),
        ({"gen_seconds": {"value": 9.0}, "x_ms": {"value": 1}, "bleu": {"value": 0.3}}, "bleu"),
        ({"latency": {"value": 9.0}}, "none"),
        ({"summary": {"mean": 0.1}, "runtime": {}}, "none"),
    ],
)
def test_the_headline_is_a_score(scores: dict[str, Any], name: str) -> None:
    row = row_of(found(scores=scores))

    assert row.headline.name == name


def test_all_other_metrics_are_kept() -> None:
    scorer = {"value": 0.25, "ci_lower": 0.0, "ci_upper": 0.6, "correct": 1, "total": 4}

    row = row_of(found(scores={"pass@1": {"value": 0.5}, "scorer:f1": scorer}))

    (metric,) = row.others
    assert (metric.name, metric.low, metric.correct, metric.n) == ("scorer:f1", 0.0, 1, 4)


def test_a_bundle_of_the_reference_system_does_not_say_everything(tmp_path: Path) -> None:
    path = reference(tmp_path / "b", "b", [1, 0, 1, 0], model="llama")

    (row,) = table(path).rows

    assert (row.model, row.headline.name, row.headline.value) == ("llama", "pass@1", 0.5)
    assert (row.counts.attempted, row.counts.scored, row.counts.unscored) == (4, None, None)
    assert row.usage.tokens is None


def test_missing_numbers_are_unknown_and_broken_ones_are_none() -> None:
    runtime = {"total_tokens": float("nan"), "latency_percentiles_ms": {"p50": "fast"}}
    scores = {"mean_reward": {"value": float("inf")}, "runtime": runtime}

    row = row_of(found(scores=scores))

    assert (row.headline.value, row.usage.tokens, row.usage.p50) == (None, None, None)


def test_unknown_tokens_are_not_zero() -> None:
    runtime = {"total_tokens": 0, "steps_without_usage": 4}

    row = row_of(found(scores={"mean_reward": {"value": 1}, "runtime": runtime}))

    assert row.usage.tokens is None


@pytest.mark.parametrize(
    ("said", "cost"),
    [
        (1.5, (1.5, "")),
        ({"total": 0.0, "currency": "EUR"}, (0.0, "EUR")),
        ({"total_usd": 2}, (2.0, "USD")),
        (None, (None, "")),
        ({"parts": []}, (None, "")),
    ],
)
def test_cost_is_a_number_or_an_object(said: object, cost: tuple[float | None, str]) -> None:
    runtime = {"cost": said}

    usage = row_of(found(scores={"mean_reward": {"value": 1}, "runtime": runtime})).usage

    assert (usage.cost, usage.currency) == cost


def test_a_cost_that_lacks_something_is_a_lower_bound() -> None:
    cost = {"total": 0.25, "currency": "USD", "n_unknown": 1, "n_made_again": 0}
    scores = {"mean_reward": {"value": 1}, "runtime": {"cost": cost}}

    usage = row_of(found(scores=scores)).usage

    assert _words.cost(usage) == "≥ 0.2500 USD"


def test_an_interval_that_promises_nothing_says_so() -> None:
    said = {"value": 0.5, "ci_lower": 0.0, "ci_upper": 1.0, "ci_method": "cr", "ci_reliable": False}

    metric = row_of(found(scores={"mean_reward": said})).headline

    assert _words.method(metric) == "cr, not reliable"


def test_rates_are_no_metrics() -> None:
    rate = {"value": 0.1, "n": 1, "of": 10, "ci_lower": 0.0, "ci_upper": 0.4}

    row = row_of(found(scores={"mean_reward": {"value": 1}, "rates": {"unparsed": rate}}))

    assert row.others == []
    assert row.rates["unparsed"].high == 0.4


def test_categories_and_breakdowns_are_groups() -> None:
    group = {"group": "en", "n": 3, "mean_reward": 0.0, "ci_lower": 0.0, "ci_upper": 0.5}
    categories = {"algebra": {"mean_reward": 0.25, "n": 4}}

    row = row_of(
        found(
            scores={"mean_reward": {"value": 1}, "breakdowns": {"lang": [group]}},
            benchmark={"categories": categories},
        )
    )

    first, second = row.groups
    assert (first.field, first.name, first.score.value, first.score.n) == (
        "category",
        "algebra",
        0.25,
        4,
    )
    assert (second.field, second.name, second.score.low) == ("lang", "en", 0.0)


def test_notes_say_what_makes_numbers_less_than_they_look(tmp_path: Path) -> None:
    whole = Whole()
    attempts = whole.attempts()
    records = {one: record(one, None if n else 1.0) for n, one in enumerate(attempts[:3])}
    whole.part(tmp_path / "run", records)
    rebuild(tmp_path / "run")

    (row,) = table(tmp_path / "run").rows

    assert row.notes[:2] == [
        "partial: evaluated 3 of 6",
        "2 attempts have no score and are in none",
    ]
    assert (row.counts.planned, row.counts.attempted, row.counts.scored) == (6, 3, 1)


def test_a_baseline_that_measured_something_else_is_named() -> None:
    before = row_of(found(fingerprint={"prompts": "1", "scorer": "s", "model": "x"}))

    row = row_of(found(fingerprint={"prompts": "2", "scorer": "s", "model": "y"}), before)

    assert row.notes[0] == (
        "not measured as the baseline was: prompts: 1 in the baseline, 2 in the candidate"
    )


def test_a_baseline_with_the_same_rows_in_another_file_measured_the_same() -> None:
    """A gate compares them: the file's hash says less than that of its rows."""
    facts = {"rows_hash": "r", "prompts": "p", "scorer": "s", "answering": {"solver.name": "chat"}}
    before = row_of(found(fingerprint=facts | {"content_hash": "1", "model": "x"}))

    row = row_of(found(fingerprint=facts | {"content_hash": "2", "model": "y"}), before)

    assert not [note for note in row.notes if "baseline" in note]


@pytest.mark.parametrize("said", [{}, {"fingerprint": {}}, {"fingerprint": "x"}])
def test_what_a_baseline_does_not_say_is_named(said: dict[str, Any]) -> None:
    row = row_of(found(fingerprint={"prompts": "2", "scorer": "s"}), row_of(found(**said)))

    assert row.notes == [
        (
            "not known on both sides, so not compared: dataset, prompts, scorer, solver, sampling, "
            "interceptors"
        )
    ]


def test_a_group_knows_how_many_answers_were_not_found() -> None:
    categories = {"algebra": {"mean_reward": 0.25, "n": 4, "n_unparsed": 1}, "sets": {"n": 4}}

    row = row_of(found(benchmark={"categories": categories}))

    assert [group.unparsed for group in row.groups] == [1, None]


def test_a_count_that_can_be_none_is_unknown() -> None:
    row = row_of(found(n_scored=-1, n_wrong=10**400, n_correct=True, n_unscored="5"))

    assert set(asdict(row.counts).values()) == {None}


def test_checks_keep_the_numbers_of_the_gate(tmp_path: Path) -> None:
    reference(tmp_path / "b", "b", [1])
    gate = {"id": "p.yaml::b", "status": "failed", "reason": "worse", "delta": -0.1, "exit_code": 1}
    (tmp_path / CHECKS).write_text(json.dumps({"exit_code": 1, "checks": [gate, "odd"]}))

    (check,) = table(tmp_path).checks

    assert (check.id, check.status, check.reason) == ("p.yaml::b", "failed", "worse")
    assert check.numbers == {"delta": -0.1, "exit_code": 1}


def test_a_damaged_checks_file_says_nothing(tmp_path: Path) -> None:
    reference(tmp_path / "b", "b", [1])
    (tmp_path / CHECKS).write_text("{")

    assert table(tmp_path).checks == []
