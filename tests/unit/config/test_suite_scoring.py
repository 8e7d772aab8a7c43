"""Further scorers in a suite file: what is accepted, and what an error says."""

import pytest

from pytest_nel.config.load import Suite, parse_suite
from pytest_nel.config.metrics import (
    EnsembleMetric,
    JudgeMetric,
    PairwiseMetric,
    RewardModelMetric,
)
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
        parse("metrics: [{name: numeric_match, type: scorer}]").config.benchmarks[0].scoring.scorers
    )

    assert (metric.name, metric.uses, metric.config) == ("numeric_match", "numeric_match", None)


def test_a_metric_may_have_a_name_and_settings_of_its_own() -> None:
    line = "metrics: [{name: strict, type: scorer, scorer: exact_match, config: {case: true}}]"

    (metric,) = parse(line).config.benchmarks[0].scoring.scorers

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
    ("kind", "way_out"),
    [("custom", "write the scorer in Python"), ("sandbox", "runs the command in `sample.sandbox`")],
)
def test_metric_types_that_are_refused_name_a_way_out(kind: str, way_out: str) -> None:
    said = complaint("metrics:", f"  - {{name: x, type: {kind}}}")

    assert f"s.yaml:8: benchmarks[0].scoring.metrics[0].type: metric type {kind!r} is not" in said
    assert way_out in said


JUDGES = (
    "{name: j, type: judge, service: grader, min_score: 0, max_score: 10, rubric: Be strict.}",
    "{name: p, type: pairwise_judge, judge_service: grader, baseline_field: old}",
    "{name: e, type: ensemble_judge, services: [grader, other], aggregation: median}",
    "{name: r, type: reward_model, service: grader, score_range: [-4, 4]}",
)


def judging(*metrics: str, tail: str = "") -> Suite:
    services = "".join(
        f"  {name}: {{type: api, url: 'http://g/v1/chat/completions', "
        f"protocol: chat_completions, model: {model}}}\n"
        for name, model in (("grader", "g"), ("other", "o"))
    )
    lines = ["metrics:", *(f"  - {metric}" for metric in metrics), *([tail] if tail else [])]
    text = SUITE.replace("benchmarks:\n", services + "benchmarks:\n")
    text += "".join(f"      {line}\n" for line in lines)
    return parse_suite(text, "s.yaml", {}, scorers=KNOWN)


def test_every_kind_of_judge_is_read() -> None:
    scoring = judging(*JUDGES, tail="primary: p").config.benchmarks[0].scoring

    assert [type(metric) for metric in scoring.judges] == [
        JudgeMetric,
        PairwiseMetric,
        EnsembleMetric,
        RewardModelMetric,
    ]
    assert scoring.primary == "p"


@pytest.mark.parametrize(
    ("metric", "what"),
    [
        ("{name: j, type: judge}", "metrics[0].service: required, but missing"),
        ("{name: j, type: judge, service: grade}", "metrics[0].service: no service is called"),
        ("{name: j, type: judge, service: model}", "would judge its own answers (itself)"),
        ("{name: j, type: judge, service: grader, min_score: 5}", "expected min_score below"),
        ("{name: j, type: judge, service: grader, scale: 5}", "metrics[0].scale: unknown key"),
        (
            "{name: j, type: judge, service: grader, rubric: x, rubric_file: y}",
            "metrics[0]: expected rubric or rubric_file, not both",
        ),
        (
            "{name: j, type: judge, service: grader, swap_check: true, reference_free: true}",
            "reference_free leaves none",
        ),
        (
            "{name: j, type: judge, service: grader, preset: simpleqa, max_score: 3}",
            "the preset simpleqa has its own: leave out max_score",
        ),
        (
            "{name: e, type: ensemble_judge, services: [grader, nobody]}",
            "metrics[0].services[1]: no service is called 'nobody'",
        ),
        ("{name: e, type: ensemble_judge, services: [grader]}", "at least 2 entries"),
        (
            "{name: p, type: pairwise_judge, judge_service: grader}",
            "expected baseline_service or baseline_field",
        ),
        (
            "{name: p, type: pairwise_judge, judge_service: grader, max_score: 5}",
            "metrics[0].max_score: not supported: a pairwise judge gives win, tie or loss",
        ),
        (
            "{name: r, type: reward_model, service: grader, mode: pairwise}",
            "metrics[0].mode: mode pairwise is not supported: use type pairwise_judge",
        ),
        (
            "{name: r, type: reward_model, service: grader, score_range: [1, 0]}",
            "with low below high",
        ),
    ],
)
def test_a_judge_that_cannot_work_is_refused_with_its_line(metric: str, what: str) -> None:
    with pytest.raises(ConfigError) as caught:
        judging(metric)

    said = str(caught.value)
    assert what in said
    assert said.startswith("s.yaml:10: ")
    assert len(said.splitlines()) == 1


def test_a_model_under_another_name_judges_itself_too_unless_it_may() -> None:
    url = "http://h/v1/chat/completions/"
    twin = f"  twin: {{type: api, url: '{url}', protocol: chat_completions, model: m}}\n"
    text = SUITE.replace("benchmarks:\n", twin + "benchmarks:\n")
    line = "      metrics: [{name: j, type: judge, service: twin%s}]\n"

    with pytest.raises(ConfigError, match="would judge its own answers") as caught:
        parse_suite(text + line % "", "s.yaml", {}, scorers=KNOWN)
    allowed = parse_suite(text + line % ", allow_self_judge: true", "s.yaml", {}, scorers=KNOWN)

    assert "service 'model' is asked for the same model" in str(caught.value)
    assert len(allowed.config.benchmarks[0].scoring.judges) == 1


@pytest.mark.parametrize(
    ("one", "other", "refused"),
    [
        ("type: llama_cpp", "type: llama_cpp, model: demo, port: 9", True),
        ("type: llama_cpp, model: a.gguf", "type: llama_cpp, model: a.gguf", True),
        ("type: llama_cpp, model: a.gguf", "type: llama_cpp, model: b.gguf", False),
        ("type: vllm, model: org/a", "type: vllm, model: org/a", True),
        ("type: vllm, model: org/a", "type: vllm, model: org/b", False),
        ("type: command, command: 'a {port}'", "type: command, command: 'b {port}'", False),
    ],
)
def test_a_model_that_is_served_twice_for_the_run_judges_itself_too(
    one: str, other: str, *, refused: bool
) -> None:
    text = f"""\
services:
  model: {{{one}}}
  twin: {{{other}}}
benchmarks:
  - name: gsm8k
    solver: {{type: simple, service: model}}
    scoring:
      metrics: [{{name: j, type: judge, service: twin}}]
"""

    try:
        parse_suite(text, "s.yaml", {}, scorers=KNOWN)
        said = ""
    except ConfigError as error:
        said = str(error)

    assert ("service 'twin' would judge its own answers" in said) is refused, said
    assert refused or not said


def test_primary_names_a_metric() -> None:
    said = complaint("primary: exact", "metrics: [{name: exact_match, type: scorer}]")

    assert "benchmarks[0].scoring.primary: no metric is called 'exact'. Did you mean" in said


def test_a_misspelt_metric_type_is_unknown() -> None:
    said = complaint("metrics: [{name: exact_match, type: scorrer}]")

    assert "unknown metric type 'scorrer'. Did you mean 'scorer'?" in said


def test_a_key_without_a_meaning_here_is_refused_with_the_reason() -> None:
    said = complaint("include_defaults: true", "metrics: [{name: exact_match, type: scorer}]")

    assert said == (
        "s.yaml:7: benchmarks[0].scoring.include_defaults: a benchmark's own scorer always counts: "
        "leave it out"
    )


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


def test_one_machine_has_many_names() -> None:
    here = "type: api, protocol: chat_completions, model: m, url: 'http://{}:8/v1/chat/completions'"
    text = f"""\
services:
  model: {{{here.format("127.0.0.1")}}}
  twin: {{{here.format("localhost")}}}
benchmarks:
  - name: gsm8k
    solver: {{type: simple, service: model}}
    scoring: {{metrics: [{{name: j, type: judge, service: twin}}]}}
"""

    with pytest.raises(ConfigError, match="service 'twin' would judge its own answers"):
        parse_suite(text, "s.yaml", {}, scorers=KNOWN)


def test_a_model_is_not_compared_with_itself() -> None:
    said = complaint(
        "metrics: [{name: p, type: pairwise_judge, judge_service: grader, baseline_service: model}]"
    )

    assert "baseline_service: service 'model' is the model that is measured: name another" in said


def test_services_that_name_no_model_are_asked_for_their_own_names() -> None:
    here = "type: api, protocol: chat_completions, url: 'http://h.test/v1/chat/completions'"
    text = f"""\
services:
  model: {{{here}}}
  grader: {{{here}}}
benchmarks:
  - name: gsm8k
    solver: {{type: simple, service: model}}
    scoring: {{metrics: [{{name: j, type: judge, service: grader}}]}}
"""

    suite = parse_suite(text, "s.yaml", {}, scorers=KNOWN)

    assert len(suite.config.benchmarks[0].scoring.judges) == 1
