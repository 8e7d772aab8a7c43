"""``nel data info`` and ``nel data prefetch``."""

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.cli.main import main
from pytest_nel.core.keys import digest
from pytest_nel.environments import resolve
from tests.support.fake_hub import FakeHub

ROWS = [{"q": f"{n}?", "target": str(n)} for n in range(30)]
DATA = "".join(f"{json.dumps(row)}\n" for row in ROWS)
BENCH = """from pytest_nel import ScorerInput, benchmark, scorer

@benchmark(name="{name}", dataset={dataset}, prompt="{{q}}")
@scorer
def {name}(sample: ScorerInput) -> bool:
    return sample.response == sample.target
"""
SUITE = """services:
  m: {type: api, url: "http://127.0.0.1:9/v1", protocol: chat_completions, model: m}
benchmarks:
  - {name: near.py, solver: {type: simple, service: m}}
  - {name: far.py, solver: {type: simple, service: m}}
"""


@pytest.fixture
def hub(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[FakeHub]:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("HF_HOME", str(tmp_path / "hub"))
    for name in ("HF_HUB_CACHE", "HF_TOKEN", "HF_HUB_OFFLINE", "NEL_DATA_DIR"):
        monkeypatch.delenv(name, raising=False)
    for name, dataset in (
        ("far", "'hf://org/far'"),
        ("near", "[{'q': '1?', 'target': '1'}]"),
        ("made", "lambda: [{'q': '1?', 'target': '1'}, {'q': '2?', 'target': '2'}]"),
    ):
        (tmp_path / f"{name}.py").write_text(BENCH.format(name=name, dataset=dataset))
    (tmp_path / "both.nel.yaml").write_text(SUITE)
    with FakeHub() as served:
        monkeypatch.setenv("HF_ENDPOINT", served.url)
        yield served


def facts_of(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, Any]]:
    main(["data", *words, "--json"])
    found: list[dict[str, Any]] = json.loads(capsys.readouterr().out)
    return found


def test_info_says_what_is_needed_and_downloads_no_data(
    hub: FakeHub, capsys: pytest.CaptureFixture[str]
) -> None:
    commit = hub.add("org/far", {"test.jsonl": DATA}, gated=True, licence="cc-by-4.0")

    (far,) = facts_of(capsys, "info", "far.py")
    status = main(["data", "info", "far.py", "made.py", "near.py"])
    text = capsys.readouterr().out

    assert (far["state"], far["revision"], far["size"]) == ("missing", commit, len(DATA))
    assert (far["gated"], far["licence"]) == (True, "cc-by-4.0")
    assert far["page"] == "https://huggingface.co/datasets/org/far"
    assert (far["content_hash"], far["files"], far["trouble"]) == (None, [], None)
    assert status == 0
    assert "far.py\n  dataset   hf://org/far\n" in text
    assert "  gated     yes: accept its terms at the page\n" in text
    assert "made.py\n  dataset   made by the benchmark itself\n" in text
    assert "near.py\n  dataset   rows\n  size      1 row\n" in text
    assert [path for path in hub.paths() if "resolve" in path or "cdn" in path] == []


def test_what_is_prefetched_is_enough_for_a_run_without_network(
    hub: FakeHub, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    commit = hub.add("org/far", {"test.jsonl": DATA})

    status = main(["data", "prefetch", "both.nel.yaml", "made.py"])
    said = capsys.readouterr().out
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    hub.seen.clear()
    fingerprint = resolve("far.py", base=Path()).fingerprint()
    (far,) = facts_of(capsys, "info", "far.py")

    assert status == 0
    assert said.splitlines() == [
        "near.py: 1 row, in a local file",
        f"far.py: 30 rows, {len(DATA)} B, here",
        "made.py: 2 rows, here",
    ]
    assert (fingerprint["origin"], fingerprint["revision"]) == ("hub", commit)
    assert fingerprint["content_hash"] == far["content_hash"] == digest(ROWS)
    assert (far["state"], far["rows"]) == ("cached", 30)
    assert Path(far["files"][0]).read_text() == DATA
    assert hub.seen == []


def test_local_files_give_the_same_content_hash_and_say_that_they_are_local(
    hub: FakeHub, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hub.add("org/far", {"test.jsonl": DATA})
    remote = resolve("far.py", base=Path()).fingerprint()
    (tmp_path / "data" / "org__far").mkdir(parents=True)
    (tmp_path / "data" / "org__far" / "test.jsonl").write_text(DATA)
    monkeypatch.setenv("NEL_DATA_DIR", str(tmp_path / "data"))

    local = resolve("far.py", base=Path()).fingerprint()

    different = {name for name in local if local[name] != remote[name]}
    assert different == {"origin", "revision"}
    assert (local["origin"], local["revision"]) == ("local", None)


def test_trouble_with_one_benchmark_hides_no_other(
    hub: FakeHub, capsys: pytest.CaptureFixture[str]
) -> None:
    status = main(["data", "prefetch", "far.py", "near.py"])
    said = capsys.readouterr()

    assert status == 1
    assert "nel data prefetch: far.py: dataset hf://org/far: there is no dataset" in said.err
    assert "near.py: 1 row" in said.out
    assert "org/far/revision/main" in hub.paths()[0]
    assert main(["data", "info", "nowhere.py"]) == 4
    assert "nowhere.py: no such benchmark file" in capsys.readouterr().err
