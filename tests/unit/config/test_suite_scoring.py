"""Further scorers in a suite file: what is accepted, and what an error says."""

import pytest

from pytest_nel.config.load import Suite, parse_suite
from pytest_nel.core.errors import ConfigError

SUITE = """\
services:
  model: {type: api, url: "http://h/v1/chat/completions", protocol: chat_completions, model: m}
benchmarks:
  - name: gsm8k
    solver: {type: simple, service: model}
    scoring:
"""
KNOWN = ("exact_match", "numeric_match")


def parse(*lines: str) -> Suite:
    text = SUITE + "".join(f"      {line}\n" for line in lines)
    return parse_suite(text, "s.yaml", {}, scorers=KNOWN)


def complaint(*lines: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(*lines)
    return str(caught.value)


def test_a_metric_is_a_scorer_by_its_name() -> None:
    (metric,) = (
        parse("metrics: [{name: numeric_match, type: scorer}]").config.benchmarks[0].scoring.metrics
    )

    assert (metric.name, metric.uses, metric.config) == ("numeric_match", "numeric_match", None)


def test_a_metric_may_have_a_name_and_settings_of_its_own() -> None:
    line = "metrics: [{name: strict, type: scorer, scorer: exact_match, config: {case: true}}]"

    (metric,) = parse(line).config.benchmarks[0].scoring.metrics

    assert (metric.name, metric.uses, metric.config) == ("strict", "exact_match", {"case": True})


def test_a_benchmark_without_scoring_has_no_further_scorers() -> None:
    suite = parse_suite(SUITE.replace("    scoring:\n", ""), "s.yaml", {}, scorers=KNOWN)

    assert suite.config.benchmarks[0].scoring.metrics == []


def test_an_unknown_scorer_is_named_with_its_line_and_the_nearest() -> None:
    said = complaint("metrics:", "  - {name: numeric_mach, type: scorer}")

    assert said == (
        "s.yaml:8: benchmarks[0].scoring.metrics[0].name: no scorer is called 'numeric_mach'. "
        "Did you mean 'numeric_match'? Known: exact_match, numeric_match"
    )


def test_an_unknown_scorer_under_its_own_key_is_named_there() -> None:
    said = complaint("metrics:", "  - name: strict", "    type: scorer", "    scorer: exact")

    assert said.startswith("s.yaml:10: benchmarks[0].scoring.metrics[0].scorer: no scorer is")
    assert "Did you mean 'exact_match'?" in said


def test_two_metrics_of_one_name_are_refused_with_the_line_of_the_second() -> None:
    line = "{name: exact_match, type: scorer}"

    said = complaint("metrics:", f"  - {line}", f"  - {line}")

    assert said.startswith("s.yaml:9: benchmarks[0].scoring.metrics[1].name: two metrics are")


@pytest.mark.parametrize(
    "kind",
    ["judge", "pairwise_judge", "ensemble_judge", "sandbox", "reward_model", "custom"],
)
def test_other_metric_types_are_not_supported_yet(kind: str) -> None:
    said = complaint("metrics:", f"  - {{name: x, type: {kind}, service: judge}}")

    assert f"s.yaml:8: benchmarks[0].scoring.metrics[0].type: metric type {kind!r} is not" in said


def test_a_misspelt_metric_type_is_unknown() -> None:
    said = complaint("metrics: [{name: exact_match, type: scorrer}]")

    assert "unknown metric type 'scorrer'. Did you mean 'scorer'?" in said


@pytest.mark.parametrize("line", ["primary: exact_match", "include_defaults: true"])
def test_keys_without_a_meaning_here_are_not_supported_yet(line: str) -> None:
    said = complaint(line, "metrics: [{name: exact_match, type: scorer}]")

    key = line.partition(":")[0]
    assert said == f"s.yaml:7: benchmarks[0].scoring.{key}: not supported yet; leave it out"


@pytest.mark.parametrize(
    ("line", "what"),
    [
        ("metric: []", "benchmarks[0].scoring.metric: unknown key. Did you mean 'metrics'?"),
        ("metrics: [{name: exact_match}]", "metrics[0].type: required, but missing"),
        ("metrics: [{type: scorer}]", "metrics[0].name: required, but missing"),
        ("metrics: [{name: x, type: scorer, conf: {}}]", "unknown key. Did you mean 'config'?"),
        ("metrics: [{name: ' x', type: scorer}]", "without space around it"),
        ("metrics: exact_match", "expected a list, got 'exact_match'"),
        ("metrics: [exact_match]", "expected a mapping (key: value), got 'exact_match'"),
        ("metrics: [{name: exact_match, type: scorer, config: 1}]", "expected a mapping"),
    ],
)
def test_a_malformed_entry_is_one_line(line: str, what: str) -> None:
    said = complaint(line)

    assert what in said
    assert said.startswith("s.yaml:7: ")
