"""Files of NEL_DATA_DIR, and files of the web."""

import gzip
import hashlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.core.errors import DataError
from pytest_nel.datasets._fetch import Fetcher
from pytest_nel.datasets.hf import HubSource
from pytest_nel.datasets.load import load_rows
from pytest_nel.datasets.source import Rows
from pytest_nel.datasets.web import WebSource
from tests.support.fake_hub import FakeHub, Fault

NO_NETWORK = "http://127.0.0.1:9"
CONTENT = b"q,a\n" + b"".join(b"%d,%d\n" % (n, n * n) for n in range(100))
PIN = hashlib.sha256(CONTENT).hexdigest()


@pytest.fixture(scope="module")
def server() -> Iterator[FakeHub]:
    with FakeHub() as hub:
        hub.blobs["rows.csv"] = CONTENT
        yield hub


@pytest.fixture
def hub(server: FakeHub) -> FakeHub:
    server.faults.clear()
    server.seen.clear()
    return server


class Reader:
    """A user with a data folder and nothing in any cache."""

    def __init__(self, folder: Path) -> None:
        self.data = folder / "data"
        self.data.mkdir()
        self.env = {
            "NEL_DATA_DIR": str(self.data),
            "NEL_CACHE_DIR": str(folder / "cache"),
            "HF_HOME": str(folder / "hub"),
            "HF_ENDPOINT": NO_NETWORK,
        }

    def put(self, name: str, text: str = '{"q": 1}\n') -> None:
        path = self.data / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)

    def read(self, spec: str, **env: str) -> Rows:
        kind: Any = HubSource if spec.startswith("hf:") else WebSource
        fetcher = Fetcher(sleep=lambda _: None)
        source = kind(spec, base=Path(), env={**self.env, **env}.get, fetcher=fetcher)
        rows: Rows = source.read(None)
        return rows

    def refusal(self, spec: str, **env: str) -> str:
        with pytest.raises(DataError) as caught:
            self.read(spec, **env)
        return str(caught.value)


@pytest.fixture
def reader(tmp_path: Path) -> Reader:
    return Reader(tmp_path)


@pytest.mark.parametrize(
    ("spec", "file"),
    [
        ("hf://org/sums", "org__sums/test.jsonl"),
        ("hf://org/sums?split=train&revision=v1", "org__sums/train.jsonl"),
        ("hf://org/sums?config=main", "org__sums/main/test.jsonl"),
        ("hf://org/sums?file=in/rows.jsonl", "org__sums/in/rows.jsonl"),
        ("hf://sums", "sums/test.jsonl"),
    ],
)
def test_a_file_that_is_called_like_the_dataset_takes_its_place(
    spec: str, file: str, reader: Reader
) -> None:
    reader.put(file)

    rows = reader.read(spec)

    assert list(rows.rows) == [{"q": 1}]
    assert (rows.origin, rows.revision) == ("local", None)
    assert rows.where(0) == f"{reader.data / file} line 1"


@pytest.mark.parametrize(
    ("key", "spec"),
    [
        ("org/sums", "hf://org/sums"),
        ("org/sums:test", "hf://org/sums"),
        ("org/sums:train", "hf://org/sums?split=train"),
        ("org/sums/main", "hf://org/sums?config=main"),
        ("org/sums/main:dev", "hf://org/sums?config=main&split=dev"),
        ("org/sums/a.csv", "hf://org/sums?file=a.csv"),
        ("https://host/a.csv", f"https://host/a.csv#sha256={PIN}"),
    ],
)
def test_the_map_names_a_file_for_a_dataset(key: str, spec: str, reader: Reader) -> None:
    reader.put("mine/rows.jsonl")
    reader.put("datasets.yaml", f'"{key}": mine/rows.jsonl\n')

    assert list(reader.read(spec).rows) == [{"q": 1}]


@pytest.mark.parametrize("spec", ["hf://org/sums?config=main", "hf://org/sums?split=train"])
def test_a_file_for_one_split_is_not_taken_for_another(spec: str, reader: Reader) -> None:
    reader.put("org__sums/test.jsonl")
    reader.put("datasets.yaml", "org/sums: org__sums/test.jsonl\n")

    assert "nor is it in NEL_DATA_DIR" in reader.refusal(spec, HF_HUB_OFFLINE="1")


def test_several_configurations_come_from_files_of_their_own(reader: Reader) -> None:
    reader.put("mgsm_en.tsv", "one?\t1\n")
    reader.put("org__sums/de/test.tsv", "eins?\t1\n")
    reader.put("datasets.yaml", "org/sums/en: mgsm_en.tsv\n")

    rows = reader.read("hf://org/sums?config=en,de&columns=question,answer")

    assert [row["question"] for row in rows.rows] == ["one?", "eins?"]
    assert [row["config"] for row in rows.rows] == ["en", "de"]


MAIN = "hf://openai/gsm8k?config=main"
WANTED = "openai__gsm8k/main/test{.jsonl,"


@pytest.mark.parametrize(
    ("file", "named", "wanted"),
    [
        ("openai--gsm8k/main/test.jsonl", "a folder {data}/openai--gsm8k:", "openai__gsm8k"),
        ("OpenAI__GSM8K/main/test.jsonl", "a folder {data}/OpenAI__GSM8K:", "openai__gsm8k"),
        ("gsm8k/test.jsonl", "a folder {data}/gsm8k:", "openai__gsm8k"),
        ("openai/gsm8k/test.jsonl", "a folder {data}/openai/gsm8k:", "openai__gsm8k"),
        ("openai__gms8k/main/test.jsonl", "a folder {data}/openai__gms8k:", "openai__gsm8k"),
        ("gsm8k.jsonl", "a file {data}/gsm8k.jsonl:", WANTED),
        ("gsm8k_main_test.jsonl.gz", "a file {data}/gsm8k_main_test.jsonl.gz:", WANTED),
        ("openai__gsm8k/test.jsonl", "in {data}/openai__gsm8k there is test.jsonl:", WANTED),
        ("openai__gsm8k/Main/test.csv", "in {data}/openai__gsm8k there is Main/:", WANTED),
        ("openai__gsm8k/main/train.jsonl", "main there is train.jsonl:", WANTED),
        ("openai__gsm8k/main/test.json.txt", "main there is test.json.txt:", WANTED),
        ("openai__gsm8k/main/Test.jsonl", "main there is Test.jsonl:", WANTED),
    ],
)
def test_a_file_that_is_nearly_called_like_the_dataset_is_named(
    file: str, named: str, wanted: str, reader: Reader
) -> None:
    reader.put(file)

    said = reader.refusal(MAIN, HF_HUB_OFFLINE="1")

    hint = said.partition(named.format(data=reader.data))[2]
    assert f"{reader.data}/{wanted}" in hint


@pytest.mark.parametrize(
    "key", ["OpenAI/gsm8k", "gsm8k", "openai--gsm8k", "openai/gsm8k:main", "opena1/gsm8k/main:test"]
)
def test_a_name_of_the_map_that_is_nearly_the_datasets_is_named(key: str, reader: Reader) -> None:
    reader.put("rows.jsonl")
    reader.put("datasets.yaml", f'"{key}": rows.jsonl\n')

    said = reader.refusal(MAIN, HF_HUB_OFFLINE="1")

    assert f"datasets.yaml has {key!r}" in said
    assert "another name than 'openai/gsm8k/main:test'" in said


def test_what_is_like_nothing_gets_no_hint(reader: Reader) -> None:
    reader.put("org__other/test.jsonl")
    reader.put("rows.csv", "a\n1\n")
    reader.put("datasets.yaml", "org/other: rows.csv\n")

    said = reader.refusal(MAIN, HF_HUB_OFFLINE="1")

    assert "it should be" not in said
    assert "another name" not in said


def test_what_is_nowhere_names_both_places(reader: Reader) -> None:
    said = reader.refusal("hf://org/sums?config=main", HF_HUB_OFFLINE="1")

    assert "is not in" in said
    assert str(Path("hub", "datasets--org--sums")) in said
    assert "org/sums/main:test or org/sums/main in" in said
    assert str(reader.data / "org__sums" / "main" / "test") in said


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ({"org__sums/test.csv": "q\n1\n", "org__sums/test.jsonl": "{}"}, "are both there: keep"),
        ({"datasets.yaml": "org/sums: gone.jsonl\n"}, "org/sums: no file "),
        ({"datasets.yaml": "- org/sums\n"}, "expected a map from datasets to files"),
        ({"datasets.yaml": "org/sums: 3\n"}, "expected the path of a file"),
        ({"datasets.yaml": "a: b\n  c: d\n"}, "datasets.yaml:2: cannot be read"),
        ({"datasets.yaml": "a: b\n\na: c\n"}, "datasets.yaml:3: a stands in line 1 already"),
    ],
)
def test_a_folder_that_is_not_clear_is_refused(
    files: dict[str, str], words: str, reader: Reader
) -> None:
    for name, text in files.items():
        reader.put(name, text)

    assert words in reader.refusal("hf://org/sums")


def test_a_folder_that_is_missing_is_refused(reader: Reader) -> None:
    said = reader.refusal("hf://org/sums", NEL_DATA_DIR="/nowhere/at/all")

    assert "NEL_DATA_DIR: expected a folder, got /nowhere/at/all" in said


def test_what_is_not_in_the_folder_comes_from_the_hub(reader: Reader, hub: FakeHub) -> None:
    commit = hub.add("org/other", {"test.jsonl": '{"q": 2}\n'})

    rows = reader.read("hf://org/other", HF_ENDPOINT=hub.url)

    assert (list(rows.rows), rows.origin, rows.revision) == ([{"q": 2}], "hub", commit)


def test_a_file_of_the_web_is_downloaded_once(reader: Reader, hub: FakeHub) -> None:
    hub.faults += [Fault("/cdn/", cut=50), Fault("/cdn/", 429, {"Retry-After": "1"})]
    spec = f"{hub.url}/cdn/rows.csv?raw=true#sha256={PIN}"

    first = reader.read(spec)
    again = reader.read(spec, HF_HUB_OFFLINE="1")

    assert list(first.rows) == list(again.rows)
    assert len(first.rows) == 100
    assert (first.origin, first.revision) == ("web", f"sha256:{PIN}")
    assert first.where(1) == "rows.csv line 3"
    assert [one.headers.get("Range") for one in hub.seen] == [None, "bytes=50-", "bytes=50-"]


def test_a_file_of_the_web_with_other_content_is_refused(
    reader: Reader, hub: FakeHub, tmp_path: Path
) -> None:
    hub.faults.append(Fault("/cdn/", instead=CONTENT + b"1,1\n"))
    spec = f"{hub.url}/cdn/rows.csv#sha256={PIN}"

    said = reader.refusal(spec)

    assert f"expected sha256 {PIN}, got " in said
    assert len(reader.read(spec).rows) == 100
    (cached,) = (tmp_path / "cache").rglob("rows.csv")
    cached.write_bytes(CONTENT[:-9])  # a disk that lost the end
    assert len(reader.read(spec).rows) == 100


def test_a_file_of_the_web_must_be_pinned_and_is_told_how(reader: Reader, hub: FakeHub) -> None:
    said = reader.refusal(f"{hub.url}/cdn/rows.csv")

    assert f"pin it, as {hub.url}/cdn/rows.csv#sha256={PIN}" in said


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("https://host/rows.zip#sha256=" + "0" * 64, "expected a file ending in .jsonl, .csv"),
        ("https://host/rows.csv#sha256=abc", "expected 64 hex digits in lower case, got 'abc'"),
        ("https://host/rows.csv#md5=abc", "expected columns and sha256"),
        ("https://host/rows.csv#abc", "behind # expected"),
        ("https:///rows.csv", "expected a file ending in"),
        ("https://host:x/rows.csv", "expected a file ending in"),
    ],
)
def test_a_web_address_that_is_not_understood_is_refused(
    spec: str, words: str, reader: Reader
) -> None:
    assert words in reader.refusal(spec)


def test_offline_a_file_of_the_web_names_both_places(reader: Reader) -> None:
    said = reader.refusal(f"https://host/rows.csv#sha256={PIN}", HF_HUB_OFFLINE="1")

    assert "HF_HUB_OFFLINE forbids" in said
    assert "https://host/rows.csv in " in said
    assert "datasets.yaml" in said


def test_a_compressed_file_is_read_like_any(tmp_path: Path) -> None:
    (tmp_path / "a.jsonl.gz").write_bytes(gzip.compress(b'{"q": 1}\n{"q": \n'))

    with pytest.raises(DataError, match=r"a\.jsonl\.gz line 2: not a JSON object"):
        load_rows("a.jsonl.gz", base=tmp_path)
    assert load_rows("a.jsonl.gz", base=tmp_path, limit=1).rows == [{"q": 1}]
    (tmp_path / "b.csv.gz").write_bytes(b"q\n1\n")
    with pytest.raises(DataError, match=r"b\.csv\.gz: no readable gzip file"):
        load_rows("b.csv.gz", base=tmp_path)
