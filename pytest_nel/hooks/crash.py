"""Which attempt has killed its worker: decided by what that worker wrote before it died.

With look-ahead a worker that dies waits for one attempt while others are under way, and any of
them may have killed it. So nobody is blamed until an attempt was made, or judged, with nothing
beside it: the journal's last word about it is then ``started`` with ``alone``. See
:mod:`pytest_nel.engine.lookahead`.
"""

import re
import signal
import subprocess
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import FailureKind
from pytest_nel.core.keys import safe_name
from pytest_nel.core.types import AttemptKey, JsonObject
from pytest_nel.engine.past import Mode
from pytest_nel.hooks.outcome import facts, mark, unscored_text
from pytest_nel.hooks.state import Run, before_bracket
from pytest_nel.records.index import JournalIndex, index_journals
from pytest_nel.records.journal import (
    SYNC_EVERY,
    JournalWriter,
    journal_files,
    journal_name,
    turn_of,
)
from pytest_nel.records.plans import planned, read_plan
from pytest_nel.records.record import Scored, Solved, StepRecord

WRITER = "controller"
_BRACKET = re.compile(r"\[(\d+)-r(\d+)\](?:@.*)?")  # xdist appends @GROUP for --dist loadgroup


@dataclass(frozen=True, slots=True)
class Attempt:
    """An attempt as the controller, which collects nothing, knows it.

    Attributes:
        directory: The benchmark's.
        plan: The object of its plan.json.
        key: Which attempt.
    """

    directory: Path
    plan: JsonObject
    key: AttemptKey


def looks_like_an_attempt(nodeid: str) -> bool:
    """Whether it has the name of one; for where no plan is written yet."""
    return _BRACKET.fullmatch(nodeid, len(before_bracket(nodeid))) is not None


def nodeid_of(plan: JsonObject) -> str:
    """The node id of a benchmark, as its items begin."""
    in_suite = plan["suite"].endswith(".nel.yaml")
    name = safe_name(plan["benchmark"] if in_suite else plan["environment"])
    return f"{plan['suite']}::{name}"


def attempt_of(run: Run, nodeid: str) -> Attempt | None:
    """The attempt that an item stands for; None for an ordinary test."""
    head = before_bracket(nodeid)
    found = _BRACKET.fullmatch(nodeid, len(head))
    if found is None:
        return None
    for directory in planned(run.directory):
        plan = read_plan(directory)
        if nodeid_of(plan) == head:
            key = AttemptKey(directory.name, int(found[1]), int(found[2]))
            return Attempt(directory, plan, key)
    return None


def was_alone(run: Run, writer: str, attempt: Attempt) -> bool:
    """Whether a worker died while it made or judged an attempt and nothing else."""
    index = _of_writer(attempt.directory, writer, run.turn)
    mine = (attempt.key.problem_idx, attempt.key.repeat)
    return any(key == mine and alone for key, _, alone in index.unfinished())


def had_others(run: Run, writer: str) -> bool:
    """Whether a worker died while models were asked."""
    for directory in planned(run.directory):
        index = _of_writer(directory, writer, run.turn)
        for key, _, _ in index.unfinished():
            known = index.known(*key)
            if known is None or (known.answer is None and known.again is None):
                return True
    return False


def _of_writer(directory: Path, writer: str, turn: int) -> JournalIndex:
    """What one worker of this session has written about a benchmark."""
    index = JournalIndex()
    for path in journal_files(directory / "journal"):
        if turn_of(path) >= turn and path.name == journal_name(writer, turn_of(path)):
            index.scan(path)
    return index


def record_death(run: Run, attempt: Attempt, turn: int, cause: str) -> StepRecord:
    """Write that an attempt has no score because its process died of it.

    An answer that is there stays: a later run judges it again and pays nothing.

    Args:
        run: The run.
        attempt: Which attempt.
        turn: Of the record; higher than that of the process that died.
        cause: Such as `` (signal 11)``; empty where nobody knows.

    Raises:
        JournalError: The disk does not take it.
        OSError: As above.
    """
    key, infra = attempt.key, str(FailureKind.INFRA)
    judged = _being_judged(run, attempt)
    what = "judged this answer" if judged else "made this attempt"
    text = f"the process that {what} died{cause}"
    solved = Solved(key, str(key.problem_idx), failure=infra, error=text)
    scored = Scored("unscored", None, failure=infra, error=text)
    path = attempt.directory / "journal" / journal_name(WRITER, turn)
    own = {"writer": WRITER, "turn": turn, "benchmark": attempt.plan["benchmark"]}
    journal = JournalWriter(path, {**run.facts(), **own}, sync_every=SYNC_EVERY)
    try:
        if not judged:
            journal.solved(solved)
        journal.scored(key, scored)
    finally:
        journal.close()
    return StepRecord(solved, scored)


def _being_judged(run: Run, attempt: Attempt) -> bool:
    """Whether its answer was there when its process died."""
    index = index_journals(attempt.directory / "journal")
    known = index.known(attempt.key.problem_idx, attempt.key.repeat)
    if known is None:
        return False
    if known.again is not None:
        return known.again.whole
    if known.answer is None or not known.answer.whole:
        return False
    fresh = known.judgement is None or known.outcome == "unscored"
    return fresh or run.mode is Mode.RESCORE


def cause_of(node: Any) -> str:
    """How a worker's process ended, as far as execnet lets us see it."""
    process = getattr(getattr(node.gateway, "_io", None), "popen", None)
    if not isinstance(process, subprocess.Popen):
        return ""
    try:
        code = process.wait(1.0)  # its pipe is closed: it has ended, or is about to
    except subprocess.TimeoutExpired:
        return ""
    if code >= 0:
        return f" (exit status {code})"
    try:
        return f" ({signal.Signals(-code).name})"
    except ValueError:
        return f" (signal {-code})"


def dress_crash(report: pytest.TestReport, attempt: Attempt, record: StepRecord) -> None:
    """Make xdist's report of a crash that of an attempt without a score."""
    config = attempt.plan["config"]
    said = facts(record, attempt.key.benchmark)
    report.nel = {**said, "crashed": True}  # type: ignore[attr-defined]  # ours
    report.when = "call"
    text = f"{unscored_text(record)}; {report.longrepr}"
    mark(report, text, failed=config["max_unscored"] == 0 or config["strict"])
