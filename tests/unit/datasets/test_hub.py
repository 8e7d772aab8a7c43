"""Rows of a hub, over HTTP."""

import io
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.keys import digest
from tests.support.hub_desk import NO_NETWORK, ROWS, Desk, lines, token


def parquet(rows: list[dict[str, Any]]) -> bytes:
    pa = pytest.importorskip("pyarrow")
    import pyarrow.parquet as pq

    buffer = io.BytesIO()
    pq.write_table(pa.Table.from_pylist(rows), buffer)
    return buffer.getvalue()


def test_a_split_is_downloaded_pinned_and_then_read_without_any_request(desk: Desk) -> None:
    commit = desk.hub.add("org/sums", {"README.md": "# Sums", "test.jsonl": lines(ROWS)})
    desk.hub.add("org/sums", {"test.jsonl": lines(ROWS[:2])})  # main has gone on

    first = desk.read(f"hf://org/sums?revision={commit}")
    asked = len(desk.hub.seen)
    again = desk.read(f"hf://org/sums?revision={commit}")

    assert list(first.rows) == list(again.rows) == ROWS
    assert (first.revision, first.origin) == (commit, "hub")
    assert first.where(3) == "org/sums test.jsonl line 4"
    assert asked
    assert len(desk.hub.seen) == asked
    assert desk.read("hf://org/sums").revision != commit


def test_a_branch_is_looked_up_in_every_run_and_its_commit_is_the_revision(desk: Desk) -> None:
    old = desk.hub.add("org/sums", {"test.jsonl": lines(ROWS[:3])})
    assert desk.read("hf://org/sums").revision == old

    new = desk.hub.add("org/sums", {"test.jsonl": lines(ROWS[:5])})
    rows = desk.read("hf://org/sums?revision=main")

    assert (rows.revision, len(rows.rows)) == (new, 5)


def test_offline_the_cache_answers_and_says_what_is_not_in_it(desk: Desk) -> None:
    commit = desk.hub.add("org/sums", {"test.jsonl": lines(ROWS), "train.jsonl": lines(ROWS[:9])})
    desk.read("hf://org/sums")
    desk.hub.seen.clear()
    away = {"HF_HUB_OFFLINE": "1", "HF_ENDPOINT": NO_NETWORK}

    rows = desk.read("hf://org/sums", env=away)

    assert (list(rows.rows), rows.revision) == (ROWS, commit)
    missing = desk.refusal("hf://org/sums?split=train", env=away)
    assert "train.jsonl" in missing
    assert "HF_HUB_OFFLINE forbids" in missing
    assert "nel data prefetch" in missing
    assert "revision v9 is not in" in desk.refusal("hf://org/sums?revision=v9", env=away)
    assert desk.hub.seen == []


def test_a_cache_that_another_program_filled_is_enough_offline(desk: Desk, tmp_path: Path) -> None:
    commit = "c" * 40
    folder = tmp_path / "cache" / "datasets--org--sums"
    (folder / "snapshots" / commit / "data").mkdir(parents=True)
    (folder / "refs").mkdir()
    (folder / "refs" / "main").write_text(commit)
    shard = folder / "snapshots" / commit / "data" / "test-00000-of-00002.jsonl"
    shard.write_text(lines(ROWS[:20]))

    incomplete = desk.refusal("hf://org/sums", env={"HF_HUB_OFFLINE": "1"})
    shard.with_name("test-00001-of-00002.jsonl").write_text(lines(ROWS[20:]))
    rows = desk.read("hf://org/sums", env={"HF_HUB_OFFLINE": "1"})

    assert "of the 2 files of split 'test' only 1 are there" in incomplete
    assert (list(rows.rows), rows.revision) == (ROWS, commit)


def test_only_the_files_that_a_limit_needs_are_downloaded(desk: Desk) -> None:
    shards = {f"data/test-0000{n}-of-00004.jsonl": lines(ROWS[n * 10 :][:10]) for n in range(4)}
    desk.hub.add("org/sums", shards)

    few = desk.read("hf://org/sums", limit=12)

    assert list(few.rows) == ROWS[:12]
    assert few.where(11) == "org/sums data/test-00001-of-00004.jsonl line 2"
    assert sum("/cdn/" in path for path in desk.hub.paths()) == 2


@pytest.mark.parametrize(
    ("split", "expected"),
    [
        ("test[:3]", ROWS[:3]),
        ("test[38:]", ROWS[38:]),
        ("test[-2:]", ROWS[-2:]),
        ("test[5:8]", ROWS[5:8]),
        ("test[:10%]", ROWS[:4]),
        ("test[50%:]", ROWS[20:]),
    ],
)
def test_a_slice_takes_some_rows_of_a_split(
    split: str, expected: list[dict[str, Any]], desk: Desk
) -> None:
    desk.hub.add("org/sums", {"test.jsonl": lines(ROWS)})

    assert list(desk.read(f"hf://org/sums?split={split}").rows) == expected
    assert list(desk.read(f"hf://org/sums?split={split}", limit=2).rows) == expected[:2]


CARD = """---
license: mit
configs:
- config_name: main
  data_files:
  - split: train
    path: main/train-*
  - split: test
    path: main/test-*
---
# Sums
"""


def test_parquet_and_json_lines_of_equal_rows_hash_alike(desk: Desk, tmp_path: Path) -> None:
    from pytest_nel.datasets.load import plain_rows

    desk.hub.add(
        "org/sums",
        {"README.md": CARD, "main/test-00000-of-00001.parquet": parquet(ROWS)},
    )
    (tmp_path / "data" / "org__sums" / "main").mkdir(parents=True)
    (tmp_path / "data" / "org__sums" / "main" / "test.jsonl").write_text(lines(ROWS))
    spec = "hf://org/sums?config=main&split=test"

    remote = desk.read(spec)
    local = desk.read(spec, env={"NEL_DATA_DIR": str(tmp_path / "data")})

    hashes = [plain_rows(one.rows, one.where, copy=False)[2] for one in (remote, local)]
    assert hashes == [digest(ROWS)] * 2
    assert (remote.origin, local.origin) == ("hub", "local")
    assert local.revision is None


def test_a_dataset_that_a_program_makes_is_read_as_the_hub_converted_it(desk: Desk) -> None:
    files = {"sums.py": "raise SystemExit", "a_en.tsv": "1\t2\n"}
    commit = desk.hub.add("org/sums", files)
    converted = {"en/test/0000.parquet": parquet(ROWS), "de/test/0000.parquet": parquet(ROWS[:2])}
    made = desk.hub.add("org/sums", converted, branch="refs/convert/parquet")

    english = desk.read("hf://org/sums?config=en")

    assert (list(english.rows), english.revision) == (ROWS, made)
    assert len(desk.read(f"hf://org/sums?config=de&revision={made}").rows) == 2
    assert "none is run: name files by file=" in desk.refusal(
        f"hf://org/sums?config=en&revision={commit}"
    )


def test_several_configurations_are_one_dataset_and_each_row_says_its_own(desk: Desk) -> None:
    desk.hub.add("org/sums", {f"sums_{one}.tsv": f"1 + 1\t2 {one}\n2\t3\n" for one in ("en", "de")})
    spec = "hf://org/sums?config=de,en&file=sums_{config}.tsv&columns=question,answer"

    rows = desk.read(spec)

    assert rows.rows[0] == {"question": "1 + 1", "answer": "2 de", "config": "de"}
    assert [row["config"] for row in rows.rows] == ["de", "de", "en", "en"]
    assert rows.where(2) == "org/sums/en sums_en.tsv line 1"
    assert [row["config"] for row in desk.read(spec, limit=3).rows] == ["de", "de", "en"]


def test_what_a_dataset_needs_is_said_before_and_after_it_is_fetched(desk: Desk) -> None:
    data = lines(ROWS)
    desk.hub.add("org/sums", {"test.jsonl": data}, gated=True, licence="mit")
    desk.hub.members = {"hf_me": {"org/sums"}}

    before = desk.source("hf://org/sums", env=token("hf_me")).files(fetch=False)
    after = desk.source("hf://org/sums", env=token("hf_me")).files(fetch=True)

    assert (before.state, before.size, list(before.paths)) == ("missing", len(data), [])
    assert (before.gated, before.licence) == (True, "mit")
    assert before.page == "https://huggingface.co/datasets/org/sums"
    assert (after.state, after.size) == ("cached", len(data))
    assert after.paths[0].read_text() == data


def test_other_clients_of_the_hub_and_we_share_files(
    desk: Desk, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    hub = pytest.importorskip("huggingface_hub")
    monkeypatch.setenv("HF_HUB_DISABLE_TELEMETRY", "1")
    commit = desk.hub.add("org/sums", {"test.jsonl": lines(ROWS), "train.jsonl": lines(ROWS[:3])})
    download: Callable[..., str] = hub.hf_hub_download
    how = {"repo_type": "dataset", "endpoint": desk.hub.url, "cache_dir": tmp_path / "cache"}

    theirs = download("org/sums", "test.jsonl", **how)
    ours = desk.source("hf://org/sums").files(fetch=True)
    desk.read("hf://org/sums?split=train")
    desk.hub.seen.clear()
    again = download("org/sums", "train.jsonl", revision=commit, local_files_only=True, **how)

    assert str(ours.paths[0]) == theirs
    assert Path(again).read_text() == lines(ROWS[:3])
    assert desk.hub.seen == []
