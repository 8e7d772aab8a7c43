"""``nel list``: what is known of benchmarks and plugins without running or downloading them."""

import json
from pathlib import Path

import pytest

from pytest_nel import ScorerInput, VerifyResult, answer_line, benchmark, scorer
from pytest_nel.cli._benchmarks import _of, first_comment
from pytest_nel.cli.list import KINDS
from pytest_nel.cli.main import main


def listed(capsys: pytest.CaptureFixture[str], *words: str) -> list[dict[str, object]]:
    assert main(["list", *words, "--json"]) == 0
    found: list[dict[str, object]] = json.loads(capsys.readouterr().out)
    return found


def test_a_benchmark_has_its_size_type_answers_and_needs(
    capsys: pytest.CaptureFixture[str],
) -> None:
    (basics,) = (row for row in listed(capsys) if row["name"] == "basics")

    assert (basics["size"], basics["type"], basics["network"], basics["needs"]) == (
        *(72, "chat"),
        *(False, ""),
    )
    assert basics["answer"] == "fuzzy_match, mcq_extract, numeric_match"


def test_data_from_the_hub_is_not_downloaded_to_be_counted() -> None:
    @benchmark(
        name="far",
        dataset="hf://a/b?split=test",
        prompt="{q}",
        requirements=["sympy>=1"],
        judge="generic",
    )
    @scorer
    def far(sample: ScorerInput) -> VerifyResult:
        return answer_line(sample)

    known = _of("far", "Far.", far)

    assert (known.size, known.answer, known.judge) == (None, "answer_line", True)
    assert known.needs == "judge, network, pytest-nel[hf], sympy>=1"


def test_the_built_in_benchmarks_are_listed_with_the_size_of_the_whole_set(
    capsys: pytest.CaptureFixture[str],
) -> None:
    sizes = {
        row["name"]: (row["size"], row["network"], row.get("trouble")) for row in listed(capsys)
    }

    assert sizes["mgsm"] == (2750, True, None)
    assert sizes["mmlu"] == (14042, True, None)
    assert {"drop", "gpqa", "gsm8k", "math500", "mmlu_pro", "triviaqa", "xstest"} < set(sizes)
    assert {trouble for _, _, trouble in sizes.values()} == {None}
    assert {name for name, (size, _, _) in sizes.items() if not size} == {
        *("nmp_harbor", "pinchbench", "terminal_bench_hard"),  # params say which data they ask
        *("terminal_bench_hard_aa_split", "terminal_bench_v1"),
    }


def test_rows_and_files_beside_a_benchmark_are_counted(tmp_path: Path) -> None:
    (tmp_path / "rows.jsonl").write_text('{"q": 1}\n\n{"q": 2}\n')
    for dataset, size in (([{"q": "1"}] * 3, 3), (tmp_path / "rows.jsonl", 2)):

        @benchmark(name="near", dataset=dataset, prompt="{q}")
        @scorer
        def near(sample: ScorerInput) -> bool:
            return bool(sample.response)

        assert (_of("near", "", near).size, _of("near", "", near).answer) == (size, "own")


@pytest.mark.parametrize("kind", KINDS)
def test_each_kind_can_be_listed(kind: str, capsys: pytest.CaptureFixture[str]) -> None:
    rows = listed(capsys, kind)

    assert main(["list", kind]) == 0
    text = capsys.readouterr().out
    assert text == f"no {kind}\n" if not rows else len(text.splitlines()) == len(rows) + 1
    assert all(row["name"] and row["description"] for row in rows)


@pytest.mark.parametrize(
    ("kind", "name"),
    [("solvers", "simple"), ("services", "llama_cpp"), ("scorers", "numeric_match")],
)
def test_plugins_are_listed_by_name(
    kind: str, name: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert name in {row["name"] for row in listed(capsys, kind)}


def test_a_policy_is_described_by_its_first_comment(tmp_path: Path) -> None:
    file = tmp_path / "p.yaml"
    file.write_text("# Is it good\n# enough? Only if.\n#\nversion: 1\n")

    assert first_comment(file) == "Is it good enough?"
