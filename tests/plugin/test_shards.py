"""``--nel-shard`` and the variables of a job array: which part a run measures."""

import json
import re

import pytest

from tests.plugin.running import Ended, Nel, sums

NEL = {"NEL_SHARD_IDX": "1", "NEL_TOTAL_SHARDS": "2"}
SLURM = {
    "SLURM_ARRAY_TASK_ID": "1",
    "SLURM_ARRAY_TASK_COUNT": "2",
    "SLURM_ARRAY_TASK_MIN": "0",
    "SLURM_ARRAY_TASK_MAX": "1",
}


def part(ended: Ended) -> object:
    """What the run's bundle says of its shard."""
    return ended.bundle().get("shard")


def test_the_variables_choose_a_shard(nel: Nel) -> None:
    nel.bench(sums(3))

    ended = nel.run("bench_sums.py", env=NEL)

    assert ended.code == 0, ended.text
    assert part(ended) == [1, 2]
    assert len(ended.results()) == 1


def test_the_command_line_stands_before_the_variables(nel: Nel) -> None:
    nel.bench(sums(3))

    ended = nel.run("bench_sums.py", "--nel-shard", "0/2", env=NEL)

    assert part(ended) == [0, 2]


@pytest.mark.parametrize("name", list(NEL))
def test_one_variable_without_the_other_is_refused(nel: Nel, name: str) -> None:
    nel.bench(sums(3))

    ended = nel.run("bench_sums.py", env={name: NEL[name]})

    assert ended.code == 4
    assert "NEL_SHARD_IDX and NEL_TOTAL_SHARDS belong together" in ended.err
    assert nel.runs() == []


@pytest.mark.parametrize(
    "env",
    [
        {"NEL_SHARD_IDX": "2", "NEL_TOTAL_SHARDS": "2"},
        {"NEL_SHARD_IDX": "-1", "NEL_TOTAL_SHARDS": "2"},
        {"NEL_SHARD_IDX": "one", "NEL_TOTAL_SHARDS": "2"},
        {"NEL_SHARD_IDX": "0", "NEL_TOTAL_SHARDS": "0"},
    ],
)
def test_malformed_variables_are_refused(nel: Nel, env: dict[str, str]) -> None:
    nel.bench(sums(3))

    ended = nel.run("bench_sums.py", env=env)

    assert ended.code == 4
    assert f"NEL_SHARD_IDX={env['NEL_SHARD_IDX']}" in ended.err
    assert "expected I/N" in ended.err


@pytest.mark.parametrize("text", ["2/2", "1", "a/b", "-1/2", "1/0", "1/2/3", "/2", ""])
def test_a_malformed_shard_is_refused(nel: Nel, text: str) -> None:
    nel.bench(sums(3))

    ended = nel.run("bench_sums.py", f"--nel-shard={text}")

    assert ended.code == 4
    assert "--nel-shard: expected I/N" in ended.err


def test_variables_of_an_array_mean_nothing_to_a_suite_that_does_not_say_so(nel: Nel) -> None:
    nel.bench(sums(3))
    nel.suite("bench_sums.py")

    ended = nel.run("my.nel.yaml", model=False, env=SLURM)

    assert ended.code == 0, ended.text
    assert part(ended) is None
    assert len(ended.results()) == 3


def test_a_suite_can_be_split_by_an_array(nel: Nel) -> None:
    nel.bench(sums(3))
    nel.suite("bench_sums.py", tail="shard_from: slurm_array\n")

    ended = nel.run("my.nel.yaml", model=False, env=SLURM)

    assert ended.code == 0, ended.text
    assert part(ended) == [1, 2]


def test_without_an_array_such_a_suite_is_measured_whole(nel: Nel) -> None:
    nel.bench(sums(3))
    nel.suite("bench_sums.py", tail="shard_from: slurm_array\n")

    ended = nel.run("my.nel.yaml", model=False)

    assert part(ended) is None


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"SLURM_ARRAY_TASK_MIN": "1"}, "number the tasks of the array from 0"),
        ({"SLURM_ARRAY_TASK_MAX": "5"}, "SLURM_ARRAY_TASK_MAX=5 with 2 tasks"),
        ({"SLURM_ARRAY_TASK_COUNT": ""}, "belong together"),
        ({"SLURM_ARRAY_TASK_ID": "2"}, "SLURM_ARRAY_TASK_ID=2, SLURM_ARRAY_TASK_COUNT=2"),
    ],
)
def test_an_array_that_cannot_be_split_by_is_refused(
    nel: Nel, change: dict[str, str], said: str
) -> None:
    nel.bench(sums(3))
    nel.suite("bench_sums.py", tail="shard_from: slurm_array\n")

    ended = nel.run("my.nel.yaml", model=False, env=SLURM | change)

    assert ended.code == 4
    assert said in ended.err


def test_an_empty_shard_is_no_failure(nel: Nel, how: list[str]) -> None:
    nel.bench(sums(2))

    ended = nel.run("bench_sums.py", "--nel-shard", "3/4", "--nel-output-dir", "runs", *how)

    assert ended.code == 0, ended.text
    assert re.findall("^nel: .* is empty$", ended.out, re.MULTILINE) == [
        "nel: shard 3/4 of sums is empty"
    ]
    assert not (nel.folder / "runs" / "shard_3").exists()


def test_nothing_selected_is_still_status_5(nel: Nel) -> None:
    nel.bench(sums(2))

    ended = nel.run("bench_sums.py", "--nel-shard", "0/2", "-k", "nothing_like_it")

    assert ended.code == 5


def test_an_empty_benchmark_beside_a_full_one_is_only_noted(nel: Nel) -> None:
    nel.bench(sums(2))
    nel.bench(sums(8), file="bench_more.py", name="more")

    ended = nel.run("bench_sums.py", "bench_more.py", "--nel-shard", "3/4")

    assert ended.code == 0, ended.text
    assert "shard 3/4 of sums is empty" in ended.out
    assert len(ended.results("more")) == 2
    assert json.loads((ended.run_dir / "run.json").read_text())["shard"] == [3, 4]
