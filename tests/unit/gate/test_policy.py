"""What a policy may say, what is refused and in which line, and what it comes to."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import ConfigError
from pytest_nel.gate.catalog import find_policy, policies
from pytest_nel.gate.comparable import MUST_MATCH
from pytest_nel.gate.policy import Policy, Thresholds, load_policy, parse_policy

ENTRY = "version: 1\nbenchmarks:\n  mmlu:\n    "  # what follows is line 4


def entry(line: str) -> Policy:
    """A policy whose fourth line is this key of mmlu."""
    metric = "" if line.startswith("metric") else "    metric: mean_reward\n"
    return parse_policy(f"{ENTRY}{line}\n{metric}", "p.yaml")


def refusal(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse_policy(text, "p.yaml")
    return str(caught.value)


@pytest.mark.parametrize(
    ("line", "key", "value"),
    [
        ("tier: advisory", "tier", "advisory"),
        ("max_drop: 0", "max_drop", 0.0),
        ("max_drop: null", "max_drop", None),
        ("max_relative_drop: 0.02", "max_relative_drop", 0.02),
        ("metric: pass@1", "metric", "pass@1"),
        ("metric: pass@16", "metric", "pass@16"),
        ("metric: scorer:f1", "metric", "scorer:f1"),
        ("direction: lower_is_better", "direction", "lower_is_better"),
        ("min_score: 0.75", "min_score", 0.75),
        ("must_pass: [a, 7]", "must_pass", ["a", "7"]),
        ("min_pass_rate: 0.5", "min_pass_rate", 0.5),
        ("min_pass_rate: {a: 0.5, '7': 1}", "min_pass_rate", {"a": 0.5, "7": 1.0}),
        ("max_unscored: 3", "max_unscored", 3),
        ("max_unparsed: 0.01", "max_unparsed", 0.01),
        ("max_truncated: 0", "max_truncated", 0),
        ("max_empty: 1.0", "max_empty", 1.0),
        ("max_p95_latency: 12.5", "max_p95_latency", 12.5),
        ("max_cost: 3", "max_cost", 3.0),
        ("max_tokens: 1000000", "max_tokens", 1_000_000.0),
        ("evidence: point", "evidence", "point"),
        ("subset: accept", "subset", "accept"),
    ],
)
def test_each_key_is_read(line: str, key: str, value: object) -> None:
    limits = entry(line).rule("mmlu").limits

    assert getattr(limits, key) == value
    assert type(getattr(limits, key)) is type(value)


def test_limits_of_categories_are_read() -> None:
    limits = (
        entry("per_category: {law: {max_drop: 0.1}, '*': {min_score: 0.2}}").rule("mmlu").limits
    )

    assert limits.per_category is not None
    assert limits.per_category["law"].max_drop == 0.1
    assert limits.per_category["*"].min_score == 0.2


_BAD = [
    ("tier: urgent", "tier", "one of 'critical', 'supporting' or 'advisory', got 'urgent'"),
    ("tier: null", "tier", "one of 'critical', 'supporting' or 'advisory', got null"),
    ("max_drop: -0.1", "max_drop", "at least 0, got -0.1"),
    ("max_drop: true", "max_drop", "a number, got True"),
    ("max_drop: .inf", "max_drop", "a finite number, got inf"),
    ("max_drop: .nan", "max_drop", "at least 0, got nan"),
    ("max_drop: low", "max_drop", "a number, got 'low'"),
    ("max_relative_drop: -1", "max_relative_drop", "at least 0, got -1"),
    ("relative_guard_below: 1.5", "relative_guard_below", "at most 1, got 1.5"),
    ("direction: up", "direction", "one of 'higher_is_better' or 'lower_is_better', got 'up'"),
    ("min_score: 1.1", "min_score", "at most 1, got 1.1"),
    ("per_category: 5", "per_category", "a mapping (key: value), got 5"),
    ("per_category: {law: {max_drop: -1}}", "per_category.law.max_drop", "at least 0, got -1"),
    ("must_pass: a", "must_pass", "a list, got 'a'"),
    ("must_pass: [true]", "must_pass[0]", "text (quote it), got True"),
    ("min_pass_rate: 2", "min_pass_rate", "a share from 0 to 1, or one for each problem id, got 2"),
    ("max_unscored: 1.5", "max_unscored", "a whole number of attempts, or a share such as 0.01"),
    ("max_unparsed: -1", "max_unparsed", "a whole number of attempts, or a share such as 0.01"),
    ("max_truncated: true", "max_truncated", "a whole number of attempts, or a share"),
    ("max_empty: many", "max_empty", "a whole number of attempts, or a share such as 0.01"),
    ("max_p95_latency: -1", "max_p95_latency", "at least 0, got -1"),
    ("max_cost: dear", "max_cost", "a number, got 'dear'"),
    ("max_tokens: -5", "max_tokens", "at least 0"),
    ("evidence: maybe", "evidence", "one of 'ci' or 'point', got 'maybe'"),
    ("subset: some", "subset", "one of 'refuse' or 'accept', got 'some'"),
]


@pytest.mark.parametrize(("line", "key", "wanted"), _BAD)
def test_a_bad_value_is_refused_with_its_line(line: str, key: str, wanted: str) -> None:
    with pytest.raises(ConfigError) as caught:
        entry(line)

    assert str(caught.value).startswith(f"p.yaml:4: benchmarks.mmlu.{key}: expected {wanted}")


def test_every_key_has_a_bad_value_above() -> None:
    tried = {line.partition(":")[0] for line, _, _ in _BAD} | {"metric"}

    assert tried == set(Thresholds.model_fields)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("max_dorp: 1", "max_dorp: unknown key. Did you mean 'max_drop'?"),
        ("correction: holm", "correction: unknown key; it belongs at the top of the file"),
        ("per_category: {law: {max_cost: 1}}", "per_category.law.max_cost: unknown key"),
        ("metric: bleu", "metric: unsupported metric 'bleu'; supported metrics: mean_reward"),
        ("metric: pass@0", "metric: unsupported metric 'pass@0'"),
        ("metric: 'scorer:'", "metric: unsupported metric 'scorer:'"),
        ("relative_guard_below: 0.2", "relative_guard_below: does nothing without max_relative"),
    ],
)
def test_what_cannot_be_meant_is_refused_with_its_line(line: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        entry(line)

    assert str(caught.value).startswith(f"p.yaml:4: benchmarks.mmlu.{said}")


@pytest.mark.parametrize(
    "line",
    ["min_score: 0.5", "per_category: {a: {}}", "min_pass_rate: 0.5", "must_pass: [a]"],
)
def test_what_speaks_of_success_has_no_meaning_where_lower_is_better(line: str) -> None:
    said = "has no meaning with direction: lower_is_better"
    name = line.partition(":")[0]

    with pytest.raises(ConfigError, match=rf"p\.yaml:4: benchmarks\.mmlu\.{name}: {said}"):
        entry(f"{line}\n    direction: lower_is_better")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("", "p.yaml:1: a gate policy must be a YAML mapping, got nothing"),
        ("[]", "p.yaml:1: a gate policy must be a YAML mapping, got a list"),
        ("version: 2", "p.yaml:1: version: unsupported gate policy version: 2; expected 1"),
        ("version: true", "p.yaml:1: version: unsupported gate policy version: True; expected 1"),
        ("version: '1'", "p.yaml:1: version: unsupported gate policy version: '1'; expected 1"),
        ("benchmarks: {}", "p.yaml:1: version: required, but missing; the only version is 1"),
        ("version: 1\nversion: 1", "p.yaml:2: version: duplicate key, first used in line 1"),
        ("version: 1\nmax_drop: 1", "p.yaml:2: max_drop: unknown key; it belongs in defaults"),
        ("version: 1\ncorection: holm", "p.yaml:2: corection: unknown key. Did you mean 'corre"),
        ("version: 1\ncorrection: all", "p.yaml:2: correction: expected one of 'none' or 'holm'"),
        ("version: 1\ncomparable: [datset]", "p.yaml:2: comparable: unknown field 'datset'. Did"),
        ("version: 1\ncomparable: model", "p.yaml:2: comparable: expected a list, got 'model'"),
        ("version: 1\nevidence: x", "p.yaml:2: evidence: expected one of 'ci' or 'point'"),
        ("version: 1\nbenchmarks: [mmlu]", "p.yaml:2: benchmarks: expected a mapping (key: value)"),
        ("version: 1\nbenchmarks: {mmlu: 5}", "p.yaml:2: benchmarks.mmlu: expected a mapping"),
        ("version: 1\ndefaults: 5", "p.yaml:2: defaults: expected a mapping (key: value), got 5"),
        ("version: 1\ndefaults: {metric: bleu}", "p.yaml:2: defaults.metric: unsupported metric"),
        ("version: 1\na: [", "p.yaml:2: not valid YAML"),
    ],
)
def test_a_bad_file_is_refused_with_its_line(text: str, said: str) -> None:
    assert refusal(text).startswith(said)


def test_all_that_is_wrong_is_said_at_once_in_the_order_of_the_file() -> None:
    text = (
        "version: 1\ndefaults:\n  tier: x\nbenchmarks:\n  a: {max_drop: -1}\n  b: {max_drop: y}\n"
    )

    lines = refusal(text).splitlines()

    assert [line.split(": ")[0] for line in lines] == ["p.yaml:3", "p.yaml:5", "p.yaml:6"]


def test_an_entry_stands_over_the_defaults_and_null_switches_off() -> None:
    text = (
        "version: 1\ndefaults: {metric: mean_reward, max_drop: 0.02, min_score: 0.5}\n"
        "benchmarks:\n  a: {max_drop: null}\n  b: {max_drop: 0.1, tier: critical}\n"
    )

    policy = parse_policy(text, "p.yaml")

    a, b, other = (policy.rule(name).limits for name in ("a", "b", "c"))
    assert (a.max_drop, a.min_score, a.tier) == (None, 0.5, "supporting")
    assert (b.max_drop, b.min_score, b.tier) == (0.1, 0.5, "critical")
    assert (other.max_drop, other.min_score) == (0.02, 0.5)


def test_what_is_not_said_is_the_reference_systems_default() -> None:
    limits = parse_policy("version: 1", "p.yaml").rule("a").limits

    assert limits == Thresholds()
    assert (limits.tier, limits.max_drop, limits.evidence) == ("supporting", 0.015, "ci")


@pytest.mark.parametrize(
    ("text", "states"),
    [
        ("version: 1", False),
        ("version: 1\ndefaults:\nbenchmarks:\n", False),
        ("version: 1\ncorrection: holm\nevidence: ci\ncomparable: [dataset]", False),
        ("version: 1\ndefaults: {max_drop: 0.1}", True),
        ("version: 1\nbenchmarks: {a: {tier: advisory}}", True),
    ],
)
def test_a_policy_states_something_only_with_limits_or_benchmarks(
    text: str, *, states: bool
) -> None:
    assert parse_policy(text, "p.yaml").states == states


def test_evidence_at_the_top_is_the_default_of_all() -> None:
    text = "version: 1\nevidence: point\nbenchmarks:\n  a: {metric: pass@1, evidence: ci}\n"

    policy = parse_policy(text, "p.yaml")

    assert [policy.rule(name).limits.evidence for name in ("a", "b")] == ["ci", "point"]


def test_fields_to_compare_can_be_chosen_also_none() -> None:
    chosen, none, built_in = (
        parse_policy(f"version: 1\n{line}", "p.yaml").comparable
        for line in ("comparable: [model, dataset]", "comparable: []", "")
    )

    assert (chosen, none, built_in) == (("model", "dataset"), (), MUST_MATCH)


def test_keys_with_an_underscore_hold_what_others_refer_to() -> None:
    text = "version: 1\n_hard: &hard {metric: pass@1, max_drop: 0.1}\nbenchmarks:\n  a: *hard\n"

    assert parse_policy(text, "p.yaml").rule("a").limits.max_drop == 0.1


@pytest.mark.parametrize(
    ("limits", "needs"),
    [
        ("max_drop: 0.1", True),
        ("max_relative_drop: 0.1", True),
        ("per_category: {a: {max_drop: 0.1}}", True),
        ("min_score: 0.1", False),
        ("max_drop: null", False),
        ("per_category: {a: {min_score: 0.1}}", False),
        ("max_unscored: 0", False),
    ],
)
def test_only_a_stated_drop_needs_a_baseline(limits: str, *, needs: bool) -> None:
    text = f"version: 1\nbenchmarks:\n  a: {{metric: mean_reward, {limits}}}\n"

    assert parse_policy(text, "p.yaml").rule("a").needs_baseline == needs


def test_only_listed_benchmarks_that_gate_are_required() -> None:
    text = "version: 1\nbenchmarks:\n  a: {metric: pass@1}\n  b: {tier: advisory, metric: bleu}\n"

    policy = parse_policy(text, "p.yaml")

    assert [policy.rule(name).required for name in ("a", "b", "c")] == [True, False, False]
    assert [policy.rule(name).gates for name in ("a", "b", "c")] == [True, False, True]


def test_a_policy_is_found_as_a_file_and_by_name(tmp_path: Path) -> None:
    path = tmp_path / "mine.yaml"
    path.write_text("version: 1\n")

    assert find_policy(str(path)) == path
    assert load_policy(str(path)).name == str(path)
    assert {"release", "per-commit", "thresholds"} <= set(policies())
    assert load_policy("release").name == "release.yaml"


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("none.yaml", "Gate policy not found: none.yaml; there is no such file"),
        ("some/release", "Gate policy not found: some/release; there is no such file"),
        ("relase", "unknown gate policy 'relase'. Did you mean 'release'?"),
    ],
)
def test_a_policy_that_is_nowhere_is_one_line(name: str, said: str) -> None:
    with pytest.raises(ConfigError) as caught:
        load_policy(name)

    assert str(caught.value).startswith(said)


def test_a_file_that_is_not_text_is_one_line(tmp_path: Path) -> None:
    (tmp_path / "p.yaml").write_bytes(b"version: 1\n\xff\xfe\x00")

    with pytest.raises(ConfigError, match=r"p\.yaml:2: not UTF-8"):
        load_policy(str(tmp_path / "p.yaml"))


def test_a_folder_is_no_policy(tmp_path: Path) -> None:
    with pytest.raises(ConfigError, match="cannot read this gate policy: Is a directory"):
        load_policy(str(tmp_path))


_JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from([*Thresholds.model_fields, "law", "*"]) | st.text(max_size=3),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(defaults=_JSON, benchmarks=_JSON, comparable=_JSON)
def test_a_policy_of_any_shape_is_read_or_refused(
    defaults: object, benchmarks: object, comparable: object
) -> None:
    import yaml

    whole = {
        "version": 1,
        "defaults": defaults,
        "benchmarks": benchmarks,
        "comparable": comparable,
    }
    text = yaml.safe_dump(whole)

    said, limits = "p.yaml:1: read", Thresholds()
    try:
        limits = parse_policy(text, "p.yaml").rule("law").limits
    except ConfigError as error:
        said = str(error)

    assert said.startswith("p.yaml:")
    assert isinstance(limits, Thresholds)


@pytest.mark.parametrize(
    ("line", "said"),
    [
        ("max_drop: 1.5", "max_drop: 1.5 is no limit: scores lie in [0, 1], 0.015 is 1.5 points"),
        ("max_drop: 1", "max_drop: 1 is no limit"),
        ("per_category: {a: {max_drop: 2}}", "per_category.a.max_drop: 2 is no limit"),
        ("min_score: 0", "min_score: 0 is no limit: every score reaches it"),
        ("min_pass_rate: 0", "min_pass_rate: 0 is no limit"),
        ("per_category: {a: {min_score: 0}}", "per_category.a.min_score: 0 is no limit"),
    ],
)
def test_a_limit_that_nothing_could_pass_over_is_refused(line: str, said: str) -> None:
    text = refusal(f"{ENTRY}{line}\n    metric: mean_reward\n")

    assert text.startswith("p.yaml:4: ")
    assert said in text


def test_where_lower_is_better_a_drop_may_be_large() -> None:
    policy = entry("max_drop: 30\n    direction: lower_is_better")

    assert policy.rule("mmlu").limits.max_drop == 30
