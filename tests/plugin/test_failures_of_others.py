"""What fails beside the benchmarks keeps pytest's exit status."""

import pytest

from tests.plugin.running import Nel, rows

WORKERS = ("-p", "xdist", "-n1")


@pytest.mark.parametrize(
    "args", [WORKERS, ("--continue-on-collection-errors",)], ids=["n1", "plain"]
)
@pytest.mark.parametrize("measured", [True, False], ids=["benchmark", "none"])
def test_a_module_that_cannot_be_imported_is_a_failure(
    nel: Nel, args: tuple[str, ...], *, measured: bool
) -> None:
    nel.write("test_ok.py", "def test_a():\n    pass\n")
    nel.write("test_broken.py", "import nope_not_there\n")
    if measured:
        nel.bench(rows("7"))

    ended = nel.run(".", *args)

    assert ended.code == 1, ended.text
    assert "nope_not_there" in ended.out
    if measured:
        assert ended.bundle()["n_scored"] == 1
        assert ended.checks()["exit_code"] == 1


def test_a_failure_that_only_another_plugin_counts_is_a_failure(nel: Nel, how: list[str]) -> None:
    nel.bench(rows("7"))
    nel.write(
        "conftest.py",
        '''"""As a coverage threshold does it."""
import pytest

@pytest.hookimpl(wrapper=True)
def pytest_runtestloop(session):
    result = yield
    session.testsfailed += 1
    return result
''',
    )

    ended = nel.run("bench_sums.py", *how)

    assert ended.code == 1, ended.text
    assert ended.checks()["exit_code"] == 1


def test_attempts_without_a_score_are_still_no_failed_tests(nel: Nel, how: list[str]) -> None:
    nel.bench(rows("7", "crash"))

    ended = nel.run("bench_sums.py", *how)

    assert ended.code == 7, ended.text
