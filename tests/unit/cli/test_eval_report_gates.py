"""``nel eval report`` of a run that had a gate: its verdict stays, is shown, and counts."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.cli.main import main
from pytest_nel.gate.checks import gate_checks
from pytest_nel.gate.evaluate import evaluate
from pytest_nel.gate.policy import parse_policy
from pytest_nel.gate.verdict import worst
from pytest_nel.records.conclude import stored, write_checks
from pytest_nel.records.gated import content_of
from pytest_nel.records.sides import runs_of
from tests.unit.records.parts_of_runs import Whole, journal, keep, record


def report(*words: str | Path) -> int:
    return main(["eval", "report", *map(str, words)])


def gated(run: Path, policy: str, capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    """Give a run the gate that a run with this policy and no baseline ends with."""
    report(run, "--rebuild")
    capsys.readouterr()
    decided = evaluate(parse_policy(policy, "gate.yaml"), runs_of(run))
    found = stored(run)
    checks = [*found.checks, *gate_checks(decided)]
    code = worst([found.code, *(check.code for check in checks)])
    write_checks(run, checks, code, content_of(decided, run))
    return said(run)


def said(run: Path) -> dict[str, Any]:
    content: dict[str, Any] = json.loads((run / "checks.json").read_text())
    return content


def answer_otherwise(run: Path, reward: float) -> None:
    """A later turn of the run, of which the results do not know yet."""
    path = run / "b" / "plan.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"turn": 2}))
    writer = journal(run / "b", "gw0", turn=2)
    for problem in range(3):
        keep(writer, *record((problem, 0), reward))
    writer.close()


GO, NO_GO, OPEN = (
    f"version: 1\nbenchmarks: {{b: {{metric: mean_reward, {limit}}}}}"
    for limit in (
        "evidence: point, min_score: 0.1",
        "evidence: point, min_score: 0.9",
        "min_score: 0.6",
    )
)
RIGHT, HALF = dict.fromkeys(range(6), 1.0), {n: float(n % 2) for n in range(6)}


def measured(tmp_path: Path, rewards: dict[int, float]) -> Path:
    records = {(n, 0): record((n, 0), reward) for n, reward in rewards.items()}
    return Whole().part(tmp_path / "run", records)


@pytest.mark.parametrize(
    ("policy", "rewards", "verdict", "status"),
    [(GO, RIGHT, "GO", 0), (NO_GO, HALF, "NO-GO", 1), (OPEN, HALF, "INCONCLUSIVE", 6)],
)
def test_the_gate_s_verdict_stays_and_counts(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    policy: str,
    rewards: dict[int, float],
    verdict: str,
    status: int,
) -> None:
    run = measured(tmp_path, rewards)
    before = gated(run, policy, capsys)

    codes = [report(run), report(run, "--rebuild"), report(run, "-f", "csv")]

    out = capsys.readouterr().out
    assert before["exit_code"] == status
    assert codes == [status] * 3
    assert said(run) == before
    assert out.count(f"\n{verdict}  gate.yaml\n") == 2
    assert "stale" not in out


@pytest.mark.parametrize(
    ("policy", "rewards", "shown", "status"),
    [
        (GO, RIGHT, "INCONCLUSIVE", 6),
        (NO_GO, HALF, "NO-GO", 1),
        (OPEN, HALF, "INCONCLUSIVE", 6),
    ],
)
def test_a_verdict_on_other_results_is_stale(
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    policy: str,
    rewards: dict[int, float],
    shown: str,
    status: int,
) -> None:
    run = measured(tmp_path, rewards)
    before = gated(run, policy, capsys)
    answer_otherwise(run, 0.0 if rewards[0] else 1.0)

    codes = [report(run, "--rebuild"), report(run)]
    marked = said(run)
    codes.append(report(run, "--rebuild"))

    out = capsys.readouterr().out
    was = before["gate"]["verdict"]
    assert codes == [status] * 3
    assert said(run) == marked
    assert (marked["exit_code"], marked["gate"]["verdict"]) == (status, was)
    assert marked["gate"]["stale"] is marked["checks"][-1]["stale"] is True
    assert marked["checks"][-1]["status"] == ("failed" if was == "NO-GO" else "open")
    why = "is stale: the results of b have changed since; decide again by nel gate"
    assert out.count(f"\n{shown}  gate.yaml\n  it was {was}, and {why}\n") == 3


def test_results_that_were_changed_by_hand_make_the_verdict_stale(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = measured(tmp_path, RIGHT)
    gated(run, GO, capsys)
    with (run / "b" / "results.jsonl").open("a") as file:
        file.write("\n")

    assert report(run) == 6
    assert "INCONCLUSIVE  gate.yaml" in capsys.readouterr().out


@pytest.mark.parametrize("more", [(), ("--rebuild",)])
@pytest.mark.parametrize("text", ["{", "[]", '{"gate": {}}', '{"gate": {"policy": "p"}}'])
def test_what_a_gate_has_decided_is_not_lost_with_a_damaged_file(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], text: str, more: tuple[str, ...]
) -> None:
    run = measured(tmp_path, RIGHT)
    gated(run, GO, capsys)
    (run / "checks.json").write_text(text)

    code = report(run, *more)

    assert code == 4
    assert "checks.json: damaged" in capsys.readouterr().err
    assert (run / "checks.json").read_text() == text
