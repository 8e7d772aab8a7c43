"""What must never be GO, whatever the scores say."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import ConfigError
from pytest_nel.gate.comparable import FIELDS, MUST_MATCH
from tests.support.stored import FINGERPRINT, write_reference_run, write_run
from tests.unit.gate.deciding import decided, finding_of, gate, policy_of, status_of

GOOD = [1.0] * 300 + [0.0] * 100
EASY = "max_drop: 0.9"  # equal runs would pass it even if a third were missing


def pair(folder: Path, base: Mapping[str, Any], cand: Mapping[str, Any]) -> tuple[Path, Path]:
    """(candidate, baseline) with the same good rewards."""
    return (
        write_run(folder / "cand", GOOD, **cand),
        write_run(folder / "base", GOOD, **base),
    )


def test_equal_whole_runs_are_go(tmp_path: Path) -> None:
    """So that what follows is not open for some other reason."""
    assert status_of(gate(tmp_path, GOOD, GOOD, EASY)) == ("PASS", "GO")


@pytest.mark.parametrize(
    "policy", ["version: 1\n", "version: 1\ndefaults:\n", "version: 1\ncorrection: holm\n"]
)
def test_a_policy_that_states_nothing(tmp_path: Path, policy: str) -> None:
    report = decided(policy, *pair(tmp_path, {}, {}))

    assert report.verdict == "INCONCLUSIVE"
    assert "states nothing" in report.reasons[0]


@pytest.mark.parametrize("empty", ["cand", "base"])
def test_an_empty_directory(tmp_path: Path, empty: str) -> None:
    runs = [tmp_path / name for name in ("cand", "base")]
    for run in runs:
        if run.name == empty:
            run.mkdir()
        else:
            write_run(run, GOOD)

    with pytest.raises(ConfigError, match=rf"{empty} holds no results"):
        decided(policy_of(EASY), runs[0], runs[1])


@pytest.mark.parametrize("side", ["base", "cand"])
@pytest.mark.parametrize(
    ("facts", "said"),
    [
        ({"n_planned": 401, "n_total": 401}, "400 of 401 planned attempts were made"),
        ({"n_planned": 400, "n_total": 401}, "measured 400 of 401 problems (max_problems)"),
        ({"shard": [0, 2]}, "it is shard 0/2 alone: join the shards by nel eval merge"),
        ({"n_made_again": 1}, "1 attempts were made again because of their outcome"),
    ],
)
def test_what_is_not_all_of_it(tmp_path: Path, side: str, facts: dict[str, int], said: str) -> None:
    sides: dict[str, dict[str, Any]] = {"base": {}, "cand": {}}
    sides[side] = {"bundle": facts}

    report = decided(policy_of(EASY), *pair(tmp_path, sides["base"], sides["cand"]))

    assert status_of(report) == ("INSUFFICIENT_EVIDENCE", "INCONCLUSIVE")
    reasons = [one.reason for one in report.rows[0].findings if one.rule == "complete"]
    assert len(reasons) == 1
    assert {"base": "the baseline", "cand": "the candidate"}[side] in reasons[0]
    assert said in reasons[0]


def test_a_subset_is_accepted_only_where_the_policy_says_so(tmp_path: Path) -> None:
    facts = {"bundle": {"n_planned": 400, "n_total": 1000}}

    report = decided(policy_of(f"{EASY}, subset: accept"), *pair(tmp_path, facts, facts))

    assert status_of(report) == ("PASS", "GO")


@pytest.mark.parametrize(
    "facts", [{"shard": [0, 2]}, {"n_planned": 401, "n_total": 401}, {"n_made_again": 3}]
)
def test_an_accepted_subset_accepts_nothing_else(tmp_path: Path, facts: dict[str, Any]) -> None:
    report = decided(policy_of(f"{EASY}, subset: accept"), *pair(tmp_path, {}, {"bundle": facts}))

    assert status_of(report) == ("INSUFFICIENT_EVIDENCE", "INCONCLUSIVE")


def test_without_a_baseline_neither(tmp_path: Path) -> None:
    cand = write_run(tmp_path / "cand", GOOD, bundle={"n_planned": 500, "n_total": 500})

    report = decided(policy_of("max_drop: null, min_score: 0.1"), cand)

    assert report.verdict == "INCONCLUSIVE"


def test_ten_of_a_thousand(tmp_path: Path) -> None:
    base = write_run(tmp_path / "base", [1.0] * 1000)
    facts = {"n_planned": 1000, "n_total": 1000}
    cand = write_run(tmp_path / "cand", [1.0] * 10, bundle=facts)

    report = decided(policy_of(EASY), cand, base)

    assert report.verdict == "INCONCLUSIVE"
    assert report.rows[0].n_paired == 10
    assert report.rows[0].n_missing == 990


def test_ten_of_a_thousand_of_the_reference_system(tmp_path: Path) -> None:
    base = write_reference_run(tmp_path / "base", [1.0] * 1000)
    cand = write_reference_run(tmp_path / "cand", [1.0] * 10)

    report = decided(policy_of(EASY), cand, base)

    found = finding_of(report, "max_drop")
    assert report.verdict == "INCONCLUSIVE"
    assert found.numbers["n_missing"] == 990
    assert found.numbers["damage_ci"][1] > 0.9
    assert found.numbers["damage_ci_best_case"][0] < 0.05


_OTHER: dict[str, Mapping[str, Any]] = {
    "dataset": {"rows_hash": "sha256:others"},
    "prompts": {"prompts": "sha256:others"},
    "scorer": {"pass_at": 0.5},
    "solver": {"answering": {**FINGERPRINT["answering"], "solver.type": "completion"}},
    "sampling": {"sampling": [{"temperature": 1.0}]},
    "interceptors": {"answering": {**FINGERPRINT["answering"], "service.interceptors": "x"}},
    "timeout": {},  # stands beside the fingerprint
    "sandbox": {"judged_in": {"type": "docker"}},
    "image": {"judged_in": {"type": "docker", "images": "sha256:others"}},
    "version": {"versions": {"pytest-nel": "9.9"}},
    "model": {"model": "another"},
}


def different(folder: Path, field: str) -> tuple[Path, Path]:
    if field == "repeats":
        base = write_run(folder / "base", [[one, one] for one in GOOD])
        return write_run(folder / "cand", GOOD), base
    if field == "timeout":
        inside = {"answering": {**FINGERPRINT["answering"], "sandbox.type": "docker"}}
        sides = [{"fingerprint": inside, "bundle": {"config": {"timeout": t}}} for t in (60, 600)]
        return pair(folder, *sides)
    of_boxes = {
        "sandbox": {"judged_in": {}},
        "image": {"judged_in": {"type": "docker", "images": "sha256:ours"}},
    }
    return pair(folder, {"fingerprint": of_boxes.get(field, {})}, {"fingerprint": _OTHER[field]})


def test_every_field_has_a_case() -> None:
    assert {*_OTHER, "repeats"} == set(FIELDS)


@pytest.mark.parametrize("field", MUST_MATCH)
def test_runs_that_differ_are_refused_and_the_field_is_named(tmp_path: Path, field: str) -> None:
    with pytest.raises(ConfigError) as caught:
        decided(policy_of(EASY), *different(tmp_path, field))

    first, line, last = str(caught.value).splitlines()
    assert first == "the runs are not comparable:"
    assert line.startswith(f"  mmlu: {field}: ")
    assert " in the baseline, " in line
    assert last == f"compare them nevertheless with --allow-different {field}"


@pytest.mark.parametrize("field", sorted(FIELDS))
def test_a_difference_that_is_allowed_is_recorded(tmp_path: Path, field: str) -> None:
    every = f"comparable: [{', '.join(FIELDS)}]\n"

    report = decided(policy_of(EASY, top=every), *different(tmp_path, field), allow=[field])

    assert report.verdict == "GO"
    assert report.allowed == [field]
    assert report.as_json()["allowed_differences"] == [field]


@pytest.mark.parametrize("field", ["version", "model"])
def test_versions_and_models_may_differ_unless_the_policy_compares_them(
    tmp_path: Path, field: str
) -> None:
    runs = different(tmp_path, field)

    assert decided(policy_of(EASY), *runs).verdict == "GO"
    with pytest.raises(ConfigError, match=f"mmlu: {field}: "):
        decided(policy_of(EASY, top=f"comparable: [{field}]\n"), *runs)


def test_a_benchmark_whose_name_has_a_colon_does_not_confuse_the_message(tmp_path: Path) -> None:
    base = write_run(tmp_path / "base", GOOD, name="a: b")
    cand = write_run(tmp_path / "cand", GOOD, name="a: b", fingerprint=_OTHER["prompts"])

    with pytest.raises(ConfigError, match=r"--allow-different prompts$"):
        decided("version: 1\ndefaults: {max_drop: 0.9}\n", cand, base)


def asked(folder: Path, name: str, questions: Sequence[str]) -> Path:
    run = write_reference_run(folder / name, [1.0] * len(questions))
    path = run / "mmlu" / "results.jsonl"
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    texts = zip(rows, questions, strict=True)
    path.write_text("".join(json.dumps(row | {"prompt": text}) + "\n" for row, text in texts))
    return run


QUESTIONS = [f"question {at}" for at in range(400)]


@pytest.mark.parametrize("ours", [False, True])
def test_questions_that_differ_row_by_row_are_refused(tmp_path: Path, *, ours: bool) -> None:
    """Bundles of the reference system have no hash of them; one of them is enough."""
    base = asked(tmp_path, "base", ["another", *QUESTIONS[1:]])
    cand = write_run(tmp_path / "cand", [1.0] * 400) if ours else asked(tmp_path, "c", QUESTIONS)

    with pytest.raises(ConfigError) as caught:
        decided(policy_of(EASY), cand, base)

    assert "  mmlu: prompts: 1 of 400 problems were asked otherwise" in str(caught.value)
    assert "--allow-different prompts" in str(caught.value)


def test_questions_that_may_differ_row_by_row_are_recorded(tmp_path: Path) -> None:
    base = asked(tmp_path, "base", ["another", *QUESTIONS[1:]])
    cand = asked(tmp_path, "cand", QUESTIONS)

    report = decided(policy_of(EASY), cand, base, allow=["prompts"])

    assert (report.verdict, report.allowed) == ("GO", ["prompts"])


def test_the_same_questions_of_either_system_are_comparable(tmp_path: Path) -> None:
    base = asked(tmp_path, "base", QUESTIONS)
    cand = write_run(tmp_path / "cand", [1.0] * 400)

    report = decided(policy_of(EASY), cand, base)

    assert report.verdict == "GO"
    assert any("not known on both sides" in text for text in report.warnings)


def damaged(folder: Path, side: str, damage: str) -> tuple[Path, Path]:
    cand, base = pair(folder, {}, {})
    path = (cand if side == "cand" else base) / "mmlu" / "results.jsonl"
    lines = path.read_text().splitlines(keepends=True)
    path.write_text(
        {
            "truncated": "".join(lines[:-1]),
            "torn": "".join(lines)[:-40],
            "garbage": "".join([*lines, "\x00\x01 no json\n"]),
            "twice": "".join([*lines[:-1], lines[0]]),
            "more": "".join([*lines, lines[0].replace('"problem_idx": 0', '"problem_idx": 999')]),
            "beyond": "".join([*lines[:-1], lines[0].replace('"repeat": 0', '"repeat": 5')]),
        }[damage]
    )
    return cand, base


@pytest.mark.parametrize("side", ["base", "cand"])
@pytest.mark.parametrize("damage", ["truncated", "torn", "garbage", "twice", "more", "beyond"])
def test_rows_that_do_not_fit_their_bundle(tmp_path: Path, side: str, damage: str) -> None:
    report = decided(policy_of(EASY), *damaged(tmp_path, side, damage))

    assert status_of(report) == ("INSUFFICIENT_EVIDENCE", "INCONCLUSIVE")
    assert "results.jsonl" in "".join(report.rows[0].reasons)


def test_rows_that_are_gone_leave_the_stored_scores(tmp_path: Path) -> None:
    cand, base = pair(tmp_path, {}, {})
    (cand / "mmlu" / "results.jsonl").unlink()

    report = decided(policy_of(EASY), cand, base)

    assert report.verdict == "INCONCLUSIVE"
    assert "No confidence interval available for required benchmark" in report.rows[0].reasons[0]


def test_stored_scores_with_gaps_decide_nothing(tmp_path: Path) -> None:
    interval = {"mean_reward": {"value": 0.9, "ci_lower": 0.89, "ci_upper": 0.91}}
    facts = {"benchmark": {"name": "mmlu", "repeats": 1, "samples": 400, "scores": interval}}
    cand = write_run(tmp_path / "cand", [*GOOD[:-1], None], bundle=facts)
    base = write_run(tmp_path / "base", GOOD, bundle=facts)
    for run in (cand, base):
        (run / "mmlu" / "results.jsonl").unlink()

    report = decided(policy_of(f"{EASY}, min_score: 0.1"), cand, base)

    assert report.verdict == "INCONCLUSIVE"
    assert {one.rule: one.status for one in report.rows[0].findings} == {
        "max_drop": "INSUFFICIENT_EVIDENCE",
        "min_score": "INSUFFICIENT_EVIDENCE",
    }


def test_limits_that_need_rows_are_not_dropped_without_them(tmp_path: Path) -> None:
    interval = {"mean_reward": {"value": 0.9, "ci_lower": 0.89, "ci_upper": 0.91}}
    runs = [
        write_reference_run(tmp_path / name, [1.0] * 400, rows=False, scores=interval)
        for name in ("cand", "base")
    ]
    limits = f"{EASY}, max_relative_drop: 0.9, per_category: {{law: {{max_drop: 0.9}}}}"

    report = decided(policy_of(limits), runs[0], runs[1])

    open_ones = [one.rule for one in report.rows[0].findings if one.status != "PASS"]
    assert report.verdict == "INCONCLUSIVE"
    assert open_ones == ["max_relative_drop", "per_category.law.max_drop"]


def test_a_bundle_that_is_older_than_its_records_is_refused(tmp_path: Path) -> None:
    cand, base = pair(tmp_path, {}, {"bundle": {"turns": 1}})
    plan = {"benchmark": "mmlu", "problems": [0], "repeats": 1, "config": {}, "fingerprint": {}}
    (cand / "mmlu" / "plan.json").write_text(json.dumps(plan | {"turn": 2}))

    with pytest.raises(ConfigError, match="older than the records beside it: nel eval report"):
        decided(policy_of(EASY), cand, base)


def test_of_two_bundles_in_a_folder_the_newest_counts_and_that_is_said(tmp_path: Path) -> None:
    cand, base = pair(tmp_path, {}, {"bundle": {"timestamp": "2026-01-02"}})
    old = json.loads(next(cand.glob("mmlu/eval-*.json")).read_text())
    old |= {"timestamp": "2026-01-01", "n_results": 3}
    (cand / "mmlu" / "eval-zzz.json").write_text(json.dumps(old))

    report = decided(policy_of(EASY), cand, base)

    assert report.verdict == "GO"
    assert any("holds 2 bundles: the newest counts" in text for text in report.warnings)


def test_a_required_benchmark_that_is_missing_is_no_go(tmp_path: Path) -> None:
    policy = policy_of(EASY) + "  gsm8k: {metric: mean_reward}\n"

    report = decided(policy, *pair(tmp_path, {}, {}))

    assert report.verdict == "NO-GO"
    assert report.reasons == ["MISSING: gsm8k [supporting]"]
    assert report.as_json()["missing"] == ["gsm8k"]


@pytest.mark.parametrize("there", ["base", "cand"])
def test_a_benchmark_on_one_side_alone(tmp_path: Path, there: str) -> None:
    """With no list in the policy, the baseline says what there should be."""
    cand, base = pair(tmp_path, {}, {})
    write_run(base if there == "base" else cand, GOOD, name="extra")

    report = decided("version: 1\ndefaults: {max_drop: 0.9}\n", cand, base)

    if there == "base":
        assert status_of(report, "extra") == ("INSUFFICIENT_EVIDENCE", "INCONCLUSIVE")
    else:
        assert report.verdict == "GO"
        assert "'extra' is only in the candidate" in report.warnings[0]


def test_unlisted_benchmarks_of_both_sides_gate_by_the_defaults(tmp_path: Path) -> None:
    cand, base = pair(tmp_path, {}, {})
    write_run(base, [1.0] * 400, name="extra")
    write_run(cand, [0.0] * 400, name="extra")

    report = decided(policy_of(EASY), cand, base)

    assert status_of(report, "extra") == ("BREACH", "NO-GO")


def test_no_limit_at_all_passes_nothing(tmp_path: Path) -> None:
    report = decided(policy_of("max_drop: null"), *pair(tmp_path, {}, {}))

    assert report.verdict == "INCONCLUSIVE"
    assert "no rule of the policy applies" in report.rows[0].reasons[0]


def test_a_policy_about_drops_needs_a_baseline(tmp_path: Path) -> None:
    cand = write_run(tmp_path / "cand", GOOD)

    with pytest.raises(ConfigError, match=r"policy\.yaml:3: mmlu: max_drop needs a baseline"):
        decided(policy_of(EASY), cand)


def test_an_advisory_metric_that_cannot_be_paired_is_open(tmp_path: Path) -> None:
    policy = "version: 1\nbenchmarks:\n  mmlu: {tier: advisory, metric: bleu, max_drop: 0.1}\n"

    report = decided(policy, *pair(tmp_path, {}, {}))

    assert status_of(report)[0] == "INSUFFICIENT_EVIDENCE"
    assert "Metric 'bleu' is not supported for paired gating" in report.rows[0].reasons[0]
