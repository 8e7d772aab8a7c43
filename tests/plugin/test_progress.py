"""What people see while a run goes on and when it is over."""

import contextlib
import os
import pty
import re
import subprocess
from collections.abc import Iterator

import pytest

from tests.plugin.running import Nel, rows, sums
from tests.support.endpoint import RunningEndpoint, running_endpoint

LETTERS = re.compile(r"[.wuE]{20}")


@pytest.fixture
def steady() -> Iterator[RunningEndpoint]:
    """Answers after 50 ms."""
    with running_endpoint(mode="echo", latency=0.05) as endpoint:
        yield endpoint


def on_a_terminal(nel: Nel, *args: str) -> tuple[int, str]:
    """Run with a terminal of its own; exit status and everything written to it."""
    ours, theirs = pty.openpty()
    process = subprocess.Popen(
        nel.command(*args),
        cwd=nel.folder,
        env=nel.environ({"TERM": "xterm", "COLUMNS": "140"}),
        stdin=theirs,
        stdout=theirs,
        stderr=theirs,
    )
    os.close(theirs)
    shown = b""
    with contextlib.suppress(OSError):  # the other end is closed
        while piece := os.read(ours, 65536):
            shown += piece
    os.close(ours)
    return process.wait(30), shown.decode()


def test_a_terminal_has_one_live_line(nel: Nel, steady: RunningEndpoint) -> None:
    nel.bench(sums(160))
    nel.url = steady.url

    code, shown = on_a_terminal(nel, "bench_sums.py", "--nel-max-concurrent", "8")

    assert code == 0, shown
    lives = re.findall(r"\r\x1b\[K(sums [^\r\n]+)", shown)
    assert len(lives) >= 3
    live = re.compile(
        r"sums \d+/160 · score (–|\d\.\d{3} ±\d\.\d{3}) · in flight \d"
        r"( · ahead \d+)? · [\d,]+ tok/s · ETA (–|\d:\d\d)"
    )
    assert all(live.fullmatch(text) for text in lives), lives
    assert any("score 0.6" in text for text in lives)
    assert any("in flight 8" in text for text in lives)
    assert not LETTERS.search(shown)
    assert "160/160" in shown[shown.index("= benchmarks") :]


def test_the_live_line_says_what_is_retried_and_why(nel: Nel) -> None:
    nel.bench(sums(40))
    with running_endpoint(mode="echo", fail_first=1) as endpoint:
        nel.url = endpoint.url
        code, shown = on_a_terminal(nel, "bench_sums.py", "--nel-max-concurrent", "8")

    assert code == 0, shown
    assert re.search(r"retrying \d+ \([^)]*500[^)]*\)", shown), shown


@pytest.mark.parametrize("count", [150, 240], ids=["letters", "many"])
def test_without_a_terminal_there_are_quiet_lines(
    nel: Nel, steady: RunningEndpoint, count: int
) -> None:
    nel.bench(sums(count))
    nel.url = steady.url
    nel.suite("bench_sums.py", tail="output: {progress_interval: 0.3}\n")

    ended = nel.run("my.nel.yaml", "--nel-max-concurrent", "8", model=False)

    assert ended.code == 0, ended.text
    lines = re.findall(rf"^sums (\d+)/{count} · score .* · ETA \d+:\d\d$", ended.out, re.MULTILINE)
    assert 2 <= len(lines) <= 12
    assert [int(done) for done in lines] == sorted(int(done) for done in lines)
    assert count < 200 or not LETTERS.search(ended.out)
    assert "\x1b" not in ended.out


def test_workers_report_progress_with_the_right_total(nel: Nel, steady: RunningEndpoint) -> None:
    nel.bench(sums(240))
    nel.url = steady.url
    nel.suite("bench_sums.py", tail="output: {progress_interval: 0.3}\n")

    ended = nel.run(
        "my.nel.yaml", "--nel-max-concurrent", "8", "-p", "xdist", "-n2", model=False
    )  # fmt: skip

    assert ended.code == 0, ended.text
    lines = re.findall(r"^sums \d+/240 · score .*$", ended.out, re.MULTILINE)
    assert lines, ended.out
    assert not any("in flight" in line for line in lines)


def test_progress_of_workers_stands_on_a_line_of_its_own_among_letters(
    nel: Nel, steady: RunningEndpoint
) -> None:
    nel.bench(sums(150))
    nel.url = steady.url
    nel.suite("bench_sums.py", tail="output: {progress_interval: 0.3}\n")

    ended = nel.run(
        "my.nel.yaml", "--nel-max-concurrent", "8", "-p", "xdist", "-n2", model=False
    )  # fmt: skip

    assert ended.code == 0, ended.text
    lines = re.findall(r"^.*sums \d+/150 · score .*$", ended.out, re.MULTILINE)
    assert lines, ended.out
    assert all(line.startswith("sums ") for line in lines), ended.out


def test_many_items_print_no_letters_unless_verbose(nel: Nel) -> None:
    nel.bench(sums(240))

    plain = nel.run("bench_sums.py")
    verbose = nel.run("bench_sums.py", "-v", "--nel-output-dir", "second")

    assert (plain.code, verbose.code) == (0, 0)
    assert not LETTERS.search(plain.out)
    assert len(plain.out.splitlines()) <= 25
    assert verbose.out.count("CORRECT") == 160
    assert verbose.out.count("WRONG") == 80


def test_quiet_is_quiet(nel: Nel) -> None:
    nel.bench(sums(240))

    ended = nel.run("bench_sums.py", "-q")

    assert ended.code == 0
    assert "ETA" not in ended.out
    assert "160 passed, 80 wrong" in ended.out


def test_the_summary_has_a_row_for_each_benchmark(nel: Nel) -> None:
    nel.bench(rows("7", "7", "8", "no idea", "crash"), file="bench_a.py", name="a")
    nel.bench(rows("7"), file="bench_b.py", name="b")
    with running_endpoint(mode="echo", finish_reason="length") as endpoint:
        nel.url = endpoint.url
        ended = nel.run("bench_a.py", "bench_b.py")

    table = ended.out[ended.out.index("= benchmarks =") :].splitlines()
    heading = next(line for line in table if line.startswith("benchmark "))
    assert re.split(r"  +", heading) == [
        "benchmark", "scored", "score", "95 % CI", "unparsed", "truncated", "unscored",
        "tokens", "wall",
    ]  # fmt: skip
    cells = re.split(r"  +", next(line for line in table if line.startswith("a ")))
    assert cells[:3] == ["a", "4/5", "0.500"]
    assert re.fullmatch(r"0\.\d{3}–0\.\d{3}", cells[3])
    assert cells[4:7] == ["1 (25 %)", "4 (100 %)", "1"]
    assert int(cells[7]) == sum(row["tokens"] for row in ended.results("a"))
    assert re.fullmatch(r"\d+\.\d s", cells[8])
    assert any(line.startswith("b ") for line in table)


def test_show_wrong_prints_expected_extracted_and_the_end_of_the_response(nel: Nel) -> None:
    nel.bench(rows("7", "x" * 2000 + " so the total is 8", "no idea"))

    ended = nel.run("bench_sums.py", "--nel-show", "wrong")

    (start,) = [i for i, line in enumerate(ended.out.splitlines()) if line == "sums[1-r0]: wrong"]
    shown = "\n".join(ended.out.splitlines()[start : start + 12])
    assert re.search(r"expected: +7$", shown, re.MULTILINE)
    assert re.search(r"extracted: +8\b", shown)
    assert "so the total is 8" in shown
    assert "finish:" in shown
    assert "sums/results.jsonl line" in shown
    assert "sums[0-r0]: correct" not in ended.out
    assert "sums[2-r0]: unparsed" not in ended.out


@pytest.mark.parametrize(
    ("args", "shown"),
    [
        (["--nel-show", "unparsed"], {"unparsed"}),
        (["--nel-show", "unscored"], {"unscored"}),
        (["--nel-show", "all"], {"correct", "wrong", "unparsed", "unscored"}),
        (["-vv"], {"wrong"}),
        ([], set()),
    ],
    ids=lambda value: "_".join(value) if isinstance(value, list) else "",
)
def test_show_chooses_what_is_printed(nel: Nel, args: list[str], shown: set[str]) -> None:
    nel.bench(rows("7", "8", "no idea", "crash"))

    ended = nel.run("bench_sums.py", *args)

    found = re.findall(r"^sums\[\d-r0\]: (\w+)$", ended.out, re.MULTILINE)
    assert set(found) == shown
    assert len(found) == len(shown)


def test_show_prints_fifty_attempts_at_most(nel: Nel) -> None:
    nel.bench(rows(*["8"] * 70))

    ended = nel.run("bench_sums.py", "--nel-show", "wrong")

    assert len(re.findall(r"^sums\[\d+-r0\]: wrong$", ended.out, re.MULTILINE)) == 50
    assert "… and 20 more" in ended.out


def test_the_header_says_what_is_measured_and_where_it_goes(nel: Nel) -> None:
    nel.bench(sums(9))

    ended = nel.run("bench_sums.py", "--nel-max-problems", "4", "--nel-repeats", "2")

    assert (
        f"nel: sums: 4 of 9 problems × 2, model m at {nel.url}/chat/completions, C=32" in ended.out
    )
    assert f"nel: results in eval_results/{ended.run_dir.name}" in ended.out
    assert f"results: eval_results/{ended.run_dir.name}" in ended.out
