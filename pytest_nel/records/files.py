"""The files of a benchmark's directory, derived from its journals in one streaming pass."""

import hashlib
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_nel.core.keys import safe_name
from pytest_nel.core.types import JsonObject
from pytest_nel.records.bundle import bundle
from pytest_nel.records.failing import failure_of
from pytest_nel.records.index import index_journals
from pytest_nel.records.plans import read_plan
from pytest_nel.records.record import dumps, retries, total_tokens
from pytest_nel.records.tally import Tally
from pytest_nel.records.whole import whole, whole_json


@dataclass(frozen=True, slots=True)
class Derived:
    """What :func:`derive` made of a benchmark's journals.

    Attributes:
        directory: The benchmark's directory.
        bundle: The object of its eval-*.json.
        plan: The object of its plan.json.
        problems: Journal lines that could not be read.
        missing: Planned attempts without a judgement.
    """

    directory: Path
    bundle: JsonObject
    plan: JsonObject
    problems: list[str]
    missing: int


def derive(directory: Path, run: Mapping[str, Any]) -> Derived:
    """Read the journals, write results, trajectories, statistics and the bundle.

    Every file is written beside its place and moved there whole, in the plan's order, so the
    same records give the same bytes whoever solved them.

    Args:
        directory: The benchmark's.
        run: Facts of the run: run_id, timestamp, turns, sdk_version, complete; where they do not
            say whether it is complete, it is when every planned attempt has a judgement.
    """
    plan = read_plan(directory)
    index = index_journals(directory / "journal")
    tally = Tally.of(plan["repeats"])
    with ExitStack() as stack:
        results = stack.enter_context(whole(directory / "results.jsonl"))
        trajectories = stack.enter_context(whole(directory / "trajectories.jsonl"))
        for solved, scored in index.rows(_order(plan)):
            tally.add(solved, scored)
            results.write(dumps(result_row(solved, scored)) + "\n")
            trajectories.write(dumps(trajectory_row(solved, scored)) + "\n")
    missing = len(plan["problems"]) * plan["repeats"] - tally.attempted
    run = {**run, "complete": run.get("complete", missing == 0)}
    result = bundle(tally, plan, run) | {"n_overtaken": index.overtaken()}
    made = result["benchmark"]["scores"]
    whole_json(directory / "runtime_stats.json", made["runtime"])
    analysis = directory / "failure_analysis.json"
    if tally.failures:
        whole_json(analysis, made["failures"])
    else:
        analysis.unlink(missing_ok=True)
    name = f"eval-{_stamp(run)}-{safe_name(plan['benchmark'])}.json"
    whole_json(directory / name, result)
    for old in directory.glob("eval-*.json"):
        if old.name != name:
            old.unlink()
    return Derived(directory, result, plan, index.problems, missing)


def _order(plan: Mapping[str, Any]) -> Iterator[tuple[int, int]]:
    return ((idx, repeat) for idx in plan["problems"] for repeat in range(plan["repeats"]))


def result_row(solved: Mapping[str, Any], scored: Mapping[str, Any]) -> JsonObject:
    """One line of results.jsonl; ``reward`` is null exactly when the attempt is unscored."""
    details = {**(solved.get("details") or {}), **(scored.get("details") or {})}
    row: JsonObject = {
        "problem_idx": solved["problem_idx"],
        "repeat": solved["repeat"],
        "problem_id": solved.get("problem_id", ""),
        "outcome": scored["outcome"],
        "reward": scored.get("reward"),
        "scorer_rewards": scored.get("scorer_rewards") or {},
        "prompt": solved.get("prompt", ""),
        "model_response": solved.get("response", ""),
        "extracted_answer": scored.get("extracted"),
        "expected_answer": solved.get("expected_answer", ""),
        "scoring_details": details,
        "metadata": {**(solved.get("seed_metadata") or {}), **(scored.get("metadata") or {})},
        "tokens": total_tokens(solved),
        "latency_ms": solved.get("latency_ms"),
        "finish_reason": solved.get("finish_reason"),
    }
    for name in ("reasoning", "response_chars", "trajectory"):
        if name in solved:
            row[name] = solved[name]
    boxes = {"solve": solved.get("sandbox"), "verify": scored.get("sandbox")}
    if any(boxes.values()):
        row["sandbox"] = {name: facts for name, facts in boxes.items() if facts}
    if scored.get("failure"):
        row["failure_category"] = scored["failure"]
        row["error"] = scored.get("error") or solved.get("error")
    return row


def trajectory_row(solved: Mapping[str, Any], scored: Mapping[str, Any]) -> JsonObject:
    """One line of trajectories.jsonl."""
    seed_ms, verify_ms = solved.get("seed_ms", 0.0), scored.get("verify_ms", 0.0)
    solve_ms, details = solved.get("solve_ms", 0.0), scored.get("details") or {}
    identity = f"{solved.get('problem_id', '')}|{solved['problem_idx']}|{solved['repeat']}"
    row: JsonObject = {
        "step_id": hashlib.sha256(identity.encode("utf-8", "replace")).hexdigest()[:12],
        "problem_idx": solved["problem_idx"],
        "repeat": solved["repeat"],
        "timestamp": solved.get("started"),
        "prompt": solved.get("prompt", ""),
        "expected_answer": solved.get("expected_answer", ""),
        "reward": scored.get("reward"),
        "extracted_answer": scored.get("extracted"),
        "scoring_method": details.get("method"),
        "scoring_details": details,
        "seed_metadata": solved.get("seed_metadata") or {},
        "timing": {
            "seed_ms": seed_ms,
            "model_ms": solved.get("latency_ms", solve_ms),
            "verify_ms": verify_ms,
            "total_ms": round(seed_ms + solve_ms + verify_ms, 2),
        },
        "failure_category": failure_of(solved, scored),
        "retries": retries(solved),
        "sampling": solved.get("sampling") or {},
    }
    if solved.get("has_model"):
        row["model"] = _model(solved)
    for name, source in (("model_error", "error"), ("system_prompt", "system")):
        if solved.get(source):
            row[name] = solved[source]
    for name in ("messages", "trajectory"):
        if name in solved:
            row[name] = solved[name]
    return row


def _model(solved: Mapping[str, Any]) -> JsonObject:
    response = solved.get("response", "")
    asked = f"{solved.get('prompt', '')}|{solved.get('system') or ''}|{solved.get('model', '')}"
    return {
        "content": response,
        "model": solved.get("model", ""),
        "finish_reason": solved.get("finish_reason"),
        "tokens": {
            "prompt": solved.get("prompt_tokens"),
            "completion": solved.get("completion_tokens"),
            "total": total_tokens(solved),
            "reasoning": solved.get("reasoning_tokens"),
        },
        "latency_ms": solved.get("latency_ms"),
        "request_hash": _short_hash(asked),
        "response_hash": _short_hash(response),
        **({"logprobs": solved["logprobs"]} if "logprobs" in solved else {}),
    }


def _short_hash(text: str) -> str:
    return hashlib.sha256(text.encode("utf-8", "replace")).hexdigest()[:16]


def _stamp(run: Mapping[str, Any]) -> str:
    return str(run.get("timestamp", "")).replace("-", "").replace(":", "")[:15] + "Z"


def utc_now() -> str:
    """Now as ISO 8601 in UTC, seconds."""
    return time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
