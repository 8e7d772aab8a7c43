"""Logs of Inspect, read back by Inspect."""

import json
import warnings
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.exporters.chosen import exporter_of, run_export
from tests.support.stored import write_run
from tests.unit.exporters.made import bundle_in, needs, with_scores

pytestmark = [needs("inspect_ai"), pytest.mark.slow]
REWARDS: list[list[float | None]] = [[1.0, 0.0], [0.5, None]]
SECRET = "sk-0123456789abcdef"  # noqa: S105  # made up


def exported(run: Path, **options: Any) -> Path:
    exporter = exporter_of("inspect", options, "-d inspect")
    (done,) = run_export(exporter, [bundle_in(run, [SECRET])])
    assert not done.failed, done.text
    return Path(done.text.partition(", ")[0])


def read(path: Path) -> Any:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return import_module("inspect_ai.log").read_eval_log(str(path))


def agent(run: Path) -> None:
    """Give the first attempt the steps of an agent, the others what was asked of the model."""
    results = run / "mmlu" / "results.jsonl"
    rows = [json.loads(line) for line in results.read_text().splitlines()]
    call = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"cmd": "ls"}}
    observation = {"results": [{"source_call_id": "c1", "content": "a.txt"}]}
    rows[0]["trajectory"] = [
        {"source": "user", "message": "list"},
        {
            "source": "agent",
            "message": "Executed bash c1",
            "tool_calls": [call],
            "observation": observation,
        },
    ]
    tokens = {"prompt": 3, "completion": 4, "total": 7, "reasoning": None}
    beside = [
        {
            "problem_idx": row["problem_idx"],
            "repeat": row["repeat"],
            "system_prompt": "be brief",
            "model": {"tokens": tokens},
            "timing": {"total_ms": 1500.0, "model_ms": 500.0},
        }
        for row in rows
    ]
    for name, lines in [("results", rows), ("trajectories", beside)]:
        text = "".join(json.dumps(line) + "\n" for line in lines)
        (run / "mmlu" / f"{name}.jsonl").write_text(text)


def test_a_log_holds_every_attempt_and_no_score_where_there_is_none(tmp_path: Path) -> None:
    row: dict[str, Any] = {"finish_reason": "length", "reasoning": "hm", "prompt": f"with {SECRET}"}
    row |= {"scorer_rewards": {"f1": 0.5, "failed": None}}
    write_run(tmp_path / "run", REWARDS, bundle=with_scores(), row=row)
    agent(tmp_path / "run")

    log = read(exported(tmp_path))

    assert (log.status, log.eval.task, log.eval.model) == ("success", "mmlu", "m")
    assert log.eval.created == "2026-03-02T09:14:51+00:00"
    found = {(one.id, one.epoch): one for one in log.samples}
    rewards = {at: one.scores and one.scores["default"].value for at, one in found.items()}
    assert rewards == {(0, 1): 1.0, (0, 2): 0.0, (1, 1): 0.5, (1, 2): None}
    assert set(found[0, 1].scores) == {"default", "f1"}
    assert found[1, 2].error.message == "unscored: this attempt has no score"
    assert [message.role for message in found[0, 1].messages] == ["user", "assistant", "tool"]
    assert found[0, 1].messages[1].text == ""
    assert [message.role for message in found[0, 2].messages] == ["system", "user", "assistant"]
    assert found[0, 2].input == "with [API key]"
    assert found[0, 2].output.stop_reason == "max_tokens"
    assert found[0, 2].model_usage["m"].total_tokens == 7
    assert (found[0, 2].total_time, found[0, 2].working_time) == (1.5, 0.5)
    default, further = log.results.scores
    assert default.metrics["mean_reward"].value == 0.5
    assert default.metrics["mean_reward"].metadata["ci_upper"] == 0.9
    assert "pass^2" not in default.metrics
    assert (default.scored_samples, default.unscored_samples) == (3, 1)
    assert (further.name, further.metrics["mean_reward"].value) == ("f1", 0.75)


def test_the_same_bundle_gives_the_same_log_in_the_same_place(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [1.0, None], bundle=with_scores(complete=False))

    first = exported(tmp_path, output_dir=tmp_path / "logs", format="json")
    before = first.read_text()
    again = exported(tmp_path, output_dir=tmp_path / "logs", format="json")

    assert first == again == tmp_path / "logs" / "run" / "mmlu_inspect.json"
    assert again.read_text() == before
    assert [*again.parent.iterdir()] == [again]
    assert read(again).status == "cancelled"


def test_inspect_finds_logs_beside_their_bundles(tmp_path: Path) -> None:
    write_run(tmp_path / "run", [1.0], bundle=with_scores())

    path = exported(tmp_path)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        logs = import_module("inspect_ai.log")
        listed = [one.name for one in logs.list_eval_logs(str(tmp_path))]
    assert [name.removeprefix("file://") for name in listed] == [str(path)]
