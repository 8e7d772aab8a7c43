"""A record becomes a report: outcome, letter, text, properties."""

from collections.abc import Generator
from typing import Any

import pytest

from pytest_nel.core.text import showable
from pytest_nel.hooks.item import AttemptItem
from pytest_nel.hooks.state import run_key
from pytest_nel.records.record import StepRecord

LETTERS_UP_TO = 200
"""With more attempts than this, letters say nothing: the progress lines do (unless -v)."""

_WORDS = {
    "correct": (".", "CORRECT", {"green": True}),
    "wrong": ("w", "WRONG", {"yellow": True}),
    "unparsed": ("u", "UNPARSED", {"yellow": True}),
    "unscored": ("E", "UNSCORED", {"red": True}),
}
_CATEGORY = {"correct": "passed"}
_TEXT_LIMIT = 2000


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_runtest_makereport(
    item: pytest.Item, call: pytest.CallInfo[None]
) -> Generator[None, pytest.TestReport, pytest.TestReport]:
    """Turn the call report of a measured attempt into its outcome."""
    report = yield
    if call.when == "call" and isinstance(item, AttemptItem) and report.outcome == "passed":
        dress(report, item)
        item.user_properties = report.user_properties  # JUnit reads those of the teardown report
    return report


def dress(report: pytest.TestReport, item: AttemptItem) -> None:
    """Give a call report what its record says."""
    record = item.record
    if record is None:
        return
    plan = item.bench.plan
    scored = record.scored
    report.nel = facts(record, item.bench.plan.id)  # type: ignore[attr-defined]  # ours
    run = item.config.stash[run_key]
    if run.worker is not None and run.unsaid:
        report.nel["notes"], run.unsaid = run.unsaid, []
    report.user_properties.extend(properties(record))
    report.duration = (record.solved.solve_ms + scored.verify_ms) / 1000
    if scored.outcome == "correct":
        return
    strict = plan.config.strict
    if scored.outcome == "unscored":
        failed, text = plan.config.max_unscored == 0 or strict, unscored_text(record)
    else:
        failed, text = strict, wrong_text(record)
    mark(report, text, failed=failed)


def mark(report: pytest.TestReport, text: str, *, failed: bool) -> None:
    """Make it the report of an attempt that is not correct."""
    text = showable(text, _TEXT_LIMIT)
    if failed:
        report.outcome = "failed"
        report.longrepr = text
    else:
        report.outcome = "skipped"
        report.wasxfail = text  # as pytest's xfail has it


def facts(record: StepRecord, benchmark: str) -> dict[str, Any]:
    """What the controller needs of a record: plain built-in types, since it crosses processes."""
    scored, solved = record.scored, record.solved
    return {
        "benchmark": benchmark,
        "problem_idx": solved.key.problem_idx,
        "outcome": str(scored.outcome),
        "reward": None if scored.reward is None else float(scored.reward),
        "tokens": record.tokens,
        "retries": record.retries,
        "failure": scored.failure,
        "error": None if scored.error is None else showable(scored.error, 300),
    }


def properties(record: StepRecord) -> list[tuple[str, object]]:
    """JUnit properties of an attempt."""
    found: list[tuple[str, object]] = [("outcome", str(record.scored.outcome))]
    if record.scored.reward is not None:
        found.append(("reward", float(record.scored.reward)))
    if record.scored.extracted is not None:
        found.append(("extracted", showable(str(record.scored.extracted), 200)))
    if record.tokens is not None:
        found.append(("tokens", int(record.tokens)))
    if record.latency_ms is not None:
        found.append(("latency_ms", float(record.latency_ms)))
    return found


def unscored_text(record: StepRecord) -> str:
    """Why an attempt has no score."""
    scored = record.scored
    return f"unscored: {scored.failure}: {scored.error or 'no further detail'}"


def wrong_text(record: StepRecord) -> str:
    """What was expected, what was found, how the answer ended."""
    scored, solved = record.scored, record.solved
    end = " ".join(solved.response.split())[-200:]
    finish = (solved.model or {}).get("finish_reason")
    cut = " (cut off at the token limit)" if finish == "length" else ""
    if scored.outcome == "unparsed":
        head = f"unparsed: no answer found{cut}; expected {showable(solved.expected, 200)!r}"
    else:
        extracted = showable(str(scored.extracted), 200)
        head = f"wrong: expected {showable(solved.expected, 200)!r}, extracted {extracted!r}{cut}"
    if scored.reward:
        head = f"partial: reward {scored.reward:g}; {head}"
    return f"{head}; response ends: {end!r}" if end else f"{head}; the response is empty"


@pytest.hookimpl(tryfirst=True)
def pytest_report_teststatus(
    report: pytest.TestReport, config: pytest.Config
) -> tuple[str, str, Any] | None:
    """Own categories for measured attempts; checks are listed by the summary."""
    nel = getattr(report, "nel", None)
    if nel is None:
        return None
    if "check" in nel:
        return ("" if report.passed else "check failed" if report.failed else "check open"), "", ""
    if report.when != "call":
        return None
    outcome = nel["outcome"]
    letter, word, markup = _WORDS[outcome]
    category = _CATEGORY.get(outcome, outcome)
    if report.failed and outcome != "unscored":
        category, letter, markup = "failed", "F", {"red": True}
    if not config.stash[run_key].letters:
        return category, "", ""
    return category, letter, (word, markup)
