"""What is said of an error in an author's file."""

from pytest_nel.authoring.catalog import blame


def test_an_error_of_several_lines_keeps_its_type_and_all_its_words() -> None:
    said = blame(RuntimeError("first\nsecond line"), "bench.py")

    assert said == "bench.py: RuntimeError: first second line"
