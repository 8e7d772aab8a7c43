"""Real runs in parts, merged, against the run that was not split."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.cli.main import main
from tests.plugin.running import Nel, sums
from tests.plugin.truth import (
    bench,
    bundle,
    kill,
    lines,
    model,
    run,
    start,
    wait_for_lines,
)
from tests.support.endpoint import RunningEndpoint, running_endpoint


def comparable(path: Path) -> list[dict[str, Any]]:
    """Rows of results.jsonl without what depends on the clock."""
    return [{**row, "latency_ms": None} for row in lines(path / "results.jsonl")]


def scores(path: Path) -> dict[str, Any]:
    """Every score of the bundle; times are none."""
    found: dict[str, Any] = bundle(path)["benchmark"]["scores"]
    return {name: value for name, value in found.items() if name != "runtime"}


def merge(*words: object) -> int:
    return main(["eval", "merge", *map(str, words)])


@pytest.mark.parametrize("by", ["option", "variables"])
def test_shards_are_the_run_that_was_not_split(
    nel: Nel, endpoint: RunningEndpoint, by: str
) -> None:
    nel.bench(sums(11))
    common = ("bench_sums.py", "--nel-repeats", "2", "--nel-output-dir")
    whole = nel.run(*common, "whole")
    endpoint.reset()

    for index in range(4):
        shard = f"{index}/4"
        args = ("--nel-shard", shard) if by == "option" else ()
        env = {"NEL_SHARD_IDX": str(index), "NEL_TOTAL_SHARDS": "4"} if by != "option" else {}
        ended = nel.run(*common, "runs", *args, env=env)
        assert ended.code == 0, ended.text
    code = merge(nel.folder / "runs")

    one, other = nel.folder / "whole" / "sums", nel.folder / "runs" / "merged" / "sums"
    assert (whole.code, code) == (0, 0)
    assert endpoint.stats()["requests"] == 22
    assert comparable(other) == comparable(one)
    assert scores(other) == scores(one)
    assert (other / "plan.json").read_bytes() == (one / "plan.json").read_bytes()


def test_shards_of_different_models_and_prompts_are_refused(
    nel: Nel, capsys: pytest.CaptureFixture[str]
) -> None:
    nel.bench(sums(4))
    nel.run("bench_sums.py", "--nel-shard", "0/2", "--nel-output-dir", "runs")
    nel.run("bench_sums.py", "--nel-shard", "1/2", "--nel-output-dir", "o", "--nel-model-id", "n")
    text = (nel.folder / "bench_sums.py").read_text()
    nel.write("bench_sums.py", text.replace('prompt="{say}"', 'prompt="{say} "'))
    nel.run("bench_sums.py", "--nel-shard", "1/2", "--nel-output-dir", "runs")

    codes = [
        merge(nel.folder / "runs"),
        merge(nel.folder / "runs/shard_0", nel.folder / "o/shard_1", "-o", nel.folder / "out"),
    ]

    said = capsys.readouterr().err
    assert codes == [4, 4]
    assert "sums: prompts: " in said
    assert 'sums: model: "m" in shard_0; "n" in shard_1' in said


def test_shards_of_two_suites_are_refused(nel: Nel, capsys: pytest.CaptureFixture[str]) -> None:
    nel.bench(sums(4))
    nel.suite("bench_sums.py", file="one.nel.yaml")
    nel.suite("bench_sums.py", file="two.nel.yaml")
    for index, suite in enumerate(("one", "two")):
        where = ("--nel-shard", f"{index}/2", "--nel-output-dir", "runs")
        nel.run(f"{suite}.nel.yaml", *where, model=False)

    code = merge(nel.folder / "runs")

    assert code == 4
    assert "one.nel.yaml in shard_0, two.nel.yaml in shard_1" in capsys.readouterr().err


def test_a_merged_run_goes_on(nel: Nel, endpoint: RunningEndpoint) -> None:
    nel.bench(sums(9))
    for index in (0, 2):
        nel.run("bench_sums.py", "--nel-shard", f"{index}/3", "--nel-output-dir", "runs")
    code = merge(nel.folder / "runs")
    endpoint.reset()

    ended = nel.run("bench_sums.py", "--nel-output-dir", "runs/merged", "--nel-resume")

    found = nel.folder / "runs" / "merged" / "sums"
    assert (code, ended.code) == (7, 0), ended.text
    assert endpoint.stats()["requests"] == 3
    assert (bundle(found)["n_attempted"], bundle(found)["complete"]) == (9, True)
    assert main(["eval", "report", str(nel.folder / "runs")]) == 0


def test_an_interrupted_run_and_another_part_make_the_whole(tmp_path: Path) -> None:
    bench(tmp_path, 200)
    with running_endpoint(latency=0.02, mode="gold", right=1) as endpoint:
        process = start(tmp_path, "bench_truth.py", *model(endpoint.url))
        wait_for_lines(tmp_path, "run/truth/journal/*.jsonl", b'"_type":"scored"', 20)
        kill(process)
        (tmp_path / "run").rename(tmp_path / "died")
        ended = run(tmp_path, "bench_truth.py", *model(endpoint.url))
        (tmp_path / "run").rename(tmp_path / "ran")
    assert ended.returncode == 0, ended.stdout

    code = merge(tmp_path / "died", tmp_path / "ran", "-o", tmp_path / "merged")

    keys = [
        (row["problem_idx"], row["repeat"])
        for row in lines(tmp_path / "merged/truth/results.jsonl")
    ]
    assert code == 0
    assert len(keys) == len(set(keys)) == 200
    assert keys == [(row["problem_idx"], 0) for row in lines(tmp_path / "ran/truth/results.jsonl")]
    facts = json.loads((tmp_path / "merged" / "merge.json").read_text())
    assert facts["n_duplicates"] >= 20
    assert facts["n_duplicates_that_differ"] == 0


@pytest.mark.parametrize("workers", [0, 2])
def test_a_run_that_was_killed_is_rebuilt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], workers: int
) -> None:
    bench(tmp_path, 1000)
    with running_endpoint(latency=0.02, mode="gold", right=0.6) as endpoint:
        options = ["-n", str(workers)] if workers else []
        process = start(tmp_path, "bench_truth.py", *options, *model(endpoint.url))
        wait_for_lines(tmp_path, "run/truth/journal/*.jsonl", b'"_type":"scored"', 50)
        alive = main(["eval", "report", "--rebuild", str(tmp_path / "run")])
        kill(process)
    folder = tmp_path / "run" / "truth"
    scored = sum(
        path.read_bytes().count(b'"_type":"scored"') for path in (folder / "journal").iterdir()
    )

    code = main(["eval", "report", "--rebuild", str(tmp_path / "run")])

    assert (alive, code) == (4, 7)
    assert "a run is writing there" in capsys.readouterr().err
    found = bundle(folder)
    assert found["n_attempted"] == len(lines(folder / "results.jsonl")) == scored >= 50
    assert (found["n_planned"], found["complete"]) == (1000, False)


def test_a_run_that_ended_is_rebuilt_to_the_same_bytes(nel: Nel) -> None:
    nel.bench(sums(5))
    ended = nel.run("bench_sums.py")
    paths = [path for path in ended.run_dir.rglob("*") if path.is_file()]
    before = {path: path.read_bytes() for path in paths}

    code = main(["eval", "report", "--rebuild", str(ended.run_dir)])

    assert code == 0
    assert {path: path.read_bytes() for path in paths} == before
    assert [path for path in ended.run_dir.rglob("*") if path.is_file()] == paths
