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
