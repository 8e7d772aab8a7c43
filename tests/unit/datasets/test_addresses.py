"""What an ``hf://`` address says, and which files of a repository it means."""

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import DataError
from pytest_nel.datasets._address import Slice, parsed
from pytest_nel.datasets._splits import NeedsScript, files_of, head_of
from pytest_nel.datasets.hf import HubSource


def test_an_address_says_what_is_read() -> None:
    address = parsed("hf://org/name?config=a,b&split=train[:5]&revision=refs%2Fpr%2F1&columns=q,a")

    assert (address.id, address.configs, address.split) == ("org/name", ("a", "b"), "train")
    assert (address.rows, address.revision) == (Slice(None, "5"), "refs/pr/1")
    assert address.columns == ("q", "a")
    assert [part.config for part in address.parts] == ["a", "b"]
    assert parsed("hf://name").split == "test"


@pytest.mark.parametrize(
    ("spec", "words"),
    [
        ("hf://org/name?splt=test", "did you mean split?"),
        ("hf://org/name?trust_remote_code=1", "got trust_remote_code=1"),
        ("hf://org/name?split=", "expected each of"),
        ("hf://o/n?split=a&split=b", "at most once"),
        ("hf://o/n?split=train%2Btest", "expected one split"),
        ("hf://o/n?split=test[3]", "expected one split"),
        ("hf://o/n?config=a,,b", "expected names between commas"),
        ("hf://o/n?config=a,a", "each once"),
        ("hf://o/n?file=a.csv&split=test", "a file is read whole"),
        ("hf://o/n?file=a.csv&config=en", "give both"),
        ("hf://o/n?file=../a.csv", "expected a path in the repository"),
        ("hf://datasets/org/name", "expected hf://org/name"),
        ("hf://", "expected hf://org/name"),
        ("hf://a#b", "expected hf://org/name"),
        ("hf://[", "expected hf://org/name"),
    ],
)
def test_an_address_that_is_not_understood_is_refused(spec: str, words: str) -> None:
    with pytest.raises(DataError) as caught:
        HubSource(spec, base=Path())

    assert words in str(caught.value)
    assert spec in str(caught.value)


@given(
    start=st.none() | st.integers(-9, 9),
    stop=st.none() | st.integers(-9, 9),
    count=st.integers(0, 12),
)
def test_a_slice_is_pythons_and_its_first_rows_are_enough(
    start: int | None, stop: int | None, count: int
) -> None:
    rows = list(range(count))
    made = Slice(*(None if bound is None else str(bound) for bound in (start, stop)))

    begin, end = made.bounds(count)
    some = rows[: made.enough]
    first, last = made.bounds(len(some))

    assert rows[begin:end] == rows[start:stop]
    assert some[first:last] == rows[start:stop]


def chosen(
    paths: list[str], config: str | None = None, split: str = "test", *, card: str = ""
) -> list[str]:
    return files_of(paths, head_of(card), config, split, "dataset d")


CARD = """---
license: mit
configs:
- config_name: main
  data_files:
  - {split: train, path: main/train-*}
  - {split: test, path: [main/test-*]}
- config_name: diamond
  data_files: diamond.csv
- config_name: folder
  data_dir: inner
- config_name: deep
  data_files: {test: "deep/**/*.jsonl"}
---
# Name
"""
REPOSITORY = [
    *("README.md", ".gitattributes", "main/train-00000-of-00001.parquet"),
    *("main/test-00001-of-00002.parquet", "main/test-00000-of-00002.parquet"),
    *("diamond.csv", "inner/dev.tsv", "inner/test.tsv", "deep/test.jsonl", "deep/a/b.jsonl"),
]


@pytest.mark.parametrize(
    ("config", "split", "files"),
    [
        (
            "main",
            "test",
            ["main/test-00000-of-00002.parquet", "main/test-00001-of-00002.parquet"],
        ),
        ("diamond", "train", ["diamond.csv"]),
        ("folder", "validation", ["inner/dev.tsv"]),
        ("deep", "test", ["deep/a/b.jsonl", "deep/test.jsonl"]),
    ],
)
def test_the_readme_says_which_files_a_split_has(config: str, split: str, files: list[str]) -> None:
    assert chosen(REPOSITORY, config, split, card=CARD) == files


@pytest.mark.parametrize(
    ("paths", "config", "split", "files"),
    [
        (["README.md", "test.jsonl"], None, "test", ["test.jsonl"]),
        (["simple_qa_test_set.csv"], None, "test", ["simple_qa_test_set.csv"]),
        (["en/validation/0000.parquet"], "en", "validation", ["en/validation/0000.parquet"]),
        (["en/partial-test/0000.parquet"], None, "test", ["en/partial-test/0000.parquet"]),
        (["data/val.csv", "data/train.csv"], None, "validation", ["data/val.csv"]),
        (["test/a.json", "train/a.json"], None, "test", ["test/a.json"]),
        (["de/test.csv", "en/test.csv"], "en", "test", ["en/test.csv"]),
        (["rows.csv"], None, "train", ["rows.csv"]),
        (["dataset_infos.json", "test.csv.gz"], None, "test", ["test.csv.gz"]),
    ],
)
def test_without_it_names_and_folders_say_it(
    paths: list[str], config: str | None, split: str, files: list[str]
) -> None:
    assert chosen(paths, config, split) == files


@pytest.mark.parametrize(
    ("paths", "config", "split", "words"),
    [
        (REPOSITORY, None, "test", "several configurations, say which by config=: main, diamond"),
        (REPOSITORY, "mian", "test", "no configuration 'mian'. Did you mean 'main'?"),
        (REPOSITORY, "main", "validation", "no split 'validation'. Known: test, train"),
        (REPOSITORY[:4], "main", "test", "of the 2 files of split 'test' only 1 are there"),
        (REPOSITORY[:3], "main", "test", "split 'test' has no files"),
    ],
)
def test_what_is_not_there_is_named_with_what_is(
    paths: list[str], config: str | None, split: str, words: str
) -> None:
    with pytest.raises(DataError) as caught:
        chosen(paths, config, split, card=CARD)

    assert words in str(caught.value)


def test_a_kind_of_file_that_is_not_read_is_refused() -> None:
    card = "---\nconfigs:\n- config_name: a\n  data_files: data.arrow\n---\n"

    with pytest.raises(DataError, match=r"is in data\.arrow, a kind of file that is not read"):
        chosen(["data.arrow"], "a", "train", card=card)


def test_files_beside_a_program_are_not_guessed_at() -> None:
    with pytest.raises(NeedsScript, match=r"mgsm\.py"):
        chosen(["mgsm.py", "mgsm_en.tsv", "test.tsv"], "en")


def test_the_default_configuration_needs_no_name() -> None:
    card = "---\nconfigs:\n- {config_name: a, default: true, data_files: a.csv}\n"
    card += "- {config_name: b, data_files: b.csv}\n---\n"

    assert chosen(["a.csv", "b.csv"], split="train", card=card) == ["a.csv"]


@given(text=st.text() | st.text().map(lambda inner: f"---\n{inner}\n---\n"))
def test_no_readme_gives_anything_but_a_map(text: str) -> None:
    assert isinstance(head_of(text), dict)


SCALARS = st.none() | st.booleans() | st.integers() | st.text(max_size=5)
YAML = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(["configs", "config_name", "data_files", "data_dir", "split", "path"]),
            inner,
            max_size=4,
        )
    ),
    max_leaves=12,
)


@given(head=st.fixed_dictionaries({"configs": YAML}), config=st.none() | st.just("default"))
def test_no_head_gives_anything_but_files_or_a_data_error(
    head: dict[str, Any], config: str | None
) -> None:
    try:
        files = files_of(["data/test.jsonl", "a.py"], head, config, "test", "dataset d")
    except DataError:
        return
    assert files


def sharded(split: str, folder: str = "data") -> str:
    return f"{folder}/{split}-00000-of-00001.parquet"


def head_for(config: str, folder: str, *splits: str) -> str:
    files = "".join(f"  - split: {one}\n    path: {folder}/{one}-*\n" for one in splits)
    return f"---\nconfigs:\n- config_name: {config}\n  data_files:\n{files}---\n"


#: How repositories of well-known benchmarks are laid out: files, head, configuration, split, found.
LAYOUTS = {
    "gsm8k": (
        [sharded("test", "main"), sharded("train", "main"), sharded("test", "socratic")],
        head_for("main", "main", "train", "test"),
        *("main", "test", [sharded("test", "main")]),
    ),
    "MATH-500": (["README.md", "test.jsonl"], "# no head", None, "test", ["test.jsonl"]),
    "mgsm": (
        ["en/test/0000.parquet", "en/train/0000.parquet", "de/test/0000.parquet"],
        *("", "de", "test", ["de/test/0000.parquet"]),
    ),
    "mmlu": (
        [sharded("test", "all"), sharded("dev", "all"), sharded("test", "anatomy")],
        head_for("all", "all", "test", "validation", "dev"),
        *("all", "test", [sharded("test", "all")]),
    ),
    "MMLU-Pro": (
        [sharded("test"), sharded("validation"), "run_gpt4o.py"],
        head_for("default", "data", "test", "validation"),
        *(None, "test", [sharded("test")]),
    ),
    "gpqa": (
        ["gpqa_diamond.csv", "gpqa_extended.csv", "gpqa_main.csv", "gpqa_experts.csv"],
        "---\nconfigs:\n- config_name: gpqa_diamond\n  data_files: gpqa_diamond.csv\n---\n",
        *("gpqa_diamond", "train", ["gpqa_diamond.csv"]),
    ),
    "drop": (
        [sharded("train"), sharded("validation")],
        head_for("default", "data", "train", "validation"),
        *(None, "validation", [sharded("validation")]),
    ),
    "trivia_qa": (
        [sharded("validation", "rc.nocontext"), sharded("validation", "rc")],
        head_for("rc.nocontext", "rc.nocontext", "train", "validation", "test"),
        *("rc.nocontext", "validation", [sharded("validation", "rc.nocontext")]),
    ),
    "humaneval": (
        [sharded("test", "openai_humaneval")],
        head_for("openai_humaneval", "openai_humaneval", "test"),
        *(None, "test", [sharded("test", "openai_humaneval")]),
    ),
    "SimpleQA": (
        ["README.md", "simple_qa_test_set.csv"],
        "---\nlicense: mit\n---\n",
        *(None, "test", ["simple_qa_test_set.csv"]),
    ),
}


@pytest.mark.parametrize("name", LAYOUTS)
def test_the_layouts_of_well_known_benchmarks_are_understood(name: str) -> None:
    paths, card, config, split, files = LAYOUTS[name]

    assert chosen(paths, config, split, card=card) == files
