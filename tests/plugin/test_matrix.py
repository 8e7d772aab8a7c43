"""One suite, several models: items, names, the table, and what is wrong with a matrix."""

import json

import pytest

from tests.plugin.running import Nel, sums
from tests.support.endpoint import RunningEndpoint

SUITE = """services:
  zero: {{type: api, url: "{url}/chat/completions", protocol: chat_completions, model: z}}
  aged: {{type: api, url: "{url}/chat/completions", protocol: chat_completions, model: a}}
matrix: {{{matrix}}}
benchmarks:
  - {{name: bench_sums.py, solver: {{type: simple, service: model}}}}
  - {{name: bench_more.py, solver: {{type: simple, service: zero}}}}
"""


def two_models(nel: Nel, matrix: str = "model: [zero, aged]") -> None:
    nel.bench(sums(9))
    nel.bench(sums(3), file="bench_more.py", name="more")
    nel.write("my.nel.yaml", SUITE.format(url=nel.url, matrix=matrix))


def test_each_model_of_a_matrix_measures_and_is_compared_with_the_first(
    nel: Nel, endpoint: RunningEndpoint, how: list[str]
) -> None:
    two_models(nel)

    args = ("my.nel.yaml", "--nel-output-dir", "run", "--nel-temperature", "0.25")
    ended = nel.run(*args, *how, model=False)

    assert ended.code == 0, ended.text
    folders = {path.parent.name for path in (nel.folder / "run").glob("*/plan.json")}
    assert folders == {"sums-zero", "sums-aged", "more"}
    asked = [json.loads(body)["model"] for body in endpoint.bodies()]
    assert {json.loads(body)["temperature"] for body in endpoint.bodies()} == {0.25}
    assert (asked.count("z"), asked.count("a")) == (12, 9)
    table = ended.out.partition("each compared with the first")[2].splitlines()
    assert table[2].split()[:3] == ["sums", "zero", "0.667"]
    assert table[3].split()[:3] == ["sums", "aged", "0.667"]
    assert "+0.00 [" in table[3]
    assert table[3].split()[-3:] == ["0", "0", "0"]


def test_each_list_of_a_matrix_has_a_table_and_a_model_of_two_lists_is_measured_once(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(9))
    api = "type: api, protocol: chat_completions"
    lines = [f'  {name}: {{{api}, url: "{nel.url}/chat/completions"}}' for name in "abcd"]
    entry = "  - {{name: bench_sums.py, solver: {{type: simple, service: {}}}, {}}}"
    same = "generation: {seed: 1}"
    other = "repeats: 2, variant: twice"
    asks = map(entry.format, ("small", "large", "tuned"), (same, same, other))
    matrix = "matrix: {small: [b, a], large: [b, d, c], tuned: [d, a]}"
    nel.write("my.nel.yaml", "\n".join(["services:", *lines, matrix, "benchmarks:", *asks]))

    ended = nel.run("my.nel.yaml", "--nel-output-dir", "run", model=False)

    assert ended.code == 0, ended.text
    folders = {path.parent.name for path in (nel.folder / "run").glob("*/plan.json")}
    twice = {"sums-twice-d", "sums-twice-a"}
    assert folders == {"sums-a", "sums-b", "sums-c", "sums-d", *twice}
    assert endpoint.stats()["requests"] == 4 * 9 + 2 * 18
    tables = ended.out.split("each compared with the first")
    named = [each.rpartition("models of ")[2].strip(" ,") for each in tables[:-1]]
    shown = [
        [line.split()[:2] for line in each.splitlines()[2:] if line.startswith("sums")]
        for each in tables[1:]
    ]
    assert named == ["small", "large", "tuned"]
    assert shown == [
        [["sums", "b"], ["sums", "a"]],
        [["sums", "b"], ["sums", "d"], ["sums", "c"]],
        [["sums-twice", "d"], ["sums-twice", "a"]],
    ]


def test_the_suite_of_a_run_measures_the_same_again(nel: Nel) -> None:
    two_models(nel)
    first = nel.run("my.nel.yaml", "--nel-output-dir", "run", model=False)
    assert first.code == 0, first.text

    again = nel.run("my.nel.yaml", "--nel-output-dir", "run", "--nel-resume", model=False)
    listed = nel.run("run/suite.nel.yaml", "--collect-only", "-q", model=False)

    assert again.code == 0, again.text
    assert "21 taken as recorded" in again.out
    assert "sums-aged[0-r0]" in listed.out


@pytest.mark.parametrize(
    ("matrix", "says"),
    [
        ("model: [zero, agde]", "my.nel.yaml:4: matrix.model[1]: no service is called 'agde'"),
        ("model: [zero, zero]", "matrix.model[1]: 'zero' is there twice"),
        ("model: [zero]", "matrix.model: expected at least 2"),
        ("zero: [zero, aged]", "matrix.zero: 'zero' is a service itself"),
        ("modle: [zero, aged]", "matrix.modle: no benchmark's solver asks 'modle'"),
    ],
)
def test_what_is_wrong_with_a_matrix_is_said(nel: Nel, matrix: str, says: str) -> None:
    two_models(nel, matrix)

    ended = nel.run("my.nel.yaml", model=False)

    assert ended.code == 4, ended.text
    assert says in ended.text


def test_models_of_one_name_are_each_asked_with_a_cache_too(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    two_models(nel)
    path = nel.folder / "my.nel.yaml"
    path.write_text(path.read_text().replace("model: a}", "model: z}"))
    line = ("my.nel.yaml", "--nel-cache", "answers")

    ended = nel.run(*line, "--nel-output-dir", "one", model=False)
    asked = endpoint.stats()["requests"]
    again = nel.run(*line, "--nel-output-dir", "two", model=False)

    assert (ended.code, again.code) == (0, 0), ended.text + again.text
    assert asked == 9 + 9 + 3
    assert endpoint.stats()["requests"] == asked  # the second run takes them from the cache


def test_a_minimum_for_a_benchmark_holds_for_all_its_models_and_may_be_one_models_own(
    nel: Nel,
) -> None:
    two_models(nel)

    args = ("my.nel.yaml", "--nel-output-dir", "run", "--nel-inconclusive", "ok")
    ended = nel.run(*args, "--nel-min", "sums-aged=0.2", "--nel-min", "sums=0.1", model=False)
    unknown = nel.run(args[0], "--nel-dry-run", "--nel-min", "sum=0.1", model=False)

    assert ended.code == 0, ended.text
    found = {
        name: json.loads((nel.folder / "run" / name / "plan.json").read_text())["config"]
        for name in ("sums-zero", "sums-aged", "more")
    }
    assert [one["min_score"] for one in found.values()] == [0.1, 0.2, None]
    assert unknown.code == 4, unknown.text
    assert "--nel-min sum: no benchmark is called so. Did you mean 'sums'?\n" in unknown.text
