"""Suite files: what is accepted, and what an error says."""

import contextlib
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.config.load import Suite, load_suite, parse_suite
from pytest_nel.core.errors import ConfigError

GOOD = """\
services:
  model:
    type: api
    url: http://localhost:8000/v1/chat/completions
    protocol: chat_completions
    model: m
    api_key: ${KEY}
benchmarks:
  - name: gsm8k
    repeats: 2
    solver: {type: simple, service: model}
"""


def parse(text: str) -> Suite:
    return parse_suite(text, "s.yaml", {"URL": "http://h"})


def complaint(text: str) -> str:
    with pytest.raises(ConfigError) as caught:
        parse(text)
    return str(caught.value)


def with_benchmark(lines: str) -> str:
    return GOOD + "".join(f"    {line}\n" for line in lines.splitlines())


def test_a_suite_is_read_with_defaults_filled_in() -> None:
    suite = parse(GOOD)

    assert suite.config.benchmarks[0].repeats == 2
    assert suite.config.benchmarks[0].shuffle_seed == 42
    assert suite.config.services["model"].options["model"] == "m"
    assert suite.source == "s.yaml"


def test_what_is_raw_stays_unexpanded_and_user_variables_are_left_out() -> None:
    text = GOOD.replace("http://localhost:8000", "${URL}") + "_mine: {api_key: literal}\n"

    suite = parse(text)

    assert suite.raw["services"]["model"]["url"] == "${URL}/v1/chat/completions"
    assert suite.config.services["model"].options["url"] == "http://h/v1/chat/completions"
    assert suite.config.services["model"].options["api_key"] == "${KEY}"
    assert "_mine" not in suite.raw


def test_a_file_may_have_a_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "s.yaml"
    path.write_bytes(b"\xef\xbb\xbf" + GOOD.replace("\n", "\r\n").encode())

    suite = load_suite(path, {})

    assert suite.config.benchmarks[0].name == "gsm8k"


def test_numbers_and_words_mean_what_they_look_like() -> None:
    text = with_benchmark(
        "timeout: 1e3\nstrict: on\nmax_problems: 010\n"
        "params: {no: no, at: 1:30, day: 2024-01-01, big: 1e3, eq: =}"
    )

    benchmark = parse(text).config.benchmarks[0]

    assert benchmark.timeout == 1000.0
    assert benchmark.strict is True
    assert benchmark.max_problems == 10
    assert benchmark.params == {
        "no": "no",
        "at": "1:30",
        "day": "2024-01-01",
        "big": 1000.0,
        "eq": "=",
    }


def test_anchors_and_merge_keys_work() -> None:
    text = "_base: &base {repeats: 3, timeout: 5}\n" + with_benchmark("<<: *base\nwindow: 9")

    benchmark = parse(text).config.benchmarks[0]

    assert (benchmark.repeats, benchmark.timeout, benchmark.window) == (2, 5.0, 9)


def test_a_value_of_the_wrong_kind_is_named_with_its_line() -> None:
    message = complaint(GOOD.replace("repeats: 2", "repeats: many"))

    assert message == "s.yaml:10: benchmarks[0].repeats: expected a whole number, got 'many'"


def test_a_list_that_is_too_short_is_said_to_have_so_many_entries() -> None:
    text = GOOD.replace("benchmarks:", "matrix: {m: [model]}\nbenchmarks:")

    assert complaint(text) == "s.yaml:8: matrix.m: expected at least 2 entries, got 1 entry"


def test_what_a_validator_says_is_not_wrapped_in_words_of_another() -> None:
    message = complaint(with_benchmark('variant: " a"'))

    assert "Value error" not in message
    assert message.count("expected") == 1
    assert message.endswith("got ' a'")


@pytest.mark.parametrize(("value", "came"), [("[model]", "a list"), ("{a: 1}", "a mapping")])
def test_a_service_that_is_no_name_is_refused(value: str, came: str) -> None:
    message = complaint(GOOD.replace("service: model", f"service: {value}"))

    place = "s.yaml:11: benchmarks[0].solver.service"
    assert message == f"{place}: expected text, the name of a service, got {came}"


def test_every_mistake_is_reported_at_once_in_the_order_of_the_file() -> None:
    text = with_benchmark("timeout: -1\nwindow: 0\nmax_problems: [1]")

    lines = complaint(text).splitlines()

    assert lines == [
        "s.yaml:12: benchmarks[0].timeout: expected more than 0.0, got -1",
        "s.yaml:13: benchmarks[0].window: expected at least 1, got 0",
        "s.yaml:14: benchmarks[0].max_problems: expected a whole number, got a list",
    ]


def test_an_unknown_key_gets_a_suggestion_and_the_known_ones() -> None:
    message = complaint(with_benchmark("max_concurent: 3"))

    assert "s.yaml:12: benchmarks[0].max_concurent: unknown key." in message
    assert "Did you mean 'max_concurrent'?" in message
    assert "shuffle_seed" in message


@pytest.mark.parametrize(
    ("section", "place", "why"),
    [
        ("cluster: {type: slurm}", "cluster.type", "a run happens where pytest is started"),
        ("cluster: {type: local, gpus: [0]}", "cluster.gpus", "in the service that needs them"),
        ("cluster: {type: local, container_env: {}}", "cluster.container_env", "of its shell"),
        ("scoring: {}", "scoring", "in each benchmark"),
        ("output: {trajectories: {}}", "output.trajectories", "solvers here make no"),
    ],
)
def test_what_means_nothing_here_is_refused_with_the_reason(
    section: str, place: str, why: str
) -> None:
    message = complaint(f"{GOOD}{section}\n")

    assert message.startswith(f"s.yaml:12: {place}: ")
    assert why in message


def test_keys_of_benchmarks_that_mean_nothing_here_are_all_named() -> None:
    text = with_benchmark(
        "skip_failed: true\nfewshot: 5\ninstruction_template: x\ncontext_window: 5"
    )

    paths = [line.split(": ")[1] for line in complaint(text).splitlines()]

    assert paths == [
        f"benchmarks[0].{key}"
        for key in (
            *("skip_failed", "fewshot"),
            *("instruction_template", "context_window"),
        )
    ]


@pytest.mark.parametrize(
    ("name", "said"),
    [
        ("nobody", "no service is called 'nobody'"),
        ("model", "expected a service of type gym, and 'model' is one of type api"),
    ],
)
def test_a_verifier_is_a_service_of_type_gym(name: str, said: str) -> None:
    message = complaint(with_benchmark(f"verifier: {name}"))

    assert said in message
    assert "benchmarks[0].verifier: " in message


@pytest.mark.parametrize(
    ("name", "said"),
    [("modle", "no service is called 'modle'. Did you mean 'model'?"), ("3", "expected text")],
)
def test_a_resource_service_is_one_of_the_suite(name: str, said: str) -> None:
    message = complaint(
        GOOD.replace(
            "{type: simple, service: model}",
            f"{{type: tool_calling, service: model, resource_service: {name}}}",
        )
    )

    assert said in message
    assert "s.yaml:" in message
    assert "benchmarks[0].solver.resource_service: " in message


def test_a_local_run_without_a_sandbox_may_be_said() -> None:
    text = with_benchmark("sandbox: box") + "cluster: {type: local}\nsandboxes: {box: {type: none}}"

    suite = parse(text)

    assert suite.config.cluster.type == "local"
    assert suite.config.benchmarks[0].sandbox.type == "none"
    assert suite.raw["benchmarks"][0]["sandbox"] == {"type": "none"}
    assert "sandbox" not in suite.config.benchmarks[0].model_dump()


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (with_benchmark("sandbox: bx") + "sandboxes: {box: {type: none}}\n", "Did you mean 'box'?"),
        (
            GOOD + "cluster: {type: local, typ: x}\n",
            "cluster.typ: unknown key. Did you mean 'type'?",
        ),
        (GOOD + "sandboxes: {box: {type: none, x: 1}}\n", "sandboxes.box.x: unknown key"),
        (with_benchmark("sandbox: 5"), "sandbox: expected a mapping (key: value), got 5"),
        (with_benchmark("sandbox: {type: none, x: 1}"), "benchmarks[0].sandbox.x: unknown key"),
        (GOOD + "cluster: {}\n", "cluster.type: required, but missing"),
    ],
)
def test_mistakes_in_these_sections_are_named(text: str, said: str) -> None:
    assert said in complaint(text)


def test_a_duplicate_key_names_both_lines() -> None:
    assert complaint(with_benchmark("repeats: 3")) == (
        "s.yaml:12: benchmarks[0].repeats: duplicate key, first used in line 10"
    )


def test_a_missing_section_is_named() -> None:
    assert complaint("services: {}\n") == "s.yaml:1: benchmarks: required, but missing"


@pytest.mark.parametrize(
    ("text", "got"), [("", "nothing"), ("- a\n", "a list"), ("just words\n", "'just words'")]
)
def test_a_file_that_is_no_mapping_is_refused(text: str, got: str) -> None:
    assert complaint(text).endswith(f"expected a mapping with services and benchmarks, got {got}")


def test_no_benchmark_at_all_is_refused() -> None:
    message = complaint("services: {}\nbenchmarks: []\n")

    assert message == "s.yaml:2: benchmarks: expected at least 1 entry, got none"


def test_a_benchmark_must_name_a_declared_service() -> None:
    message = complaint(GOOD.replace("service: model", "service: modle"))

    assert message == (
        "s.yaml:11: benchmarks[0].solver.service: no service is called 'modle'."
        " Did you mean 'model'? Known: model"
    )


@pytest.mark.parametrize("name", ["default", "none", '""', "None"])
def test_reserved_service_names_are_refused(name: str) -> None:
    text = GOOD.replace("  model:\n", f"  {name}:\n").replace("service: model", f"service: {name}")

    assert "is reserved" in complaint(text)


def test_true_is_no_number() -> None:
    assert complaint(GOOD.replace("repeats: 2", "repeats: true")) == (
        "s.yaml:10: benchmarks[0].repeats: expected a number, got true"
    )


def test_a_literal_key_is_refused_and_never_shown() -> None:
    message = complaint(GOOD.replace("${KEY}", "sk-s3cret"))

    assert message.startswith("s.yaml:7: services.model.api_key: ")
    assert "s3cret" not in message


def test_what_a_variable_holds_is_never_shown() -> None:
    text = GOOD.replace("repeats: 2", "repeats: ${REPEATS}")

    with pytest.raises(ConfigError) as caught:
        parse_suite(text, "s.yaml", {"REPEATS": "s3cret"})

    assert str(caught.value).endswith("expected a whole number, got '${REPEATS}'")


@pytest.mark.parametrize("key", ["*s3cret", "!s3cret x", "'s3cret", "{s3cret", "@s3cret"])
def test_broken_yaml_near_a_key_does_not_show_the_key(key: str) -> None:
    message = complaint(GOOD.replace("${KEY}", key))

    assert "s3cret" not in message


def test_missing_variables_are_all_listed_with_their_lines() -> None:
    text = GOOD.replace("localhost:8000", "${ONE}").replace("model: m\n", "model: ${TWO}\n")

    lines = complaint(text).splitlines()

    assert [line.split(": ")[:2] for line in lines] == [
        ["s.yaml:4", "services.model.url"],
        ["s.yaml:6", "services.model.model"],
    ]


@pytest.mark.parametrize(
    ("text", "part"),
    [
        ("a: [1\n", "not valid YAML"),
        ("a: \x07\n", "not allowed"),
        ("a: 1\n---\nb: 2\n", "not valid YAML"),
        ("a: &x [*x]\n", "contains itself"),
        ("a: !!python/object:os.system 1\n", "tag"),
        ("a: !!set {x}\n", "tag !!set"),
        ("1: x\n", "a key must be text, got '1'"),
        ("? [a]\n: x\n", "a key must be text, got a collection"),
        ("a: " + "9" * 5000 + "\n", "whole number"),
        ("[" * 3000, "nested too deeply"),
    ],
)
def test_unusable_yaml_is_one_line_with_a_place(text: str, part: str) -> None:
    message = complaint(text)

    assert part in message
    assert message.startswith("s.yaml:")


def test_aliases_that_explode_are_refused() -> None:
    levels = ["a0: &a0 [x,x,x,x,x,x,x,x,x,x]"]
    levels += [f"a{n}: &a{n} [{','.join([f'*a{n - 1}'] * 10)}]" for n in range(1, 9)]

    assert "too large" in complaint("\n".join(levels))


def test_a_file_that_is_not_there_or_not_text_is_a_config_error(tmp_path: Path) -> None:
    latin = tmp_path / "latin.yaml"
    latin.write_bytes(b"a: 1\nb: \xe9\n")

    with pytest.raises(ConfigError, match="No such file"):
        load_suite(tmp_path / "gone.yaml")
    with pytest.raises(ConfigError, match=r"latin\.yaml:2: not UTF-8"):
        load_suite(latin)


PIECES = (
    *("defaults: [", "{_base_: ", "x", "}", "]\n", "_self_", ", ", "clusters/local", "services/x"),
    *(
        "services: ",
        "benchmarks: ",
        "[{",
        "playbook: ",
        "sandbox: ",
        "???",
        "${.",
        "a",
        "}",
        "null",
    ),
    *("\n", "  ", "- ", "a: ", "${.a}", "${A:-x}", "{}", "[]", "'", "cluster: ", "{type: local}"),
)


@given(st.lists(st.sampled_from(PIECES), max_size=12).map("".join))
def test_no_composition_gives_anything_but_a_suite_or_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert parse(text).config.benchmarks


@given(st.text(alphabet=st.sampled_from("abx:-[]{}&*!#'\" \n\t1.~|>%@<?,"), max_size=60))
def test_no_text_gives_anything_but_a_suite_or_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert parse(text).config.benchmarks
