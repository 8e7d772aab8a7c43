"""Attempts that were selected and left no record make the run incomplete."""

from pathlib import Path

from tests.plugin.running import Ended, Nel, sums

NOT_RUN = '''"""Keeps one item from being run, as a plugin of somebody else's may."""
import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_setup(item):
    if "[0-r0]" in item.name:
        pytest.skip("not this one")
'''
TORN = '''"""Damages the last line of each journal, as a full disk may."""
from pathlib import Path

import pytest

@pytest.hookimpl(tryfirst=True)
def pytest_runtest_teardown(item, nextitem):
    for path in Path("eval_results").glob("*/sums/journal/*.jsonl"):
        if nextitem is None:
            text = path.read_text()
            path.write_text(text[:-20])
'''


def incomplete(ended: Ended, says: str) -> None:
    assert ended.code == 7, ended.text
    (check,) = ended.checks()["checks"]
    assert check["status"] == "open"
    assert check["reason"] == says
    assert f"OPEN bench_sums.py::sums::health: {says}" in ended.out


def test_an_attempt_skipped_by_somebody_else_is_missing(nel: Nel, how: list[str]) -> None:
    nel.bench(sums(5))
    nel.write("conftest.py", NOT_RUN)

    ended = nel.run("bench_sums.py", *how)

    incomplete(ended, "only 4 of 5 selected attempts were recorded")


def test_a_journal_line_that_cannot_be_read_is_missing(nel: Nel) -> None:
    nel.bench(sums(5))
    nel.write("conftest.py", TORN)

    ended = nel.run("bench_sums.py")

    incomplete(ended, "only 4 of 5 selected attempts were recorded")


def test_a_selection_is_complete_when_all_of_it_was_recorded(nel: Nel, how: list[str]) -> None:
    path: Path = nel.bench(sums(5))

    ended = nel.run(path.name, "-k", "0-r0 or 3-r0", *how)

    assert ended.code == 0, ended.text
    assert ended.checks()["checks"][0]["status"] == "passed"
    assert ended.bundle()["n_attempted"] == 2
