"""What a suite says about the run itself counts where it is named, and is never ignored."""

import pytest

from tests.plugin.running import Nel, rows
from tests.support.endpoint import RunningEndpoint

WORKERS = ("-p", "xdist", "-n2")


def test_a_suite_in_a_directory_is_run_without_workers(nel: Nel) -> None:
    nel.bench(rows("7"), file="sub/bench_sums.py")
    nel.suite("bench_sums.py", file="sub/my.nel.yaml")

    ended = nel.run("sub", "-k", "my.nel.yaml", model=False)

    assert ended.code == 0, ended.text
    assert "1 passed" in ended.out


def test_workers_want_their_suites_named(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.suite("bench_sums.py", file="sub/my.nel.yaml")
    nel.bench(rows("7"), file="sub/bench_sums.py")

    ended = nel.run("sub", *WORKERS, model=False)

    assert ended.code == 4, ended.text
    says = "my.nel.yaml: under -n a suite must be named on the command line"
    assert says in ended.text
    assert "Traceback" not in ended.text
    assert endpoint.stats()["requests"] == 0


def test_an_output_that_would_not_count_is_refused(nel: Nel) -> None:
    nel.suite("bench_sums.py", file="sub/my.nel.yaml", tail="output: {dir: mine}\n")
    nel.bench(rows("7"), file="sub/bench_sums.py")

    ended = nel.run("sub", model=False)

    assert ended.code == 4, ended.text
    assert "its `output` counts only where the suite is named" in ended.text


@pytest.mark.parametrize("args", [[], WORKERS], ids=["plain", "n2"])
def test_a_model_file_may_be_named_by_a_variable(nel: Nel, args: tuple[str, ...]) -> None:
    nel.bench(rows("7"))
    nel.write(
        "my.nel.yaml",
        'services:\n  m: {type: llama_cpp, model: "${GGUF}"}\nbenchmarks:\n'
        "  - {name: bench_sums.py, solver: {type: simple, service: m}}\n",
    )

    ended = nel.run("my.nel.yaml", *args, model=False, env={"GGUF": "no-such-model.gguf"})

    assert ended.code == 4, ended.text
    assert "no-such-model.gguf" in ended.text
    assert "${GGUF}" not in ended.text
