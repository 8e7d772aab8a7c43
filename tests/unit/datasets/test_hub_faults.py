"""Hubs that are slow, broken, closed, or give something else."""

import hashlib
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

import pytest

from tests.support.fake_hub import Fault, git_hash
from tests.support.hub_desk import NO_NETWORK, ROWS, Desk, lines, token
from tests.support.processes import until


def test_a_broken_download_goes_on_where_it_broke(desk: Desk) -> None:
    data = lines(ROWS)
    desk.hub.add("org/sums", {"test.jsonl": data})
    desk.hub.faults += [Fault("/cdn/", cut=500), Fault("/cdn/", cut=300)]

    rows = desk.read("hf://org/sums")

    asked = [one.headers.get("Range") for one in desk.hub.seen if one.path.startswith("/cdn/")]
    assert list(rows.rows) == ROWS
    assert asked == [None, "bytes=500-", "bytes=800-"]
    assert desk.waits == [1.0, 1.0]


def test_a_download_that_a_killed_process_left_is_gone_on_with(desk: Desk, tmp_path: Path) -> None:
    data = lines(ROWS).encode()
    desk.hub.add("org/sums", {"test.jsonl": data})
    blobs = tmp_path / "cache" / "datasets--org--sums" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / f"{hashlib.sha256(data).hexdigest()}.incomplete").write_bytes(data[:600])

    rows = desk.read("hf://org/sums")

    assert list(rows.rows) == ROWS
    assert [one.headers.get("Range") for one in desk.hub.seen][-1] == "bytes=600-"


def test_what_was_left_of_something_else_is_fetched_anew(desk: Desk, tmp_path: Path) -> None:
    data = lines(ROWS).encode()
    desk.hub.add("org/sums", {"test.jsonl": data})
    blobs = tmp_path / "cache" / "datasets--org--sums" / "blobs"
    blobs.mkdir(parents=True)
    (blobs / f"{hashlib.sha256(data).hexdigest()}.incomplete").write_bytes(b"x" * 600)

    assert list(desk.read("hf://org/sums").rows) == ROWS


@pytest.mark.parametrize("count", [40, 2], ids=["large", "small"])
def test_content_that_is_not_what_the_hub_lists_is_refused(
    count: int, desk: Desk, tmp_path: Path
) -> None:
    data = lines(ROWS[:count]).encode()
    desk.hub.add("org/sums", {"test.jsonl": data})
    place = "/cdn/" if count == 40 else "/resolve/"
    desk.hub.faults.append(Fault(place, instead=data.replace(b"1", b"7")))

    said = desk.refusal("hf://org/sums")

    kind, oid = ("sha256", hashlib.sha256(data).hexdigest())
    kind, oid = (kind, oid) if count == 40 else ("git hash", git_hash(data))
    assert f"expected {kind} {oid}, got " in said
    assert [path.name for path in (tmp_path / "cache").rglob("*.incomplete")] == []
    assert len(desk.read("hf://org/sums").rows) == count  # and the next run gets it right


def test_what_comes_beyond_the_size_that_the_hub_lists_is_not_waited_for(desk: Desk) -> None:
    data = lines(ROWS).encode()
    desk.hub.add("org/sums", {"test.jsonl": data})
    desk.hub.faults.append(Fault("/cdn/", instead=bytes(32 << 20)))

    said = desk.refusal("hf://org/sums")

    assert f"expected {len(data)} bytes, got more" in said
    assert until(lambda: desk.hub.hung_up == 1), "it was read to its end"


def test_the_same_piece_again_and_again_is_no_progress(desk: Desk) -> None:
    desk.hub.add("org/sums", {"test.jsonl": lines(ROWS)})
    desk.hub.faults += [
        one for _ in range(40) for one in (Fault("/cdn/", cut=500), Fault("/cdn/", status=416))
    ]

    said = desk.refusal("hf://org/sums")

    assert "tried 5 times" in said
    assert desk.waits == [1.0, 2.0, 4.0, 8.0]


def test_a_busy_hub_is_waited_for_as_long_as_it_says(desk: Desk) -> None:
    desk.hub.add("org/sums", {"test.jsonl": lines(ROWS)})
    busy = {"Retry-After": "7"}
    desk.hub.faults += [Fault("/api/", 429, busy), Fault("/resolve/", 429, busy)]
    desk.hub.faults += [Fault("/resolve/", 503)]

    assert len(desk.read("hf://org/sums").rows) == 40
    assert desk.waits == [7.0, 7.0, 2.0]


@pytest.mark.parametrize(
    ("fault", "words"),
    [
        (Fault("/api/", 429, {"Retry-After": "9000"}), "asks to wait 9000 s (Retry-After)"),
        (Fault("/api/", 429, times=9), "answered 429 Too Many Requests 5 times: run again later"),
        (Fault("/cdn/", 500, times=9), "answered 500"),
        (Fault("/api/", 400), "answered 400"),
    ],
    ids=["too long", "always busy", "broken", "bad request"],
)
def test_a_hub_that_does_not_answer_is_named(fault: Fault, words: str, desk: Desk) -> None:
    desk.hub.add("org/sums", {"test.jsonl": lines(ROWS)})
    desk.hub.faults.append(replace(fault))

    said = desk.refusal("hf://org/sums")

    assert words in said
    assert "hf://org/sums" in said
    assert "127.0.0.1" in said or "localhost" in said


def test_a_hub_that_cannot_be_reached_is_named(desk: Desk) -> None:
    said = desk.refusal("hf://org/sums", env={"HF_ENDPOINT": NO_NETWORK})

    assert "127.0.0.1 cannot be reached, tried 5 times" in said
    assert desk.waits == [1.0, 2.0, 4.0, 8.0]


def test_a_gated_dataset_names_the_terms_and_the_variable_of_the_token(desk: Desk) -> None:
    desk.hub.add("org/secret", {"test.jsonl": lines(ROWS)}, gated=True)
    desk.hub.members = {"hf_member": {"org/secret"}, "hf_stranger": set()}
    page = "accept its terms at https://huggingface.co/datasets/org/secret"

    nobody = desk.refusal("hf://org/secret")
    stranger = desk.refusal("hf://org/secret", env=token("hf_stranger"))
    wrong = desk.refusal("hf://org/secret", env=token("hf_wrong"))
    member = desk.read("hf://org/secret", env=token("hf_member"))

    assert page in nobody
    assert "then export HF_TOKEN=" in nobody
    assert page in stranger
    assert "HF_TOKEN" in stranger
    assert "does not know the token in HF_TOKEN" in wrong
    assert len(member.rows) == 40
    (elsewhere,) = [one for one in desk.hub.seen if one.path.startswith("/cdn/")]
    assert "Authorization" not in {name.title() for name in elsewhere.headers}
    assert "hf_" not in nobody + stranger.replace("hf://", "") + wrong.replace("hf://", "")


def test_a_token_is_found_where_logging_in_leaves_it(desk: Desk, tmp_path: Path) -> None:
    desk.hub.add("org/secret", {"test.jsonl": lines(ROWS)}, gated=True)
    desk.hub.members = {"hf_member": {"org/secret"}}
    (tmp_path / "cache").mkdir()
    (tmp_path / "cache" / "token").write_text("hf_member\n")

    assert len(desk.read("hf://org/secret").rows) == 40


def test_a_dataset_or_revision_that_is_not_there_is_named(desk: Desk) -> None:
    desk.hub.add("org/sums", {"test.jsonl": lines(ROWS)})
    desk.hub.members = {"hf_me": set()}

    assert "no dataset org/summs for everybody" in desk.refusal("hf://org/summs")
    assert "export HF_TOKEN" in desk.refusal("hf://org/summs")
    assert "the token in HF_TOKEN may not" in desk.refusal("hf://org/summs", env=token("hf_me"))
    assert "org/sums has no revision 'v9'" in desk.refusal("hf://org/sums?revision=v9")
    assert "no split 'tset'" in desk.refusal("hf://org/sums?split=tset")
    assert "there is no file 'a.csv'; there are test.jsonl" in desk.refusal(
        "hf://org/sums?file=a.csv"
    )


def test_what_is_no_hub_is_refused(desk: Desk) -> None:
    desk.hub.add("org/sums", {"../evil": "x", "test.jsonl": lines(ROWS)})

    assert "gave no list of files" in desk.refusal("hf://org/sums")
    assert "HF_ENDPOINT: expected http(s)://" in desk.refusal(
        "hf://o/n", env={"HF_ENDPOINT": "hub.local"}
    )


def test_a_full_or_closed_disk_is_a_data_error(desk: Desk, tmp_path: Path) -> None:
    desk.hub.add("org/sums", {"test.jsonl": lines(ROWS)})
    (tmp_path / "cache").write_text("a file where the folder should be")

    assert "it cannot be stored" in desk.refusal("hf://org/sums")


@pytest.mark.parametrize("count", [40, 2], ids=["large", "small"])
def test_of_a_mirror_that_lists_names_the_headers_say_the_hash(count: int, desk: Desk) -> None:
    desk.hub.names_only = True
    data = lines(ROWS[:count]).encode()
    desk.hub.add("org/sums", {"test.jsonl": data})
    place = "/cdn/" if count == 40 else "/resolve/"
    desk.hub.faults.append(Fault(place, instead=data.replace(b"1", b"7")))

    said = desk.refusal("hf://org/sums")

    assert "is not what was expected: expected " in said
    assert list(desk.read("hf://org/sums").rows) == ROWS[:count]


def test_a_token_that_a_server_says_back_is_not_shown(desk: Desk) -> None:
    desk.hub.add("org/sums", {"test.jsonl": lines(ROWS)})
    desk.hub.members = {"hf_abcdefghijkl": set()}
    desk.hub.faults.append(Fault("/api/", 400, {"X-Error-Message": "no hf_abcdefghijkl here"}))

    said = desk.refusal("hf://org/sums", env=token("hf_abcdefghijkl"))

    assert "answered 400 no [API key] here" in said


def test_two_that_want_the_same_file_download_it_once(desk: Desk) -> None:
    desk.hub.add("org/sums", {"test.jsonl": lines(ROWS)})

    with ThreadPoolExecutor(4) as pool:
        read = list(pool.map(desk.read, ["hf://org/sums"] * 4))

    assert all(list(rows.rows) == ROWS for rows in read)
    assert sum("/cdn/" in path for path in desk.hub.paths()) == 1


def test_a_hub_whose_name_means_nothing_is_given_up_soon_with_the_way_out(desk: Desk) -> None:
    desk.env["HF_ENDPOINT"] = "http://no-such-host.invalid"

    said = desk.refusal("hf://org/sums")

    assert "no-such-host.invalid cannot be reached, tried 2 times" in said
    assert "nel data prefetch" in said
    assert "NEL_DATA_DIR" in said
    assert desk.waits == [1.0]
