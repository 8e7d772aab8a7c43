"""Files and bundle of a run, recomputed here from results.jsonl by other means."""

import itertools
import json
import math
import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.core.errors import NelError
from pytest_nel.core.types import AttemptKey, Outcome
from pytest_nel.records.claims import claim
from pytest_nel.records.files import Derived, derive
from pytest_nel.records.journal import JournalWriter
from pytest_nel.records.plans import write_plan
from pytest_nel.records.record import Scored, Solved

RUN = {"run_id": "r1", "timestamp": "2026-01-02T03:04:05Z", "sdk_version": "0", "complete": True}


def plan(problems: list[int], repeats: int) -> dict[str, Any]:
    return {
        "benchmark": "b",
        "problems": problems,
        "repeats": repeats,
        "config": {"name": "b", "repeats": repeats},
        "fingerprint": {"dataset": "d"},
    }


@st.composite
def records(draw: st.DrawFn) -> tuple[list[int], int, list[tuple[Solved, Scored]]]:
    problems = draw(st.permutations(range(draw(st.integers(1, 6)))))
    repeats = draw(st.integers(1, 4))
    binary = draw(st.booleans())
    made = [
        record(draw, AttemptKey("b", problem, repeat), binary=binary)
        for problem, repeat in itertools.product(problems, range(repeats))
        if draw(st.integers(0, 9))  # some attempts are missing
    ]
    return list(problems), repeats, made


def record(draw: st.DrawFn, key: AttemptKey, *, binary: bool) -> tuple[Solved, Scored]:
    outcome: Outcome = draw(st.sampled_from(["correct", "wrong", "unparsed", "unscored"]))
    usage = draw(st.sampled_from([None, (3, 4), (0, 0), (100, 1)]))
    model: dict[str, Any] = {
        "model": "m",
        "latency_ms": draw(st.integers(1, 5000)) / 10,
        "finish_reason": draw(st.sampled_from(["stop", "length", None])),
        "requests": draw(st.integers(1, 3)),
        "prompt_tokens": usage and usage[0],
        "completion_tokens": usage and usage[1],
    }
    extracted = draw(st.sampled_from(["a", "b", "the a"])) if outcome != "unparsed" else None
    failed = outcome == "unscored" and draw(st.booleans())
    solved = Solved(
        key,
        f"p{key.problem_idx}",
        prompt="q",
        expected="a",
        metadata={"category": draw(st.sampled_from(["x", "y", ""]))},
        response="" if failed else draw(st.sampled_from(["a", "", "wrong"])),
        model=None if failed else model,
        sampling={"temperature": 0.5},
        failure="server_error" if failed else None,
        error="HTTP 500" if failed else None,
        started=1000.0 + key.problem_idx,
        solve_ms=500.0,
    )
    wrong = 0.0 if binary or outcome == "unparsed" else draw(st.sampled_from([0.0, 0.25, 0.5]))
    reward = {"correct": 1.0, "unscored": None}.get(outcome, wrong)
    why = ("server_error" if failed else "scorer_error") if reward is None else None
    return solved, Scored(outcome, reward, extracted, failure=why, error=why)


def keep(folder: Path, made: list[tuple[Solved, Scored]], writers: int = 1) -> None:
    journals = [JournalWriter(folder / "journal" / f"gw{n}.jsonl", {}) for n in range(writers)]
    for number, (solved, scored) in enumerate(made):
        journal = journals[number % writers]
        journal.started(solved.key)
        journal.solved(solved)
        journal.scored(solved.key, scored)
    for journal in journals:
        journal.close()


def derived(
    folder: Path, given_records: tuple[list[int], int, list[tuple[Solved, Scored]]]
) -> tuple[Derived, list[dict[str, Any]]]:
    problems, repeats, made = given_records
    write_plan(folder, plan(problems, repeats))
    keep(folder, made)
    found = derive(folder, RUN)
    text = (folder / "results.jsonl").read_text(encoding="utf-8")
    return found, [json.loads(line) for line in text.splitlines()]


@settings(max_examples=60)
@given(records())
def test_every_number_of_the_bundle_follows_from_the_results(
    tmp_path_factory: pytest.TempPathFactory,
    made: tuple[list[int], int, list[tuple[Solved, Scored]]],
) -> None:
    found, rows = derived(tmp_path_factory.mktemp("run"), made)

    bundle = found.bundle
    outcomes = Counter(row["outcome"] for row in rows)
    scored = [row for row in rows if row["reward"] is not None]
    assert bundle["n_attempted"] == bundle["n_results"] == len(rows) == len(made[2])
    assert bundle["n_planned"] == len(made[0]) * made[1]
    assert found.missing == bundle["n_planned"] - len(rows)
    assert bundle["n_scored"] == len(scored) == len(rows) - outcomes["unscored"]
    for name in ("correct", "wrong", "unparsed", "unscored"):
        assert bundle[f"n_{name}"] == outcomes[name]
    assert bundle["n_truncated"] == sum(row["finish_reason"] == "length" for row in scored)
    assert bundle["n_empty"] == sum(not row["model_response"].strip() for row in scored)


@settings(max_examples=60)
@given(records())
def test_missing_rewards_are_in_no_score(
    tmp_path_factory: pytest.TempPathFactory,
    made: tuple[list[int], int, list[tuple[Solved, Scored]]],
) -> None:
    found, rows = derived(tmp_path_factory.mktemp("run"), made)

    scores = found.bundle["benchmark"]["scores"]
    groups = [
        [
            row["reward"]
            for row in rows
            if row["problem_idx"] == problem and row["reward"] is not None
        ]
        for problem in made[0]
    ]
    groups = [group for group in groups if group]
    flat = [reward for group in groups for reward in group]
    mean = scores["mean_reward"]["value"]
    assert (
        scores["mean_reward"]["n_problems"] == len(groups) == found.bundle["benchmark"]["samples"]
    )
    assert scores["summary"]["n"] == len(flat)
    if not groups:
        assert mean is None
        return
    assert mean == pytest.approx(np.mean([np.mean(group) for group in groups]), abs=1e-6)
    assert scores["mean_reward"]["ci_lower"] <= mean <= scores["mean_reward"]["ci_upper"]
    assert scores["summary"]["mean"] == pytest.approx(np.mean(flat))
    assert scores["summary"]["median"] == pytest.approx(np.median(flat))


@settings(max_examples=60)
@given(records())
def test_pass_at_k_is_the_share_of_drawn_groups_with_a_right_answer(
    tmp_path_factory: pytest.TempPathFactory,
    made: tuple[list[int], int, list[tuple[Solved, Scored]]],
) -> None:
    found, rows = derived(tmp_path_factory.mktemp("run"), made)

    scores = found.bundle["benchmark"]["scores"]
    names = {name for name in scores if name.startswith("pass")}
    for k in {1, made[1], *(2 for _ in range(made[1] > 2))}:
        shares, alls = [], []
        for problem in made[0]:
            group = [
                row["outcome"] == "correct"
                for row in rows
                if row["problem_idx"] == problem and row["reward"] is not None
            ]
            drawn = list(itertools.combinations(group, k))
            if drawn:
                shares.append(sum(map(any, drawn)) / len(drawn))
                alls.append(sum(map(all, drawn)) / len(drawn))
        assert (f"pass@{k}" in names) == bool(shares)
        if shares:
            assert scores[f"pass@{k}"]["value"] == pytest.approx(np.mean(shares), abs=1e-6)
            assert scores[f"pass@{k}"]["n_problems"] == len(shares)
        if shares and k > 1:
            assert scores[f"pass^{k}"]["value"] == pytest.approx(np.mean(alls), abs=1e-6)
        names -= {f"pass@{k}", f"pass^{k}"}
    assert {name for name in names if name[5:] != "4"} == set()


@settings(max_examples=60)
@given(records())
def test_times_tokens_and_retries_are_those_of_the_replies(
    tmp_path_factory: pytest.TempPathFactory,
    made: tuple[list[int], int, list[tuple[Solved, Scored]]],
) -> None:
    found, rows = derived(tmp_path_factory.mktemp("run"), made)

    runtime = found.bundle["benchmark"]["scores"]["runtime"]
    stored = json.loads((found.directory / "runtime_stats.json").read_text())
    latencies = [row["latency_ms"] for row in rows if row["latency_ms"] is not None]
    models = [solved.model for solved, _ in made[2] if solved.model is not None]
    assert runtime == stored
    for q, value in runtime["latency_percentiles_ms"].items():
        assert value == pytest.approx(np.percentile(latencies, int(q[1:])), abs=0.00501)
    assert bool(latencies) == bool(runtime["latency_percentiles_ms"])
    totals = [row["tokens"] for row in rows if row["tokens"] is not None]
    for q, value in runtime["token_percentiles"]["total"].items():
        assert value == pytest.approx(np.percentile(totals, int(q[1:])), abs=0.00501)
    assert runtime["total_steps"] == len(rows)
    assert runtime["total_tokens"] == sum(row["tokens"] or 0 for row in rows)
    assert runtime["steps_without_usage"] == sum(m["prompt_tokens"] is None for m in models)
    assert runtime["total_retries"] == sum(m["requests"] - 1 for m in models)
    assert runtime["model_errors"] == sum(solved.failure is not None for solved, _ in made[2])
    assert sum(runtime["finish_reason_counts"].values()) == len(models)
    if rows:
        halves = {half for solved, _ in made[2] for half in (solved.started, solved.started + 0.25)}
        assert runtime["elapsed_seconds"] == pytest.approx(0.25 * len(halves))


@settings(max_examples=60)
@given(records())
def test_categories_and_failures_are_counted_on_what_they_name(
    tmp_path_factory: pytest.TempPathFactory,
    made: tuple[list[int], int, list[tuple[Solved, Scored]]],
) -> None:
    found, rows = derived(tmp_path_factory.mktemp("run"), made)

    expected = {}
    scored = [row for row in rows if row["reward"] is not None]
    named = any(row["metadata"].get("category") for row in scored)
    for name in ("", "x", "y") if named else ():
        groups: dict[int, list[float]] = {}
        for row in scored:
            if row["metadata"].get("category") == name:
                groups.setdefault(row["problem_idx"], []).append(row["reward"])
        if groups:
            mean = np.mean([np.mean(rewards) for rewards in groups.values()])
            count = sum(len(rewards) for rewards in groups.values())
            expected[name or "unknown"] = (pytest.approx(mean, abs=1e-6), count, len(groups))
    shown = {
        name: (facts["mean_reward"], facts["n"], facts["n_problems"])
        for name, facts in found.bundle["benchmark"].get("categories", {}).items()
    }
    failures = found.bundle["benchmark"]["scores"]["failures"]
    kinds = Counter(row["failure_category"] for row in rows if "failure_category" in row)
    unparsed = sum(row["outcome"] == "unparsed" and row["model_response"] != "" for row in rows)
    kinds += Counter(format_error=unparsed)
    assert shown == expected
    assert {kind: facts["count"] for kind, facts in failures["categories"].items()} == kinds
    assert all(len(facts["exemplars"]) <= 3 for facts in failures["categories"].values())
    assert (found.directory / "failure_analysis.json").exists() == bool(kinds)
    assert failures["total_failures"] == sum(kinds.values())


def example(seed: int = 1) -> tuple[list[int], int, list[tuple[Solved, Scored]]]:
    draws = random.Random(seed)
    made = []
    for idx, repeat in itertools.product(range(20), range(2)):
        reward = draws.choice([0.0, 1.0, None])
        outcome: Outcome = "unscored" if reward is None else "correct" if reward else "wrong"
        key = AttemptKey("b", idx, repeat)
        made.append((Solved(key, f"p{idx}", response="é"), Scored(outcome, reward)))
    return list(range(20)), 2, made


def contents(folder: Path) -> dict[str, bytes]:
    return {path.name: path.read_bytes() for path in folder.iterdir() if path.is_file()}


def test_deriving_again_gives_the_same_bytes(tmp_path: Path) -> None:
    derived(tmp_path, example())
    first = contents(tmp_path)

    derive(tmp_path, RUN)

    assert contents(tmp_path) == first


def test_who_solved_what_and_in_which_order_makes_no_difference(tmp_path: Path) -> None:
    problems, repeats, made = example()
    derived(tmp_path / "one", (problems, repeats, made))
    write_plan(tmp_path / "three", plan(problems, repeats))
    random.Random(5).shuffle(made)
    keep(tmp_path / "three", made, writers=3)

    derive(tmp_path / "three", RUN)

    assert contents(tmp_path / "three") == contents(tmp_path / "one")


def test_there_is_one_bundle_however_often_it_is_derived(tmp_path: Path) -> None:
    derived(tmp_path, example())

    derive(tmp_path, RUN | {"timestamp": "2027-01-01T00:00:00Z"})

    assert [path.name for path in tmp_path.glob("eval-*")] == ["eval-20270101T000000Z-b.json"]


def test_a_failure_that_was_cured_leaves_no_analysis_behind(tmp_path: Path) -> None:
    key = AttemptKey("b", 0, 0)
    failed = (
        Solved(key, "p0", failure="infra_error"),
        Scored("unscored", None, failure="infra_error"),
    )
    derived(tmp_path, ([0], 1, [failed]))
    existed = (tmp_path / "failure_analysis.json").exists()
    keep(tmp_path, [(Solved(key, "p0", response="a"), Scored("correct", 1.0))])

    derive(tmp_path, RUN)

    assert existed
    assert not (tmp_path / "failure_analysis.json").exists()


def test_the_bundle_has_the_keys_of_the_reference_system(tmp_path: Path) -> None:
    found, _ = derived(tmp_path, example())

    bundle = found.bundle
    assert {"run_id", "config_hash", "sdk_version", "timestamp", "config", "benchmark"} <= set(
        bundle
    )
    assert {"n_results", "n_scored", "n_unparsed", "fingerprint"} <= set(bundle)
    assert {"name", "samples", "repeats", "scores"} <= set(bundle["benchmark"])
    scores = bundle["benchmark"]["scores"]
    assert {"mean_reward", "pass@1", "pass@2", "summary", "runtime", "failures"} <= set(scores)
    assert bundle["config_hash"].startswith("sha256:")
    assert not [name for name in bundle if name.startswith("_")]


def test_processes_of_one_turn_may_claim_the_same_plan_but_no_other(tmp_path: Path) -> None:
    claim(tmp_path, plan([0, 1], 1) | {"turn": 1}, afresh=True)
    claim(tmp_path, plan([0, 1], 1) | {"turn": 1}, afresh=True)

    with pytest.raises(NelError, match="loaded different data"):
        claim(tmp_path, plan([1, 0], 1) | {"turn": 1}, afresh=True)

    assert [path.name for path in tmp_path.iterdir()] == ["plan.json"]


def test_a_run_without_any_attempt_has_a_bundle_too(tmp_path: Path) -> None:
    found, rows = derived(tmp_path, ([0, 1], 1, []))

    assert rows == []
    assert found.bundle["benchmark"]["scores"]["mean_reward"]["value"] is None
    assert (found.bundle["n_attempted"], found.missing) == (0, 2)
    assert not any(
        math.isnan(value) for value in found.bundle["benchmark"]["scores"]["summary"].values()
    )
