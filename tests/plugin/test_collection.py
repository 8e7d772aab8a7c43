"""What becomes an item, and what does not."""

import re

import pytest

from tests.plugin.running import ROOT, Nel, rows, sums
from tests.support.endpoint import RunningEndpoint

pytestmark = pytest.mark.everywhere

IDS = re.compile(r"^(\S+::\S+\[\d+-r\d+\])", re.MULTILINE)


def test_collecting_lists_the_items_asks_nothing_and_leaves_nothing(
    nel: Nel, endpoint: RunningEndpoint
) -> None:
    nel.bench(sums(3))

    ended = nel.run("bench_sums.py", "--nel-repeats", "2", "--collect-only", "-q")

    assert ended.code == 0, ended.text
    assert sorted(IDS.findall(ended.out)) == [
        f"bench_sums.py::sums[{problem}-r{repeat}]" for problem in range(3) for repeat in range(2)
    ]
    assert endpoint.stats()["requests"] == 0
    assert nel.runs() == []


def test_a_directory_is_searched_for_bench_files_and_tests(nel: Nel) -> None:
    nel.bench(sums(1), file="deep/bench_a.py", name="a")
    nel.bench(sums(1), file="deep/other.py", name="b")
    nel.write("deep/test_it.py", "def test_it():\n    pass\n")

    ended = nel.run("--collect-only", "-q")

    assert "deep/bench_a.py::a[0-r0]" in ended.out
    assert "deep/test_it.py::test_it" in ended.out
    assert "other.py" not in ended.out


def test_the_ini_nel_files_says_which_files_are_searched(nel: Nel) -> None:
    nel.write("pytest.ini", "[pytest]\nnel_files = check_*.py evals/*.py\n")
    nel.bench(sums(1), file="bench_a.py", name="a")
    nel.bench(sums(1), file="check_b.py", name="b")

    ended = nel.run("--collect-only", "-q")

    assert IDS.findall(ended.out) == ["check_b.py::b[0-r0]"]


def test_a_file_that_pytest_collects_anyway_is_collected_once(nel: Nel) -> None:
    nel.bench(sums(1), file="test_and_bench.py")
    nel.write("pytest.ini", "[pytest]\nnel_files = *.py\n")

    ended = nel.run("--collect-only", "-q")

    assert IDS.findall(ended.out) == ["test_and_bench.py::sums[0-r0]"]


def test_bench_files_of_others_are_left_alone_without_the_plugin(nel: Nel) -> None:
    nel.write("bench_theirs.py", "raise RuntimeError('must not be imported')\n")
    nel.write("test_it.py", "def test_it():\n    pass\n")
    command = [part for part in nel.command("-p", "nel", model=False) if part not in {"-p", "nel"}]

    import subprocess

    done = subprocess.run(
        command,
        cwd=nel.folder,
        env=nel.environ(autoload=True),
        capture_output=True,
        text=True,
        check=False,
    )

    assert done.returncode == 0, done.stdout + done.stderr
    assert "1 passed" in done.stdout
    assert "nel:" not in done.stdout
    assert nel.runs() == []


def test_an_imported_benchmark_is_not_collected_again(nel: Nel) -> None:
    nel.bench(sums(2))
    nel.write(
        "test_sums.py",
        "from bench_sums import sums\n\ndef test_it():\n    assert sums.name == 'sums'\n".replace(
            "import sums", "import measured as sums"
        ),
    )

    ended = nel.run("--collect-only", "-q")

    assert len(IDS.findall(ended.out)) == 2
    assert "test_sums.py::test_it" in ended.out
    assert "test_sums.py::sums" not in ended.out


def test_several_files_and_several_benchmarks_run_in_one_session(nel: Nel, how: list[str]) -> None:
    nel.bench(sums(2), file="bench_a.py", name="a")
    both = nel.bench(sums(3), file="bench_b.py", name="b")
    both.write_text(
        both.read_text() + '\n\nsecond = benchmark("c", ROWS, "{say}")(numeric_match)\n',
        encoding="utf-8",
    )

    ended = nel.run("bench_a.py", "bench_b.py", *how)

    assert ended.code == 0, ended.text
    assert [ended.bundle(name)["n_scored"] for name in "abc"] == [2, 3, 3]
    assert [check["id"] for check in ended.checks()["checks"]] == [
        "bench_a.py::a::health",
        "bench_b.py::b::health",
        "bench_b.py::c::health",
    ]


def test_two_benchmarks_of_one_name_are_kept_apart(nel: Nel) -> None:
    nel.bench(sums(2), file="bench_a.py")
    nel.bench(rows("8"), file="bench_b.py")

    ended = nel.run("bench_a.py", "bench_b.py")

    assert ended.code == 0, ended.text
    assert ended.bundle("sums")["n_scored"] == 2
    assert ended.bundle("sums-2")["n_scored"] == 1


def test_a_suite_file_is_collected(nel: Nel, how: list[str]) -> None:
    nel.bench(sums(3), file="bench_a.py", name="a")
    nel.bench(sums(2), file="bench_b.py", name="b")
    nel.suite("bench_a.py", "bench_b.py:b")

    ended = nel.run("my.nel.yaml", *how, model=False)

    assert ended.code == 0, ended.text
    assert ended.bundle("a")["n_scored"] == 3
    assert ended.bundle("b")["n_scored"] == 2
    assert ended.checks()["checks"][0]["id"] == "my.nel.yaml::a::health"


def test_a_suite_in_a_directory_is_collected_too(nel: Nel) -> None:
    nel.bench(sums(1), file="defs/sums.py")
    nel.suite("defs/sums.py", file="suites/my.nel.yaml".replace("suites/", ""))

    ended = nel.run("--collect-only", "-q", model=False)

    assert IDS.findall(ended.out) == ["my.nel.yaml::sums[0-r0]"]


def test_the_same_benchmark_may_stand_in_a_suite_twice(nel: Nel) -> None:
    nel.bench(sums(3))
    nel.suite("bench_sums.py", "bench_sums.py")

    ended = nel.run("my.nel.yaml", model=False)

    assert ended.code == 0, ended.text
    assert ended.bundle("sums")["n_scored"] == 3
    assert ended.bundle("sums-2")["n_scored"] == 3
    assert "6 passed" in ended.out.replace("4 passed, 2 wrong", "6 passed")


def test_an_environment_class_is_collected(nel: Nel) -> None:
    nel.write(
        "bench_own.py",
        '''"""An environment."""
from pytest_nel import EvalEnvironment, SeedResult, VerifyResult, register

@register("own")
class Own(EvalEnvironment):
    """Three problems."""

    def __len__(self):
        return 3

    async def seed(self, idx):
        return SeedResult(prompt=str(idx), expected_answer=str(idx))

    async def verify(self, response, expected, sandbox=None, **metadata):
        return VerifyResult(reward=float(response == expected))
''',
    )

    ended = nel.run("bench_own.py")

    assert ended.code == 0, ended.text
    assert "3 passed" in ended.out
    assert ended.bundle("own")["n_scored"] == 3


def test_quick_mode_writes_a_suite_that_repeats_the_run(nel: Nel) -> None:
    nel.bench(sums(6))
    first = nel.run("--nel-bench", "bench_sums.py", "--nel-max-problems", "4", "--nel-repeats", "2")
    suite = first.run_dir / "suite.nel.yaml"

    again = nel.run(str(suite), "--nel-output-dir", "again", model=False)

    assert (first.code, again.code) == (0, 0), first.text + again.text
    told = ("problem_idx", "repeat", "outcome", "prompt", "model_response")
    text = (nel.folder / "again/sums/results.jsonl").read_text(encoding="utf-8")
    import json

    second = [json.loads(line) for line in text.splitlines()]
    assert [[row[name] for name in told] for row in second] == [
        [row[name] for name in told] for row in first.results()
    ]
    assert len(second) == 8


def test_quick_mode_knows_built_in_benchmarks_and_cleans_up_after_collecting(nel: Nel) -> None:
    ended = nel.run("--nel-bench", "basics", "--collect-only", "-q")

    assert ended.code == 0, ended.text
    assert len(IDS.findall(ended.out)) == 72
    assert nel.runs() == []


def test_suites_kept_by_earlier_runs_are_not_collected(nel: Nel) -> None:
    nel.bench(sums(2))
    nel.run("--nel-bench", "bench_sums.py")

    ended = nel.run("--collect-only", "-q")

    assert sorted(IDS.findall(ended.out)) == [
        "bench_sums.py::sums[0-r0]",
        "bench_sums.py::sums[1-r0]",
    ]


def test_node_ids_are_short_and_ascii_whatever_the_benchmark_is_called(nel: Nel) -> None:
    nel.bench(
        [{"id": "a/b::c[1]-[2]\n\0日本" * 30, "say": "7", "target": "7"}],
        name="日本::x[1] " + "é" * 90 + "e",
    )

    listed = nel.run("bench_sums.py", "--collect-only", "-q")
    (nodeid,) = IDS.findall(listed.out)
    ended = nel.run(nodeid)

    assert nodeid.isascii()
    assert len(nodeid) <= 100
    assert ended.code == 0, ended.text
    assert "1 passed" in ended.out


def test_a_benchmark_of_this_repository_runs_by_its_path(nel: Nel) -> None:
    ended = nel.run(
        str(ROOT / "benchmarks/basics.py"), "--nel-max-problems", "3", "-c", "pytest.ini"
    )

    assert ended.code == 0, ended.text
    assert ended.bundle("basics")["n_scored"] == 3


def test_nothing_to_collect_is_exit_5(nel: Nel) -> None:
    ended = nel.run()

    assert ended.code == pytest.ExitCode.NO_TESTS_COLLECTED
    assert nel.runs() == []
