"""Runs on a real MLflow server, read back by its REST interface."""

import os
import subprocess
import sys
import time
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import httpx
import pytest

from tests.support.processes import until
from tests.support.stored import write_run
from tests.unit.exporters.made import free_port, needs, nel_export, with_scores

pytestmark = [needs("mlflow", "sqlalchemy", "fastapi"), pytest.mark.slow]
REWARDS: list[list[float | None]] = [[1.0, 0.0], [0.5, None]]
SECRET = "sk-0123456789abcdef"  # noqa: S105  # made up


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[str]:
    """Its URL; it starts in half a minute and is shared."""
    folder, port = tmp_path_factory.mktemp("mlflow"), free_port()
    url = f"http://127.0.0.1:{port}"
    words = ["--backend-store-uri", f"sqlite:///{folder}/mlflow.db", "--workers", "1"]
    words += ["--artifacts-destination", str(folder / "artifacts"), "--port", str(port)]
    with (
        (folder / "log").open("w") as log,
        subprocess.Popen(
            [sys.executable, "-m", "mlflow", "server", "--host", "127.0.0.1", *words],
            stdout=log,
            stderr=log,
            env={**os.environ, "MLFLOW_SERVER_ENABLE_JOB_EXECUTION": "false"},
        ) as process,
    ):
        try:
            assert until(lambda: process.poll() is not None or _is_up(url), within=180)
            assert process.poll() is None, (folder / "log").read_text()
            yield url
        finally:
            process.terminate()


def _is_up(url: str) -> bool:
    try:
        return httpx.get(f"{url}/health").status_code == 200
    except httpx.TransportError:
        return False


def call(url: str, method: str, path: str, **said: Any) -> Any:
    reply = httpx.request(method, f"{url}/api/2.0/mlflow/{path}", **said)
    reply.raise_for_status()
    return reply.json()


def runs(url: str, experiment: str) -> list[dict[str, Any]]:
    found = call(url, "GET", "experiments/get-by-name", params={"experiment_name": experiment})[
        "experiment"
    ]["experiment_id"]
    made: list[dict[str, Any]] = call(url, "POST", "runs/search", json={"experiment_ids": [found]})[
        "runs"
    ]
    return made


def exported(url: str, path: Path, experiment: str, *words: str) -> str:
    done = nel_export(
        path, "-d", "mlflow", "-o", f"tracking_uri={url}", "-o", f"experiment={experiment}", *words,
        env={"MY_API_KEY": SECRET},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def pairs(run: dict[str, Any], kind: str) -> dict[str, Any]:
    return {one["key"]: one["value"] for one in run["data"].get(kind, ())}


def test_a_bundle_becomes_one_run_however_often_it_is_exported(server: str, tmp_path: Path) -> None:
    row = {"prompt": f"with {SECRET}"}
    write_run(tmp_path / "r1", REWARDS, bundle=with_scores(), row=row)

    exported(server, tmp_path, "once", "-o", "tags.team=quant")
    exported(server, tmp_path, "once")

    (run,) = runs(server, "once")
    metrics, tags = pairs(run, "metrics"), pairs(run, "tags")
    assert (metrics["pass_at_1"], metrics["mean_reward"]) == (0.25, 0.5)
    assert metrics["mean_reward/ci_lower"] == 0.0
    assert metrics["n_unscored"] == 1
    assert "pass_hat_2" not in metrics
    assert pairs(run, "params")["solver.type"] == "simple"
    assert (tags["nel.run_id"], tags["team"]) == ("r1", "quant")
    assert run["info"]["status"] == "FINISHED"
    assert run["info"]["start_time"] == 1772442891000
    number = run["info"]["run_id"]
    history = {"run_id": number, "metric_key": "mean_reward"}
    assert len(call(server, "GET", "metrics/get-history", params=history)["metrics"]) == 1
    listed = call(server, "GET", "artifacts/list", params={"run_id": number})["files"]
    assert {one["path"] for one in listed} == {"bundle.json", "results.jsonl"}
    at = {"run_uuid": number, "path": "results.jsonl"}
    sent = httpx.get(f"{server}/get-artifact", params=at).text
    assert sent.count("\n") == 4
    assert SECRET not in sent


def test_a_resumed_run_is_brought_up_to_date_also_where_its_score_fell(
    server: str, tmp_path: Path
) -> None:
    def say(score: float, turns: int, **more: Any) -> None:
        folder = tmp_path / f"t{turns}"
        scores = {"mean_reward": {"value": score}}
        said = with_scores(scores, run_id="r", turns=turns, complete=turns > 1, **more)
        write_run(folder, [1.0], bundle=said)
        exported(server, folder, "resumed", "-o", "artifacts=false")

    say(0.9, 1)
    (before,) = runs(server, "resumed")
    say(0.4, 2)
    (after,) = runs(server, "resumed")
    say(0.5, 3, config={"repeats": 4})
    (changed,) = runs(server, "resumed")

    assert before["info"]["status"] == "KILLED"
    assert after["info"]["run_id"] == before["info"]["run_id"]
    assert pairs(after, "metrics")["mean_reward"] == 0.4
    assert after["info"]["status"] == "FINISHED"
    assert changed["info"]["run_id"] != after["info"]["run_id"]  # parameters cannot be changed
    assert pairs(changed, "params")["repeats"] == "4"


def traces(url: str, run: dict[str, Any]) -> dict[str, Any]:
    number, experiment = run["info"]["run_id"], run["info"]["experiment_id"]
    place = {"type": "MLFLOW_EXPERIMENT", "mlflow_experiment": {"experiment_id": experiment}}
    asked = {"locations": [place], "filter": f"metadata.`mlflow.sourceRun` = '{number}'"}
    found = httpx.post(f"{url}/api/3.0/mlflow/traces/search", json=asked).json()["traces"]
    named = {one["tags"]["mlflow.traceName"]: one for one in found}
    assert len(named) == len(found)
    return named


def spans(url: str, trace: str) -> Any:
    """Of one trace, as MLflow's own client reads them."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        client = import_module("mlflow").MlflowClient(tracking_uri=url)
        return client.get_trace(trace).data.spans


def test_attempts_become_traces_and_a_changed_one_takes_the_place_of_the_old(
    server: str, tmp_path: Path
) -> None:
    call = {"tool_call_id": "c1", "function_name": "bash", "arguments": {"cmd": "ls"}}
    steps = [{"source": "agent", "message": "", "tool_calls": [call]}]
    row = {"prompt": "x" * 5000, "trajectory": steps}
    write_run(tmp_path / "r1", [[1.0, None]], bundle=with_scores(), row=row)
    words = ("traced", "-o", "traces=true", "-o", "artifacts=false")

    said = exported(server, tmp_path, *words)
    (run,) = runs(server, "traced")
    first = traces(server, run)
    exported(server, tmp_path, *words)
    again = traces(server, run)
    results = tmp_path / "r1" / "mmlu" / "results.jsonl"
    results.write_text(results.read_text().replace('"outcome": "correct"', '"outcome": "wrong"'))
    exported(server, tmp_path, *words)
    changed = traces(server, run)

    assert ", 2 traces" in said
    assert set(first) == {"sample_0", "sample_0.r1"}
    assert {name: one["state"] for name, one in first.items()} == {
        "sample_0": "OK",
        "sample_0.r1": "ERROR",
    }
    ids = [{name: one["trace_id"] for name, one in found.items()} for found in (first, again)]
    assert ids[0] == ids[1]
    assert changed["sample_0.r1"]["trace_id"] == ids[0]["sample_0.r1"]
    assert changed["sample_0"]["trace_id"] != ids[0]["sample_0"]
    root, tool = spans(server, ids[1]["sample_0.r1"])
    assert root.inputs["prompt"] == "x" * 4000 + "…[truncated]"
    assert "nel.reward" not in root.attributes
    assert (tool.name, tool.inputs) == ("bash", {"arguments": '{"cmd":"ls"}'})
    scored, _ = spans(server, changed["sample_0"]["trace_id"])
    assert (scored.attributes["nel.reward"], scored.attributes["nel.outcome"]) == (1.0, "wrong")


def test_a_server_that_is_not_there_is_named_at_once(tmp_path: Path) -> None:
    write_run(tmp_path / "r1", [1.0], bundle=with_scores())
    url = f"http://127.0.0.1:{free_port()}"

    began = time.monotonic()
    done = nel_export(tmp_path, "-d", "mlflow", "-o", f"tracking_uri={url}")

    assert time.monotonic() - began < 60
    assert done.returncode == 1
    assert f"no MLflow server answers at {url.removeprefix('http://')}" in done.stderr
