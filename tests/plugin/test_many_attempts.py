"""Above 200 attempts pytest's protocol is cut short where nobody could tell; only there."""

from tests.plugin.running import Nel, sums

MARKS = '''"""Marks three items when they are collected."""
import pytest

def pytest_collection_modifyitems(items):
    for item in items:
        if item.name == "sums[50-r0]":
            item.add_marker(pytest.mark.skip(reason="not this one"))
        if item.name == "sums[60-r0]":
            item.add_marker(pytest.mark.skipif(True, reason="nor this"))
'''
INSIDE = '''"""Acts inside the phases of the items below this folder."""
def pytest_runtest_setup(item):
    with open("seen.txt", "a") as file:
        file.write(item.name + "\\n")
'''
BROKEN = '''"""Breaks what our own machinery asks for, once."""
import pytest


@pytest.hookimpl(trylast=True)
def pytest_collection_finish(session):
    for item in session.items:
        if item.name == "sums[50-r0]":
            item.position = "no number"
'''


def test_marks_that_skip_are_heeded(nel: Nel, how: list[str]) -> None:
    nel.bench(sums(230))
    nel.write("conftest.py", MARKS)

    ended = nel.run("bench_sums.py", "--nel-shuffle-seed", "none", *how)

    assert "2 skipped" in ended.out
    assert ended.bundle()["n_attempted"] == 228
    assert ended.code == 7, ended.text
    assert "only 228 of 230 selected attempts were recorded" in ended.out


def test_hooks_of_every_folder_are_heeded(nel: Nel) -> None:
    nel.bench(sums(230), file="a/bench_sums.py")
    nel.bench(sums(30), file="b/bench_more.py", name="more")
    nel.write("b/conftest.py", INSIDE)

    ended = nel.run("a", "b")

    assert ended.code == 0, ended.text
    assert len((nel.folder / "seen.txt").read_text().split()) == 30


def test_an_error_of_ours_fails_its_item_and_nothing_else(nel: Nel) -> None:
    nel.bench(sums(230))
    nel.write("conftest.py", BROKEN)

    ended = nel.run("bench_sums.py", "--nel-shuffle-seed", "none")

    assert "INTERNALERROR" not in ended.text
    assert "1 failed" in ended.out
    assert ended.bundle()["n_attempted"] == 229
    assert ended.code == 1, ended.text
