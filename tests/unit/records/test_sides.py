"""Runs as a gate reads them: where they are found, what is refused, and what a row comes to."""

import json
import os
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import ConfigError
from pytest_nel.gate.evidence import Row
from pytest_nel.records._result_rows import read_rows
from pytest_nel.records.sides import runs_of, stored_run
from tests.support.stored import write_reference_run, write_run


def test_a_run_has_its_benchmarks_one_level_down(tmp_path: Path) -> None:
    run = write_run(write_run(tmp_path / "run", [1.0]), [1.0, 0.0], name="gsm8k")

    found = stored_run(run)

    assert sorted(found.bundles) == ["gsm8k", "mmlu"]
    assert found.warnings == []
    assert [row.reward for row in found.side("gsm8k").rows] == [1.0, 0.0]


@pytest.mark.parametrize("named", ["mmlu", "mmlu/eval-20260101T000000Z-mmlu.json"])
def test_one_benchmark_or_its_bundle_can_be_named(tmp_path: Path, named: str) -> None:
    run = write_run(write_run(tmp_path / "run", [1.0]), [1.0], name="gsm8k")

    assert list(stored_run(run / named).bundles) == ["mmlu"]


def test_of_merged_shards_the_merged_run_is_meant(tmp_path: Path) -> None:
    merged = write_run(tmp_path / "runs" / "merged", [1.0])
    (merged / "merge.json").write_text("{}")
    write_run(tmp_path / "runs" / "shard_0", [0.0])

    found = stored_run(tmp_path / "runs")

    assert found.directory == merged
    assert [row.reward for row in found.side("mmlu").rows] == [1.0]


def test_a_folder_of_runs_says_which_there_are(tmp_path: Path) -> None:
    for name in ("bf16", "fp8"):
        write_run(tmp_path / name, [1.0])
        (tmp_path / name / "run.json").write_text("{}")

    with pytest.raises(ConfigError, match=r"it holds runs, name one: bf16, fp8$"):
        stored_run(tmp_path)


@pytest.mark.parametrize("name", ["nothing", "nothing/eval-1.json"])
def test_a_place_that_is_not_there_is_named(tmp_path: Path, name: str) -> None:
    with pytest.raises(ConfigError, match=f"no such directory: .*{name}"):
        stored_run(tmp_path / name)


def test_one_benchmark_in_two_folders_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1.0])
    os.rename(run / "mmlu", run / "mmlu.old")  # noqa: PTH104  the folder's name is nothing
    write_run(run, [0.0])

    with pytest.raises(ConfigError, match=r"Duplicate benchmark 'mmlu' .*mmlu.*mmlu\.old"):
        stored_run(run)


def test_two_benchmarks_in_one_folder_would_share_their_rows(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1.0])
    other = write_run(tmp_path / "other", [1.0], name="gsm8k")
    bundle = next(other.glob("gsm8k/eval-*.json"))
    bundle.rename(run / "mmlu" / bundle.name)

    with pytest.raises(ConfigError, match=r"bundles of several benchmarks \(gsm8k, mmlu\)"):
        stored_run(run)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("{", "JSONDecodeError"),
        ("[]", "expected an object, got list"),
        ("{}", "benchmark.name: expected text"),
        ('{"benchmark": {"name": 5}}', "benchmark.name: expected text"),
        (
            '{"benchmark": {"name": "b", "repeats": 0}}',
            "benchmark.repeats: expected a whole number",
        ),
        (
            '{"benchmark": {"name": "b"}, "n_planned": "10"}',
            "n_planned: expected a count, got '10'",
        ),
        ('{"benchmark": {"name": "b"}, "n_planned": -1}', "n_planned: expected a count, got -1"),
        ('{"benchmark": {"name": "b"}, "n_scored": true}', "n_scored: expected a count, got True"),
        (
            '{"benchmark": {"name": "b"}, "fingerprint": 5}',
            "fingerprint: expected an object, got 5",
        ),
        ('{"benchmark": {"name": "b"}, "shard": [1]}', "shard: expected two numbers"),
        (
            '{"benchmark": {"name": "b"}, "n_planned": 5, "n_attempted": 6}',
            "n_attempted is 6 and n_planned 5",
        ),
    ],
)
def test_a_damaged_bundle_is_refused_in_words(tmp_path: Path, text: str, said: str) -> None:
    run = write_run(tmp_path / "run", [1.0])
    next(run.glob("mmlu/eval-*.json")).write_text(text)

    with pytest.raises(ConfigError) as caught:
        stored_run(run)

    assert "mmlu/eval-20260101T000000Z-mmlu.json: this bundle cannot be read: " in str(caught.value)
    assert said in str(caught.value)


def test_a_damaged_bundle_beside_a_sound_one_is_refused_too(tmp_path: Path) -> None:
    """It could be the one to which the rows belong."""
    run = write_run(tmp_path / "run", [1.0])
    (run / "mmlu" / "eval-zzz.json").write_text("{")

    with pytest.raises(ConfigError, match=r"eval-zzz\.json: this bundle cannot be read"):
        stored_run(run)


def test_the_weight_of_runs_is_that_of_their_rows(tmp_path: Path) -> None:
    runs = [write_run(tmp_path / name, [1.0] * 10) for name in ("a", "b")]
    sizes = [(run / "mmlu" / "results.jsonl").stat().st_size for run in runs]

    assert runs_of(runs[0], runs[1]).weight == sum(sizes)
    assert runs_of(runs[0]).weight == sizes[0]


def test_a_run_is_not_gated_against_itself_or_a_copy(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1.0] * 10)
    (tmp_path / "latest").symlink_to(run)
    shutil.copytree(run, tmp_path / "copy")

    with pytest.raises(ConfigError, match=r"the same run: .*latest and .*run both mean .*mmlu"):
        runs_of(run, tmp_path / "latest")
    with pytest.raises(ConfigError, match="so one is a copy of the other"):
        runs_of(tmp_path / "copy", run)


def test_equal_results_of_another_run_are_no_copy(tmp_path: Path) -> None:
    one, other = (write_run(tmp_path / name, [1.0] * 10) for name in ("one", "other"))

    assert set(runs_of(one, other).candidate) == {"mmlu"}


def test_a_copy_without_rows_is_known_by_its_bundle(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1.0] * 10)
    (run / "mmlu" / "results.jsonl").unlink()
    shutil.copytree(run, tmp_path / "copy")

    with pytest.raises(ConfigError, match="so one is a copy of the other"):
        runs_of(tmp_path / "copy", run)


SOUND: Mapping[str, Any] = {
    "problem_idx": 3,
    "repeat": 1,
    "problem_id": "test/3",
    "outcome": "correct",
    "reward": 1.0,
    "scorer_rewards": {},
    "prompt": "q",
    "expected_answer": "a",
    "scoring_details": {},
    "metadata": {},
}
REFERENCE = {key: SOUND[key] for key in SOUND if key not in ("problem_id", "outcome")}


def rows_of(path: Path, *lines: object) -> list[Row]:
    text = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    path.write_text("\n".join(text) + "\n", encoding="utf-8")
    return list(read_rows(path).rows.values())


def one(path: Path, **changed: Any) -> Row:
    [row] = rows_of(path, {**SOUND, **changed})
    return row


def test_a_row_of_ours(tmp_path: Path) -> None:
    row = one(
        tmp_path / "r",
        scorer_rewards={"f1": 0.5, "judge": None},
        metadata={"category": "law", "cluster": 7},
    )

    others = {"f1": 0.5, "judge": None}
    assert row == (3, 1, 1.0, True, "test/3", "law", "7", others, "correct")


@pytest.mark.parametrize(
    "reward", [None, "1.0", True, [1.0], {}, float("nan"), float("inf"), 10**400, 1e200]
)
def test_what_is_no_reward_is_missing(tmp_path: Path, reward: object) -> None:
    assert one(tmp_path / "r", reward=reward).reward is None
    assert rows_of(tmp_path / "s", REFERENCE | {"reward": reward})[0].reward is None


def test_a_reward_of_what_has_no_score_is_none(tmp_path: Path) -> None:
    assert one(tmp_path / "r", outcome="unscored", reward=0.0).reward is None


@pytest.mark.parametrize("rewards", [None, 5, "f1", [1], {"f1": "high"}, {"f1": float("nan")}])
def test_garbage_of_other_scorers_is_missing(tmp_path: Path, rewards: object) -> None:
    assert one(tmp_path / "r", scorer_rewards=rewards).others.get("f1") is None


@pytest.mark.parametrize(
    ("reward", "details", "expected"),
    [
        (0.6, {}, (0.6, True, "correct")),
        (0.0, {}, (0.0, False, "wrong")),
        (0.0, {"error_category": "infra_error"}, (None, False, "unscored")),
        (0.0, {"error_category": "rate_limit"}, (None, False, "unscored")),
        (0.0, {"error_category": "turn_budget_exhausted"}, (0.0, False, "wrong")),
        (0.0, {"error_category": ["infra_error"]}, (0.0, False, "wrong")),
        (0.0, {"judge": {"error": "timeout"}}, (None, False, "unscored")),
        (0.5, {"judge": {"error": "retried", "total": 3}}, (0.5, True, "correct")),
        (0.0, {"judge": {"score": 0, "parse_error": True}}, (None, False, "unscored")),
        (0.0, {"needs_judge": True}, (None, False, "unscored")),
        (0.0, {"error": "no sandbox"}, (None, False, "unscored")),
        (1.0, {"error": "crashed, what it left was judged"}, (None, False, "unscored")),
        (0.0, {"error": "x", "error_category": "brand_new"}, (None, False, "unscored")),
        (0.0, {"error": "x", "error_category": "graceful"}, (0.0, False, "wrong")),
        (0.0, {"error": "", "error_category": "brand_new"}, (0.0, False, "wrong")),
        (1.0, {"error_category": "solve_timeout"}, (None, False, "unscored")),
    ],
)
def test_what_went_wrong_in_the_reference_system_is_missing_and_not_wrong(
    tmp_path: Path, reward: float, details: object, expected: tuple[object, ...]
) -> None:
    [row] = rows_of(tmp_path / "r", {**REFERENCE, "reward": reward, "scoring_details": details})

    assert (row.reward, row.correct, row.outcome) == expected


def test_a_further_scorer_that_failed_in_the_reference_system_is_missing(tmp_path: Path) -> None:
    details = {"scorer:f1": {"error": "ValueError: x", "reward": 0.0}, "scorer:em": {"reward": 0.0}}
    row = {**REFERENCE, "scorer_rewards": {"f1": 0.0, "em": 0.0}, "scoring_details": details}

    assert rows_of(tmp_path / "r", row)[0].others == {"f1": None, "em": 0.0}


@pytest.mark.parametrize(
    "line",
    [
        "{",
        "5",
        "[]",
        "null",
        '"text"',
        "[" * 100_000,
        {**SOUND, "problem_idx": "3"},
        {**SOUND, "problem_idx": True},
        {**SOUND, "problem_idx": -1},
        {**SOUND, "repeat": 1.0},
        {**SOUND, "outcome": "great"},
        {**SOUND, "outcome": ["correct"]},
        {"reward": 1.0},
        '{"a": 1},{"b": 2}',
    ],
)
def test_a_line_that_is_no_row_is_counted_and_the_others_are_read(
    tmp_path: Path, line: object
) -> None:
    others = [{**SOUND, "problem_idx": at} for at in range(5)]
    lines = [*others[:2], line, *others[2:]]
    text = (line if isinstance(line, str) else json.dumps(line) for line in lines)
    (tmp_path / "r").write_text("\n".join(text))

    found = read_rows(tmp_path / "r")

    assert sorted(row.problem for row in found.rows.values()) == [0, 1, 2, 3, 4]
    assert found.unreadable == 1


def test_lines_that_are_only_together_json_are_no_rows(tmp_path: Path) -> None:
    whole = json.dumps(SOUND)
    half = len(whole) // 2
    cut = whole.rindex(",", 0, half)
    (tmp_path / "r").write_text(f"{whole[:cut]}\n{whole[cut + 1 :]}\n")

    found = read_rows(tmp_path / "r")

    assert (found.rows, found.unreadable) == ({}, 2)


def test_bytes_that_are_no_text_are_one_bad_line(tmp_path: Path) -> None:
    line = json.dumps(SOUND).encode()
    (tmp_path / "r").write_bytes(b"\xff\xfe\x00\n" + line + b"\n\n  \n")

    found = read_rows(tmp_path / "r")

    assert (len(found.rows), found.unreadable) == (1, 1)


def test_half_a_surrogate_pair_is_text_like_any_other(tmp_path: Path) -> None:
    line = json.dumps({**SOUND, "prompt": "\ud800"})
    (tmp_path / "r").write_text(line + "\n")

    assert len(read_rows(tmp_path / "r").rows) == 1


def test_of_several_rows_for_one_attempt_the_last_counts(tmp_path: Path) -> None:
    [row] = rows_of(tmp_path / "r", SOUND, {**SOUND, "reward": 0.0, "outcome": "wrong"})

    assert row.reward == 0.0


@given(
    st.lists(
        st.fixed_dictionaries(
            {},
            optional={
                "problem_idx": st.integers(-1, 5) | st.text(max_size=2),
                "repeat": st.integers(-1, 2) | st.none(),
                "reward": st.floats() | st.integers() | st.none() | st.text(max_size=2),
                "outcome": st.sampled_from(["correct", "wrong", "unscored", "?"]) | st.none(),
                "problem_id": st.text(max_size=3) | st.integers(),
            },
        ).map(json.dumps)
        | st.text(max_size=8).map(lambda text: text.replace("\n", "").replace("\r", "")),
        max_size=150,
    )
)
def test_lines_are_read_together_as_they_are_one_by_one(
    tmp_path_factory: pytest.TempPathFactory, lines: list[str]
) -> None:
    folder = tmp_path_factory.mktemp("rows")
    (folder / "all").write_bytes("\n".join(lines).encode("utf-8", "surrogatepass"))
    alone = []
    for at, line in enumerate(lines):
        (folder / f"{at}").write_bytes(line.encode("utf-8", "surrogatepass"))
        alone.append(read_rows(folder / f"{at}"))

    together = read_rows(folder / "all")

    expected: dict[tuple[int, int], Row] = {}
    for found in alone:
        expected |= found.rows
    assert together.unreadable == sum(found.unreadable for found in alone)
    assert together.rows == expected


def test_what_was_asked_is_told_apart(tmp_path: Path) -> None:
    base, cand = (write_reference_run(tmp_path / name, [1.0, 0.0]) for name in ("base", "cand"))

    one, other = stored_run(base).side("mmlu"), stored_run(cand).side("mmlu")

    assert one.asked == other.asked
    assert len(set(one.asked.values())) == 2


def test_where_the_bundle_has_a_hash_of_its_questions_they_are_read_only_on_demand(
    tmp_path: Path,
) -> None:
    side = stored_run(write_run(tmp_path / "run", [1.0, 0.0])).side("mmlu")

    assert side.asked == {}
    assert len(side.questions) == 2
