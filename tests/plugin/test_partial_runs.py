"""A part of a benchmark says which part, on the terminal and in the bundle."""

import pytest

from tests.plugin.running import Ended, Nel, rows, sums


def says(ended: Ended, text: str) -> None:
    assert f"sums: evaluated {text}\n" in ended.out, ended.text
    bundle = ended.bundle()
    assert (bundle["evaluated"], bundle["partial"]) == (text, True)


@pytest.mark.parametrize(
    "args",
    [["-k", "sums[7- or sums[11- or sums[20-"], ["--nel-max-problems", "3"]],
    ids=["k", "max-problems"],
)
def test_a_selection_is_three_of_many(nel: Nel, args: list[str], how: list[str]) -> None:
    nel.bench(sums(1319))

    ended = nel.run("bench_sums.py", *args, *how)

    assert ended.code == 0, ended.text
    says(ended, "3 of 1,319")
    (check,) = ended.checks()["checks"]
    assert check["reason"] == "3 of 3 scored; evaluated 3 of 1,319"


def test_repeats_count_as_attempts(nel: Nel) -> None:
    nel.bench(sums(10))

    ended = nel.run("bench_sums.py", "--nel-repeats", "4", "--nel-max-problems", "2")

    says(ended, "8 of 40")


def test_the_last_failures_are_a_part(nel: Nel) -> None:
    nel.bench(sums(12))
    nel.run("bench_sums.py", "--nel-strict", "--nel-output-dir", "first")

    ended = nel.run("bench_sums.py", "--nel-strict", "--lf")

    says(ended, "4 of 12")


def test_a_run_that_stopped_is_a_part(nel: Nel) -> None:
    nel.bench(rows("7", "8", "9", "7"))

    ended = nel.run(
        "bench_sums.py", "--nel-strict", "-x", "--nel-shuffle-seed", "none", "--nel-window", "1"
    )

    assert ended.code == 1, ended.text
    assert ended.bundle()["complete"] is False
    says(ended, f"{ended.bundle()['n_attempted']} of 4")


def test_an_interrupted_run_is_a_part(nel: Nel) -> None:
    file = nel.bench(rows("7", "8", "crash"))
    crash, interrupt = 'raise RuntimeError("the scorer broke")', "raise KeyboardInterrupt"
    file.write_text(file.read_text().replace(crash, interrupt))

    ended = nel.run("bench_sums.py", "--nel-shuffle-seed", "none")

    assert ended.code == 2, ended.text
    says(ended, "2 of 3")


def test_the_whole_is_no_part(nel: Nel) -> None:
    nel.bench(sums(5))

    ended = nel.run("bench_sums.py")

    assert "evaluated" not in ended.out
    assert ended.bundle()["partial"] is False
