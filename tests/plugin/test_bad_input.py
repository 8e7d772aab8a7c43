"""Mistakes of the user: one clear line, exit 4, no traceback, and no call made."""

import json

import pytest

from tests.plugin.running import Ended, Nel, rows, sums
from tests.support.endpoint import RunningEndpoint


def refused(ended: Ended, *says: str) -> None:
    assert ended.code == 4, ended.text
    for said in says:
        lines = [line for line in ended.text.splitlines() if said in line]
        assert lines, ended.text
        assert len([line for line in lines if not line.startswith("ERROR ")]) == 1, ended.text
    assert "Traceback" not in ended.text
    assert "INTERNALERROR" not in ended.text
    assert "site-packages" not in ended.text


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--nel-repeats", "0"], "--nel-repeats: expected an integer >= 1, got '0'"),
        (["--nel-repeats", "many"], "expected an integer >= 1, got 'many'"),
        (["--nel-max-problems", "-3"], "expected an integer >= 1, got '-3'"),
        (["--nel-max-concurrent", "0"], "expected an integer >= 1"),
        (["--nel-window", "1.5"], "expected an integer >= 1, got '1.5'"),
        (["--nel-temperature", "hot"], "expected a number >= 0, got 'hot'"),
        (["--nel-temperature", "nan"], "expected a number >= 0, got 'nan'"),
        (["--nel-temperature", "3"], "expected a number <= 2, got '3'"),
        (["--nel-max-tokens", "0"], "expected an integer >= 1"),
        (["--nel-timeout", "0"], "expected a number > 0, got '0'"),
        (["--nel-timeout", "inf"], "expected a number > 0, got 'inf'"),
        (["--nel-show", "some"], "expected one of wrong, unparsed, unscored, all"),
        (["--nel-shuffle-seed", "x"], "expected an integer, or none"),
        (["--nel-max-unscored", "-1"], "expected an integer >= 0"),
        (["--nel-model-url", "ftp://x"], "expected http(s)://"),
        (["--nel-model-url", "http://user:secret@x/v1"], "user name or password"),
        (["--nel-model-url", "http://x/v1?api_key=secret"], "query parameter 'api_key'"),
        (["--nel-api-key-env", "sk-secret"], "wants the name of an environment variable"),
        (["--nel-api-key-env", "NOT_SET_ANYWHERE"], "NOT_SET_ANYWHERE"),
        (["--nel-model", "demo", "--nel-model-url", "http://x/v1"], "choose one"),
        (["--nel-repeat"], "--nel-repeat"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_a_bad_option(nel: Nel, endpoint: RunningEndpoint, args: list[str], says: str) -> None:
    nel.bench(sums(3))

    ended = nel.run("bench_sums.py", *args)

    refused(ended, says)
    assert "secret" not in ended.text.replace(args[-1], "")
    assert endpoint.stats()["requests"] == 0


@pytest.mark.parametrize(
    ("line", "says"),
    [
        ("nel_repeats = 0", "ini nel_repeats: expected an integer >= 1, got '0'"),
        ("nel_strict = perhaps", "ini nel_strict: expected true or false, got 'perhaps'"),
        ("nel_show = nothing", "ini nel_show: expected one of"),
    ],
)
def test_a_bad_ini_value(nel: Nel, line: str, says: str) -> None:
    nel.bench(sums(1))
    nel.write("pytest.ini", f"[pytest]\n{line}\n")

    ended = nel.run("bench_sums.py")

    refused(ended, says)


def test_a_bad_url_in_the_environment(nel: Nel) -> None:
    nel.bench(sums(1))

    ended = nel.run(
        "bench_sums.py", model=False, env={"NEMO_MODEL_URL": "nowhere", "NEMO_MODEL_ID": "m"}
    )

    refused(ended, "expected http(s)://…, got 'nowhere'")


@pytest.mark.parametrize("args", [[], ["-p", "xdist", "-n2"]], ids=["plain", "n2"])
def test_no_model_at_all(nel: Nel, args: list[str]) -> None:
    nel.bench(sums(3))

    ended = nel.run("bench_sums.py", *args, model=False)

    refused(ended, "no model: pass --nel-model-url URL and --nel-model-id ID")


def test_a_model_without_a_name(nel: Nel) -> None:
    nel.bench(sums(3))
    assert nel.url is not None

    ended = nel.run("bench_sums.py", "--nel-model-url", nel.url, model=False)

    refused(ended, "--nel-model-id")


@pytest.mark.parametrize(
    ("args", "says"),
    [
        (["--nel-bench", "gsm8kk"], "gsm8kk"),
        (["--nel-bench", "bascis"], "basics"),
        (["--nel-bench", "nowhere.py"], "nowhere.py"),
        (["--nel-bench", "bench_sums.py:other"], "other"),
        (["--nel-bench", "bench_sums.py", "bench_sums.py"], "give it without files"),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) else "",
)
def test_an_unknown_benchmark(nel: Nel, args: list[str], says: str) -> None:
    nel.bench(sums(3))

    ended = nel.run(*args)

    refused(ended, says)


@pytest.mark.parametrize("args", [[], ["-p", "xdist", "-n2"]], ids=["plain", "n2"])
@pytest.mark.parametrize(
    ("problems", "more", "says"),
    [
        ([{"tell": "7", "target": "7"}], "", "say"),
        ([], "", "no rows"),
        (
            [{"id": "1", "say": "7", "target": "7"}, {"id": 1, "say": "8", "target": "8"}],
            "",
            "field 'id' should differ in every row: 1",
        ),
        ([{"say": "7"}], "", "no field 'target' in rows[0] for the gold answer"),
        ([{"say": "7", "target": "7"}], 'requirements=["no-such-package>=3"]', "no-such-package"),
    ],
    ids=["field", "empty", "ids", "target", "requirement"],
)
def test_unusable_data(
    nel: Nel, problems: list[dict[str, str]], more: str, says: str, args: list[str]
) -> None:
    nel.bench(problems, more=more)

    ended = nel.run("bench_sums.py", *args)

    refused(ended, says)
    assert "bench_sums.py" in ended.text
    assert nel.runs() == []


SUITES = {
    "unknown key": ("repeats: 2", "repeets: 2", "repeets"),
    "unknown service": ("service: model", "service: modell", "modell"),
    "unknown solver": ("type: simple", "type: simpel", "simple"),
    "literal key": ("model: m}", "model: m, api_key: sk-live-123}", "api_key"),
    "unset key": ("model: m}", 'model: m, api_key: "${NOT_SET_1}"}', "NOT_SET_1"),
    "unset variable": ("model: m}", 'model: "${NOT_SET_1}"}', "NOT_SET_1"),
    "bad number": ("repeats: 2", "repeats: many", "many"),
    "unknown service option": ("model: m}", "model: m, modle: n}", "modle"),
    "not yaml": ("services:", "services: [", "my.nel.yaml"),
    "no benchmarks": ("benchmarks:", "bench:", "benchmarks: required"),
    "unknown benchmark": ("bench_sums.py", "bench_none.py", "bench_none.py"),
}
ON_WORKERS = ("unknown key", "unknown service", "literal key", "unset key")


@pytest.mark.parametrize("mistake", [*SUITES, *(f"{name}, n2" for name in ON_WORKERS)])
def test_a_mistake_in_a_suite(nel: Nel, endpoint: RunningEndpoint, mistake: str) -> None:
    mistake, _, workers = mistake.partition(", ")
    how = ["-p", "xdist", "-n2"] if workers else []
    nel.bench(sums(3))
    suite = nel.suite("bench_sums.py", more="repeats: 2")
    old, new, says = SUITES[mistake]
    text = suite.read_text(encoding="utf-8")
    assert old in text
    suite.write_text(text.replace(old, new, 1), encoding="utf-8")

    ended = nel.run("my.nel.yaml", *how, model=False)

    refused(ended, says)
    assert "sk-live-123" not in ended.text
    assert endpoint.stats()["requests"] == 0


def test_a_suite_that_is_not_there(nel: Nel) -> None:
    ended = nel.run("none.nel.yaml")

    refused(ended, "none.nel.yaml")


def two_services(nel: Nel, *asked: str) -> None:
    """A suite of two services with a benchmark for each that is asked."""
    nel.bench(sums(3))
    suite = nel.suite(*["bench_sums.py" for _ in asked])
    head, _, entries = suite.read_text(encoding="utf-8").partition("benchmarks:\n")
    line = next(line for line in head.splitlines() if line.startswith("  model:"))
    for name in asked:
        entries = entries.replace("service: model}", f"service: {name}  }}", 1)
    other = line.replace("model:", "other:", 1)
    suite.write_text(f"{head}{other}\nbenchmarks:\n{entries}")


def test_a_model_option_beside_a_suite_that_asks_two_services(nel: Nel) -> None:
    two_services(nel, "model", "other")

    ended = nel.run("my.nel.yaml")

    refused(ended, "the suite asks 2 services (model, other)")


def test_a_model_option_means_the_service_that_is_asked(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    two_services(nel, "other")

    ended = nel.run("my.nel.yaml", "--nel-model-id", "another")

    assert ended.code == 0, ended.text
    assert {json.loads(body)["model"] for body in endpoint.bodies()} == {"another"}


@pytest.mark.parametrize("args", [[], ["-p", "xdist", "-n2"]], ids=["plain", "n2"])
def test_an_output_directory_in_use(nel: Nel, args: list[str]) -> None:
    nel.bench(sums(3))
    nel.write("used/notes.txt", "mine")

    ended = nel.run("bench_sums.py", "--nel-output-dir", "used", *args)

    refused(ended, "is not empty: results are never overwritten")
    assert [path.name for path in (nel.folder / "used").iterdir()] == ["notes.txt"]


def test_a_benchmark_file_with_a_bug_shows_where(nel: Nel) -> None:
    nel.bench(sums(1))
    nel.write("bench_bug.py", "x = 1\nraise KeyError('their bug')\n")

    ended = nel.run("bench_bug.py")

    assert ended.code == 2
    assert "their bug" in ended.out
    assert "bench_bug.py:2" in ended.out


def test_a_decorator_used_wrongly(nel: Nel) -> None:
    nel.bench(rows("7"), more="pass_at=7")

    ended = nel.run("bench_sums.py")

    assert ended.code in {2, 4}
    assert "pass_at: expected a reward above 0 and at most 1, got 7" in ended.out


@pytest.mark.parametrize("folder", ["/proc/nel", "bench_sums.py"])
def test_a_run_directory_that_cannot_be_made_is_one_line(nel: Nel, folder: str) -> None:
    nel.bench(sums(2))

    ended = nel.run("bench_sums.py", "--nel-output-dir", folder)

    assert ended.code == 4, ended.text
    assert "results cannot be written to" in ended.text
    assert "Traceback" not in ended.text
    assert len(ended.text.splitlines()) < 20


@pytest.mark.parametrize("url", ["http://localhost:99999/v1", "http://loc alhost/v1"])
def test_a_url_that_can_never_work_is_refused_at_once(nel: Nel, url: str) -> None:
    nel.bench(sums(2))

    ended = nel.run("bench_sums.py", "--nel-model-url", url, "--nel-model-id", "m", model=False)

    assert ended.code == 4, ended.text
    assert "it cannot be read as a URL" in ended.text


def test_what_a_decorator_refuses_is_one_line(nel: Nel) -> None:
    nel.write(
        "bench_bad.py",
        "from pytest_nel import benchmark\n@benchmark(name='', dataset=[{'target': 'a'}])\n"
        "def bad(sample):\n    return 1.0\n",
    )

    ended = nel.run("bench_bad.py")

    assert ended.code == 4, ended.text
    assert "pytest-nel: " in ended.text
    assert "Traceback" not in ended.text
    assert "authoring/benchmark.py" not in ended.text


@pytest.mark.parametrize("count", ["10001", "99999999999999999999999"])
def test_more_requests_in_flight_than_a_process_can_have_are_refused(nel: Nel, count: str) -> None:
    nel.bench(sums(2))

    ended = nel.run("bench_sums.py", "--nel-max-concurrent", count)

    assert ended.code == 4, ended.text
    assert "expected an integer <= 10000" in ended.text


def test_a_benchmark_file_that_would_end_the_process_is_one_line_with_its_place(nel: Nel) -> None:
    (nel.folder / "bench_ends.py").write_text("import sys\n\nsys.exit(3)\n", encoding="utf-8")

    ended = nel.run("bench_ends.py", "-p", "no:cacheprovider")

    refused(ended, "bench_ends.py:3: SystemExit: 3 (while importing this benchmark file)")
