"""Shards, joined, are the run that was not split."""

import json
import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.core.errors import ConfigError
from pytest_nel.records.conclude import rebuild
from pytest_nel.records.merge import Merged, merge
from tests.unit.records.parts_of_runs import FINGERPRINT, Whole, random_records

OWN = ("run_id", "timestamp")


@st.composite
def wholes(draw: st.DrawFn) -> Whole:
    size = draw(st.integers(1, 25))
    limit = draw(st.none() | st.integers(1, 30))
    return Whole(size, draw(st.integers(1, 3)), limit, draw(st.none() | st.integers(0, 99)))


def contents(run_dir: Path) -> dict[str, Any]:
    """Every derived file of the benchmark, the bundle without what names the run."""
    found: dict[str, Any] = {}
    for path in (run_dir / "b").iterdir():
        if path.name.startswith("eval-"):
            bundle = json.loads(path.read_text())
            found["bundle"] = {name: bundle[name] for name in bundle if name not in OWN}
        elif path.is_file():
            found[path.name] = path.read_bytes()
    return found


def shards(folder: Path, whole: Whole, count: int, missing: tuple[int, ...] = ()) -> list[Path]:
    return [
        whole.part(folder / f"shard_{index}", shard=(index, count))
        for index in range(count)
        if index not in missing
    ]


@settings(max_examples=100)
@given(whole=wholes(), count=st.integers(1, 12))
def test_shards_together_are_the_whole_in_order(whole: Whole, count: int) -> None:
    parts = [whole.plan((index, count)) for index in range(count)]

    joined = [problem for plan in parts for problem in plan["problems"]]
    assert joined == whole.plan()["problems"]
    assert len(set(joined)) == len(joined) == parts[0]["selected"]


@settings(max_examples=40, deadline=None)
@given(
    whole=wholes(), count=st.integers(1, 12), seed=st.integers(0, 999), writers=st.integers(1, 3)
)
def test_merged_files_are_those_of_the_run_that_was_not_split(
    tmp_path_factory: pytest.TempPathFactory, whole: Whole, count: int, seed: int, writers: int
) -> None:
    folder = tmp_path_factory.mktemp("runs")
    records = random_records(whole.attempts(), seed)
    parts = [
        whole.part(folder / f"shard_{index}", records, shard=(index, count), writers=writers)
        for index in range(count)
    ]
    random.Random(seed).shuffle(parts)
    rebuild(whole.part(folder / "one", records))

    merge(parts, folder / "merged")

    assert contents(folder / "merged") == contents(folder / "one")


def test_a_merged_bundle_has_all_that_others_have(tmp_path: Path) -> None:
    """The reference system's lack breakdowns, scorer:*, failures and exact percentiles."""
    whole = Whole(size=24, repeats=2)
    records = random_records(whole.attempts(), 3)
    parts = [
        whole.part(tmp_path / f"shard_{index}", records, shard=(index, 3)) for index in range(3)
    ]

    made = merge(parts, tmp_path / "merged")

    benchmark = made.concluded.derived[0].bundle["benchmark"]
    scores = benchmark["scores"]
    assert set(benchmark["categories"]) == {"x", "y", "unknown"}
    assert set(scores["breakdowns"]) == {"hard", "rule"}
    assert scores["scorer:f1"]["n"] == len(records)
    assert scores["failures"]["categories"]["server_error"]["n_unscored"] > 0
    assert scores["mean_reward"]["n_clusters"] == 8
    assert {"pass@2", "pass^2", "avg@2", "maj@2", "rates"} <= set(scores)
    latencies = [
        solved.model["latency_ms"] for solved, _ in records.values() if solved.model is not None
    ]
    for q, value in scores["runtime"]["latency_percentiles_ms"].items():
        assert value == pytest.approx(np.percentile(latencies, int(q[1:])), abs=0.006)
    assert (tmp_path / "merged" / "b" / "runtime_stats.json").is_file()
    assert (tmp_path / "merged" / "b" / "failure_analysis.json").is_file()


def test_merging_twice_gives_the_same_bytes(tmp_path: Path) -> None:
    parts = shards(tmp_path, Whole(), 3)

    for name in ("x", "y"):
        merge(parts, tmp_path / name)

    one, two = (
        {path.relative_to(tmp_path / name): path.read_bytes() for path in files(tmp_path / name)}
        for name in ("x", "y")
    )
    assert one == two


def files(folder: Path) -> list[Path]:
    return [path for path in folder.rglob("*") if path.is_file()]


def test_the_parts_are_not_touched(tmp_path: Path) -> None:
    parts = shards(tmp_path, Whole(), 3)
    before = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in files(tmp_path)}

    merge(parts, tmp_path / "merged")

    after = {path: (path.read_bytes(), path.stat().st_mtime_ns) for path in before}
    assert after == before
    assert {path.parent for path in files(tmp_path)} - {path.parent for path in before} == {
        tmp_path / "merged",
        tmp_path / "merged" / "b",
        tmp_path / "merged" / "b" / "journal",
    }


def test_a_copied_journal_is_a_file_of_its_own(tmp_path: Path) -> None:
    (part,) = shards(tmp_path, Whole(), 1)

    merge([part], tmp_path / "merged")

    (copy,) = (tmp_path / "merged" / "b" / "journal").iterdir()
    assert copy.stat().st_nlink == 1
    assert copy.read_bytes() == (part / "b" / "journal" / "gw0.jsonl").read_bytes()


def test_missing_shards_are_named_and_their_attempts_count_as_missing(tmp_path: Path) -> None:
    whole = Whole(size=20, repeats=2)
    parts = shards(tmp_path, whole, 10, missing=(2, 7))

    made = merge(parts, tmp_path / "merged")

    assert made.joint.missing == {"b": [2, 7]}
    (derived,) = made.concluded.derived
    assert derived.bundle["evaluated"] == "32 of 40"
    assert (derived.bundle["n_planned"], derived.missing) == (40, 8)
    assert derived.bundle["complete"] is False
    assert made.concluded.code == 7


def test_a_shard_without_a_problem_is_not_missing(tmp_path: Path) -> None:
    whole = Whole(size=2)
    parts = shards(tmp_path, whole, 4, missing=(2, 3))

    made = merge(parts, tmp_path / "merged")

    assert made.joint.missing == {"b": []}
    assert made.concluded.code == 0


def test_all_parts_are_there_twice_without_harm(tmp_path: Path) -> None:
    first, second = (shards(tmp_path / name, Whole(), 2) for name in ("x", "y"))

    made = merge([*first, *second], tmp_path / "merged")

    assert len(made.duplicates) == 6
    assert not any(one.differs for one in made.duplicates)
    assert made.concluded.derived[0].bundle["n_attempted"] == 6


def refused(parts: list[Path], target: Path) -> str:
    with pytest.raises(ConfigError) as caught:
        merge(parts, target)
    assert not target.exists()
    assert [path for path in target.parent.iterdir() if path.name.startswith(".")] == []
    return str(caught.value)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        ({"prompts": "sha256:9"}, 'b: prompts: "sha256:2" in x; "sha256:9" in y'),
        ({"answering": {"model": "n", "sampling.temperature": 0}}, 'b: model: "m" in x; "n" in y'),
        ({"answering": {"model": "m"}}, "b: sampling.temperature: 0 in x; null in y"),
        ({"rows_hash": "sha256:9"}, 'b: rows_hash: "sha256:1" in x; "sha256:9" in y'),
        ({"dataset": "hf://a"}, 'b: dataset: "rows" in x; "hf://a" in y'),
        ({"scorer": "other"}, 'b: scorer: "b.py:s" in x; "other" in y'),
        ({"versions": {"pytest-nel": "1"}}, 'b: version of pytest-nel: "0" in x; "1" in y'),
        ({"new": 1}, "b: new: null in x; 1 in y"),
    ],
)
def test_another_fingerprint_is_refused_by_name(
    tmp_path: Path, change: dict[str, Any], said: str
) -> None:
    one = Whole().part(tmp_path / "x", shard=(0, 2))
    two = Whole(facts={**FINGERPRINT, **change}).part(tmp_path / "y", shard=(1, 2))

    message = refused([one, two], tmp_path / "merged")

    assert message.splitlines()[1:] == [f"  {said}"]


def test_shards_of_agents_with_another_timeout_are_refused(tmp_path: Path) -> None:
    inside = {**FINGERPRINT, "answering": {"model": "m", "sandbox.type": "docker"}}
    one = Whole(facts=inside).part(tmp_path / "x", shard=(0, 2))
    two = Whole(facts=inside, timeout=600.0).part(tmp_path / "y", shard=(1, 2))

    message = refused([one, two], tmp_path / "merged")

    assert message.splitlines()[1:] == ["  b: timeout: 60.0 in x; 600.0 in y"]


def test_another_python_is_no_difference(tmp_path: Path) -> None:
    versions = {"versions": {"pytest-nel": "0", "python": "3.14.0"}}
    one = Whole().part(tmp_path / "x", shard=(0, 2))
    two = Whole(facts={**FINGERPRINT, **versions}).part(tmp_path / "y", shard=(1, 2))

    made = merge([one, two], tmp_path / "merged")

    assert made.concluded.code == 0


@pytest.mark.parametrize(
    ("other", "said"),
    [
        (Whole(repeats=2), "b: repeats: 1 in x; 2 in y"),
        (Whole(seed=7), "b: shuffle_seed: 42 in x; 7 in y"),
        (Whole(size=7), "b: dataset_size: 6 in x; 7 in y"),
        (Whole(max_problems=4), "b: problems of all shards: 6 in x; 4 in y"),
        (Whole(targets=("c.py",)), "b.py in x, c.py in y"),
    ],
)
def test_shards_of_another_plan_are_refused(tmp_path: Path, other: Whole, said: str) -> None:
    one = Whole().part(tmp_path / "x", shard=(0, 2))
    two = other.part(tmp_path / "y", shard=(1, 2))

    message = refused([one, two], tmp_path / "merged")

    assert said in message


@pytest.mark.parametrize(
    ("shard", "said"),
    [
        ((1, 3), "x: one of 2 shards; y: one of 3 shards"),
        (None, "x: one of 2 shards; y: no shard"),
    ],
)
def test_parts_of_different_divisions_are_refused(
    tmp_path: Path, shard: tuple[int, int] | None, said: str
) -> None:
    parts = [Whole().part(tmp_path / "x", shard=(0, 2)), Whole().part(tmp_path / "y", shard=shard)]

    message = refused(parts, tmp_path / "merged")

    assert said in message


def test_a_plan_whose_problems_were_changed_is_refused(tmp_path: Path) -> None:
    parts = shards(tmp_path, Whole(), 2)
    path = parts[1] / "b" / "plan.json"
    plan = json.loads(path.read_text())
    path.write_text(json.dumps(plan | {"problems": plan["problems"][::-1]}))

    message = refused(parts, tmp_path / "merged")

    assert "shard_1/b: the problems in plan.json are not those of shard 1/2" in message


@pytest.mark.parametrize("text", ["", "{", "[]", '{"benchmark": "b"}'])
def test_a_damaged_plan_is_refused_by_its_path(tmp_path: Path, text: str) -> None:
    parts = shards(tmp_path, Whole(), 2)
    (parts[0] / "b" / "plan.json").write_text(text)

    message = refused(parts, tmp_path / "merged")

    assert str(parts[0] / "b" / "plan.json") in message


def test_nothing_is_overwritten(tmp_path: Path) -> None:
    parts = shards(tmp_path, Whole(), 2)
    target = tmp_path / "merged"
    target.mkdir()
    (target / "notes.txt").write_text("mine")

    with pytest.raises(ConfigError, match="is not empty"):
        merge(parts, target)

    assert [path.name for path in target.iterdir()] == ["notes.txt"]


def test_an_empty_target_is_taken(tmp_path: Path) -> None:
    parts = shards(tmp_path, Whole(), 2)
    (tmp_path / "merged").mkdir()

    made = merge(parts, tmp_path / "merged")

    assert made.concluded.code == 0


def test_a_target_inside_a_part_is_refused(tmp_path: Path) -> None:
    (part,) = shards(tmp_path, Whole(), 1)

    with pytest.raises(ConfigError, match="to be read only"):
        merge([part], part / "merged")


def test_a_merge_that_fails_on_the_way_leaves_nothing(tmp_path: Path) -> None:
    parts = shards(tmp_path, Whole(), 2)
    broken = parts[1] / "b" / "journal" / "gw1.jsonl"
    broken.mkdir()

    with pytest.raises(OSError, match="gw1"):
        merge(parts, tmp_path / "merged")

    assert sorted(path.name for path in tmp_path.iterdir()) == ["shard_0", "shard_1"]


def test_a_merged_run_can_be_merged_again(tmp_path: Path) -> None:
    made: Merged = merge(shards(tmp_path, Whole(), 2), tmp_path / "merged")
    other = Whole().part(tmp_path / "other", only=[(0, 0)])

    again = merge([tmp_path / "merged", other], tmp_path / "both")

    assert [one.rewards for one in again.duplicates] == [{"merged": 1.0, "other": 1.0}]
    assert again.concluded.derived[0].bundle["n_attempted"] == 6
    assert made.concluded.code == again.concluded.code == 0


def test_a_directory_of_two_shards_is_refused(tmp_path: Path) -> None:
    Whole().part(tmp_path / "x", shard=(0, 2))
    Whole(name="c").part(tmp_path / "x", shard=(1, 2))

    message = refused([tmp_path / "x"], tmp_path / "merged")

    assert f"{tmp_path / 'x'}: its benchmarks are of different shards" in message
