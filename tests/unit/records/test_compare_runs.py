"""Runs on the disk compared: which path names what, whose bundles, and nothing is written."""

import json
import shutil
from pathlib import Path
from typing import Any

import pytest

from pytest_nel import ConfigError, compare_runs
from tests.support.stored import write_reference_run, write_run

LOST = [1.0] * 180 + [0.0] * 20


def contents(directory: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(directory)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in directory.rglob("*")
        if path.is_file()
    }


def test_two_runs_of_ours(tmp_path: Path) -> None:
    baseline = write_run(tmp_path / "bf16", [1.0] * 200)
    candidate = write_run(tmp_path / "fp8", LOST)

    report = compare_runs(baseline, candidate)

    said = report.as_json()
    assert (report.verdict, said["verdict"], said["report_version"]) == ("BLOCK", "BLOCK", 1)
    assert (said["baseline"]["run_id"], said["candidate"]["run_id"]) == ("bf16", "fp8")
    assert said["threshold"] == 0.05
    assert len(said["flip_report"]["regressions"]) == 20
    assert said["flip_report"]["regressions"][0]["baseline_response"] == "answer 1.0"
    assert said["flip_report"]["regressions"][0]["expected_answer"] == "x"


def test_comparing_writes_nothing(tmp_path: Path) -> None:
    """The reference system leaves a report in the candidate's directory."""
    baseline = write_run(tmp_path / "a", [1.0] * 200)
    candidate = write_run(tmp_path / "b", LOST)
    before = contents(tmp_path)

    compare_runs(baseline, candidate)

    assert contents(tmp_path) == before


def test_a_bundle_or_its_directory_names_one_benchmark(tmp_path: Path) -> None:
    for run in ("a", "b"):
        write_run(tmp_path / run, [1.0] * 100, name="mmlu")
        write_run(tmp_path / run, [1.0] * 100, name="gpqa")
    (bundle,) = (tmp_path / "a" / "gpqa").glob("eval-*.json")

    by_file = compare_runs(bundle, tmp_path / "b")
    by_folder = compare_runs(tmp_path / "a", tmp_path / "b" / "gpqa")

    assert [one.name for one in by_file.benchmarks] == ["gpqa"]
    assert (by_file.verdict, by_file.only_in_candidate) == ("PASS", ["mmlu"])
    assert [one.name for one in by_folder.benchmarks] == ["gpqa"]
    assert (by_folder.verdict, by_folder.only_in_baseline) == ("PASS", ["mmlu"])


def test_of_several_benchmarks_the_worst_decides(tmp_path: Path) -> None:
    for run, rewards in (("a", [1.0] * 200), ("b", LOST)):
        write_run(tmp_path / run, [1.0] * 200, name="fine")
        write_run(tmp_path / run, rewards, name="broken")

    report = compare_runs(tmp_path / "a", tmp_path / "b")

    said = report.as_json()
    assert {one["benchmark"]: one["verdict"] for one in said["benchmarks"]} == {
        "broken": "BLOCK",
        "fine": "PASS",
    }
    assert said["verdict"] == "BLOCK"
    assert said["verdict_reasons"][0].startswith("broken: ")
    assert "p_value_adjusted" in said["benchmarks"][0]["mcnemar"]


def test_a_benchmark_that_the_candidate_lacks_is_listed_and_never_a_pass(tmp_path: Path) -> None:
    for name in ("mmlu", "gpqa"):
        write_run(tmp_path / "a", [1.0] * 100, name=name)
    for name in ("mmlu", "extra"):
        write_run(tmp_path / "b", [1.0] * 100, name=name)

    report = compare_runs(tmp_path / "a", tmp_path / "b")

    assert report.benchmarks[0].verdict == "PASS"
    assert report.verdict == "INCONCLUSIVE"
    assert report.reasons == ["not measured in the candidate: gpqa"]
    assert report.as_json()["unmatched_benchmarks"] == {
        "only_in_baseline": ["gpqa"],
        "only_in_candidate": ["extra"],
    }


@pytest.mark.parametrize("other", ["run", "latest", "run/mmlu", "latest/mmlu/eval.json"])
def test_a_run_is_not_compared_with_itself(tmp_path: Path, other: str) -> None:
    run = write_run(tmp_path / "run", [1.0] * 200)
    (bundle,) = (run / "mmlu").glob("eval-*.json")
    (tmp_path / "latest").symlink_to("run")
    named = tmp_path / other.replace("eval.json", bundle.name)

    with pytest.raises(ConfigError, match=r"baseline and candidate are the same run: .*name two"):
        compare_runs(run, named)


def test_a_run_is_not_compared_with_a_copy_of_itself(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1.0] * 200)
    shutil.copytree(run, tmp_path / "copy")

    with pytest.raises(ConfigError, match=r"has the run_id run and the results of .*a copy"):
        compare_runs(run, tmp_path / "copy")


def test_a_copy_that_was_judged_anew_is_compared(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1.0] * 200)
    anew = write_run(tmp_path / "anew", LOST, bundle={"run_id": "run"})

    assert compare_runs(run, anew).verdict == "BLOCK"


def test_shards_never_pass(tmp_path: Path) -> None:
    shard: dict[str, Any] = {"shard": [0, 2], "n_total": 400}
    runs = [write_run(tmp_path / name, [1.0] * 200, bundle=shard) for name in ("a", "b")]

    report = compare_runs(*runs)

    said = report.as_json()
    assert report.verdict == "INCONCLUSIVE"
    assert report.reasons[0] == (
        "not the whole: the baseline is shard 0/2 and the candidate is shard 0/2 of a run: join "
        "the shards by nel eval merge"
    )
    assert said["warnings"] == [
        f"{side}: it is shard 0/2 alone: join the shards by nel eval merge"
        for side in ("baseline", "candidate")
    ]


def test_a_shard_that_is_worse_is_worse(tmp_path: Path) -> None:
    baseline = write_run(tmp_path / "a", [1.0] * 200)
    shard = write_run(tmp_path / "b", LOST, bundle={"shard": [0, 2], "n_total": 400})

    assert compare_runs(baseline, shard).verdict == "BLOCK"


def test_what_is_wrong_with_rows_is_said_once(tmp_path: Path) -> None:
    baseline = write_run(tmp_path / "a", [1.0] * 200)
    candidate = write_run(tmp_path / "b", [1.0] * 200)
    with (candidate / "mmlu" / "results.jsonl").open("a") as file:
        file.write("{")

    warnings = compare_runs(baseline, candidate).as_json()["warnings"]

    assert [text for text in warnings if "lines cannot be read" in text] == warnings
    assert len(warnings) == 1


def test_rows_that_do_not_fit_their_bundle_never_pass(tmp_path: Path) -> None:
    baseline = write_run(tmp_path / "a", [1.0] * 200)
    candidate = write_run(tmp_path / "b", [1.0] * 200)
    whole = compare_runs(baseline, candidate)
    rows = candidate / "mmlu" / "results.jsonl"
    rows.write_text("".join(rows.read_text().splitlines(keepends=True)[:199]) + "{")

    cut = compare_runs(baseline, candidate)

    assert (whole.verdict, cut.verdict) == ("PASS", "INCONCLUSIVE")
    assert "lines cannot be read" in cut.reasons[0]


def test_runs_without_a_common_benchmark_are_refused(tmp_path: Path) -> None:
    for name in ("a1", "a2"):
        write_run(tmp_path / "a", [1.0], name=name)
    write_run(tmp_path / "b", [1.0], name="b1")

    with pytest.raises(ConfigError, match=r"no benchmark is in both runs: .* has a1 and 1 more"):
        compare_runs(tmp_path / "a", tmp_path / "b")


def test_another_name_must_be_allowed(tmp_path: Path) -> None:
    baseline = write_run(tmp_path / "a", [1.0] * 100, name="old")
    candidate = write_run(tmp_path / "b", [1.0] * 100, name="new")

    with pytest.raises(ConfigError, match="--allow-different benchmark"):
        compare_runs(baseline, candidate)
    report = compare_runs(baseline, candidate, allow_different=["benchmark"])

    assert report.verdict == "PASS"
    assert any("Benchmark mismatch" in text for text in report.benchmarks[0].measured.warnings)
    assert report.as_json()["allowed_differences"] == ["benchmark"]


def test_runs_that_measured_something_else_are_refused_and_the_difference_named(
    tmp_path: Path,
) -> None:
    baseline = write_run(tmp_path / "a", [1.0] * 100)
    sampling = {"sampling": [{"temperature": 1.0}]}
    candidate = write_run(tmp_path / "b", [1.0] * 100, fingerprint=sampling)

    with pytest.raises(
        ConfigError, match=r"temperature 0\.0 in the baseline, 1\.0 in the candidate"
    ):
        compare_runs(baseline, candidate)
    report = compare_runs(baseline, candidate, allow_different=["sampling"])

    assert report.verdict == "PASS"
    assert report.as_json()["allowed_differences"] == ["sampling"]


def test_a_baseline_of_the_reference_system_and_a_candidate_of_ours(tmp_path: Path) -> None:
    baseline = write_reference_run(tmp_path / "theirs", [1.0] * 200)
    candidate = write_run(tmp_path / "ours", LOST)

    report = compare_runs(baseline, candidate)

    said = report.as_json()
    assert said["verdict"] == "BLOCK"
    assert said["flip_report"]["summary"]["n_regressions"] == 20
    assert said["flip_report"]["regressions"][0]["problem_id"] == "p180"
    assert said["score_deltas"]["mean_reward"]["candidate"] == 0.9
    assert any("not compared: dataset" in text for text in said["warnings"])


def test_what_failed_in_the_reference_system_is_no_wrong_answer(tmp_path: Path) -> None:
    """There it has reward 0: infrastructure, system errors, and judges that failed."""
    failed: dict[int, dict[str, Any]] = {
        0: {"error_category": "infra_error"},
        1: {"error_category": "system"},
        2: {"judge": {"error": "TimeoutError: ", "total": None}},
    }
    baseline = write_reference_run(tmp_path / "a", [1.0] * 1000)
    candidate = write_reference_run(tmp_path / "b", [0.0] * 3 + [1.0] * 997, details=failed)

    said = compare_runs(baseline, candidate).as_json()

    assert said["flip_report"]["summary"]["n_regressions"] == 0
    assert said["difference"]["value"] == 0.0
    assert said["score_deltas"]["pass@1"]["candidate"] == 1.0
    assert said["missing"]["candidate"]["n_unscored"] == 3
    assert said["verdict"] == "PASS"


def test_the_model_s_own_failures_stay_wrong(tmp_path: Path) -> None:
    own = {at: {"error_category": "turn_budget_exhausted"} for at in range(300)}
    baseline = write_reference_run(tmp_path / "a", [1.0] * 1000)
    candidate = write_reference_run(tmp_path / "b", [0.0] * 300 + [1.0] * 700, details=own)

    assert compare_runs(baseline, candidate).verdict == "BLOCK"


def test_questions_asked_otherwise_are_refused_where_only_the_rows_say_so(tmp_path: Path) -> None:
    baseline = write_reference_run(tmp_path / "a", [1.0] * 100)
    candidate = write_reference_run(tmp_path / "b", [1.0] * 100)
    results = candidate / "mmlu" / "results.jsonl"
    results.write_text(results.read_text().replace('"question 7"', '"another"'))

    with pytest.raises(ConfigError, match="1 of 100 problems were asked otherwise"):
        compare_runs(baseline, candidate)

    assert compare_runs(baseline, candidate, allow_different=["prompts"]).verdict == "PASS"


def test_flips_that_expect_other_answers_are_doubted(tmp_path: Path) -> None:
    baseline = write_run(tmp_path / "a", [1.0] * 100)
    candidate = write_run(tmp_path / "b", [0.0] + [1.0] * 99, row={"expected_answer": "y"})

    report = compare_runs(baseline, candidate)

    warnings = report.benchmarks[0].measured.warnings
    assert any("may not be the same problems" in text for text in warnings)


def test_without_rows_there_are_score_deltas_and_no_verdict(tmp_path: Path) -> None:
    baseline = write_reference_run(tmp_path / "a", [1.0] * 100)
    candidate = write_reference_run(tmp_path / "b", [1.0] * 100, rows=False)

    report = compare_runs(baseline, candidate)

    said = report.as_json()
    assert said["verdict"] == "INCONCLUSIVE"
    assert said["score_deltas"]["pass@1"]["delta"] == 0.0
    assert any(text.startswith("candidate: ") for text in said["warnings"])


def test_empty_results_are_said_to_be_empty(tmp_path: Path) -> None:
    baseline = write_reference_run(tmp_path / "a", [1.0] * 100)
    candidate = write_reference_run(tmp_path / "b", [1.0] * 100)
    (candidate / "mmlu" / "results.jsonl").write_text("")

    report = compare_runs(baseline, candidate)

    assert report.verdict == "INCONCLUSIVE"
    assert any("candidate: " in text for text in report.benchmarks[0].measured.warnings)


def test_an_older_bundle_beside_newer_rows_is_refused(tmp_path: Path) -> None:
    baseline = write_reference_run(tmp_path / "a", [1.0] * 20)
    (newer,) = (baseline / "mmlu").glob("eval-*.json")
    older = newer.with_name("eval-20250101T000000Z-mmlu.json")
    older.write_text(json.dumps(json.loads(newer.read_text()) | {"timestamp": ""}))

    with pytest.raises(ConfigError, match="beside it is of eval-2026"):
        compare_runs(older, baseline)


@pytest.mark.parametrize("name", ["nowhere", "empty", "notes.txt"])
def test_what_is_no_run_is_refused(tmp_path: Path, name: str) -> None:
    run = write_run(tmp_path / "run", [1.0])
    (tmp_path / "empty").mkdir()
    (tmp_path / "notes.txt").write_text("{}")

    with pytest.raises(ConfigError):
        compare_runs(run, tmp_path / name)


def test_an_unknown_field_is_refused(tmp_path: Path) -> None:
    run = write_run(tmp_path / "run", [1.0])

    with pytest.raises(ConfigError, match="no such field: weather; known: benchmark, dataset"):
        compare_runs(run, run, allow_different=["weather"])


def test_many_flips_keep_whole_answers_of_the_first_alone(tmp_path: Path) -> None:
    long = {"model_response": "x" * 10_000}
    baseline = write_run(tmp_path / "a", [1.0] * 300, row=long)
    candidate = write_run(tmp_path / "b", [0.0] * 300, row=long)

    flips = compare_runs(baseline, candidate).benchmarks[0].measured.flips.regressions

    lengths = [len(flip.responses[1]) for flip in flips]
    assert len(flips) == 300
    assert all(4000 <= length < 4100 for length in lengths[:100])
    assert all(length < 500 for length in lengths[100:])
