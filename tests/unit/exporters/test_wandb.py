"""Runs of Weights & Biases, written offline by its own library and read as what it would send."""

import json
import warnings
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest

from tests.support.stored import write_run
from tests.unit.exporters.made import needs, nel_export, with_scores

pytestmark = [needs("wandb"), pytest.mark.slow]
_BLOCK, _HEADER = 32768, 7
REWARDS: list[list[float | None]] = [[1.0, 0.0], [0.5, None]]
SECRET = "sk-0123456789abcdef"  # noqa: S105  # made up


def exported(run: Path, *words: str) -> Path:
    done = nel_export(run, "-d", "wandb", "-o", "mode=offline", *words, env={"MY_API_KEY": SECRET})
    assert done.returncode == 0, done.stderr
    (found,) = run.glob("wandb/offline-run-*")
    return found


def pieces(content: bytes) -> Iterator[bytes]:
    """The records of a log in LevelDB's format, after a header of its own."""
    at, whole = _HEADER, b""
    while at + _HEADER <= len(content):
        if _BLOCK - at % _BLOCK < _HEADER:
            at += _BLOCK - at % _BLOCK
            continue
        length, kind = int.from_bytes(content[at + 4 : at + 6], "little"), content[at + 6]
        whole += content[at + _HEADER : at + _HEADER + length]
        at += _HEADER + length
        if kind in {1, 4}:  # full, or the last piece
            yield whole
            whole = b""


def records(folder: Path) -> list[Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        protocol: Any = import_module("wandb.proto.wandb_internal_pb2")
        (file,) = folder.glob("*.wandb")
        made = []
        for piece in pieces(file.read_bytes()):
            record = protocol.Record()
            record.ParseFromString(piece)
            made.append(record)
    return made


def updates(found: list[Any], kind: str) -> dict[str, Any]:
    said: dict[str, Any] = {}
    for record in found:
        if record.WhichOneof("record_type") == kind:
            for one in getattr(record, kind).update:
                said[one.key or ".".join(one.nested_key)] = json.loads(one.value_json)
    return said


def test_a_run_is_written_offline_and_written_again_in_its_place(tmp_path: Path) -> None:
    row = {"prompt": f"with {SECRET}"}
    write_run(tmp_path / "r1", REWARDS, bundle=with_scores(), row=row)

    first = exported(tmp_path / "r1", "-o", "tags=[a, b]")
    again = exported(tmp_path / "r1", "-o", "tags=[a, b]")

    assert again != first
    assert not first.exists()
    found = records(again)
    (run,) = (record.run for record in found if record.WhichOneof("record_type") == "run")
    assert (run.project, run.run_group, run.display_name) == ("nemo-evaluator", "r1", "r1 mmlu")
    assert again.name.endswith(run.run_id)
    assert [*run.tags] == ["a", "b"]
    summary, config = updates(found, "summary"), updates(found, "config")
    assert summary["pass@1"] == 0.25
    assert summary["mean_reward/ci_upper"] == 0.9
    assert "pass^2" not in summary
    assert summary["n_unscored"] == 1
    assert config["solver.type"] == "simple"
    (artifact,) = (r.artifact for r in found if r.WhichOneof("record_type") == "artifact")
    paths = {content.path: content.local_path for content in artifact.manifest.contents}
    assert set(paths) == {"bundle.json", "results.jsonl", "samples.table.json"}
    sent = "".join(Path(path).read_text() for path in paths.values())
    assert SECRET not in sent + str(found)
    rows = json.loads(Path(paths["samples.table.json"]).read_text())["data"]
    assert [line[4] for line in rows] == [1.0, 0.0, 0.5, None]


def test_without_artifacts_no_prompt_is_sent(tmp_path: Path) -> None:
    write_run(tmp_path / "r1", [1.0], bundle=with_scores(), row={"prompt": "the question"})

    found = records(exported(tmp_path / "r1", "-o", "artifacts=false"))

    assert "the question" not in str(found)
    assert updates(found, "summary")["mean_reward"] == 0.5
