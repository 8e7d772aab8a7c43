"""A row that a benchmark refuses is named: its file, its line, its field, and what was in it."""

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.core.errors import DataError
from pytest_nel.environments import resolve
from pytest_nel.environments.builtin import BenchmarkEnvironment

GOOD = {"question": "1+1?", "answer": "It is 2.\n#### 2"}


def refusal_of_gsm8k(base: Path, monkeypatch: pytest.MonkeyPatch, row: dict[str, Any]) -> str:
    folder = base / "openai__gsm8k" / "main"
    folder.mkdir(parents=True)
    (folder / "test.jsonl").write_text(f"{json.dumps(GOOD)}\n\n{json.dumps(row)}\n")
    monkeypatch.setenv("NEL_DATA_DIR", str(base))
    with pytest.raises(DataError) as raised:
        resolve("gsm8k", base=base, params={})
    said = str(raised.value)
    assert f"{folder / 'test.jsonl'} line 3" in said
    assert "in the place of hf://openai/gsm8k" in said
    assert "NEL_DATA_DIR" in said
    return said


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ({"problem": "1+1?", "answer": GOOD["answer"]}, "no field 'question' in the row, which"),
        ({**GOOD, "answer": 2}, "had read the field 'answer' last, which is int 2"),
        ({**GOOD, "answer": "two"}, "line 3 (row 2): gsm8k: expected a solution"),
        ({**GOOD, "question": None}, "the prompt uses {question}, which is null"),
        ({**GOOD, "question": " \n"}, "line 3 is empty"),
        ({**GOOD, "answer": "two"}, "ends in '#### 18', got …'two'"),
    ],
)
def test_a_row_of_ones_own_file_that_a_built_in_refuses_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, row: dict[str, Any], said: str
) -> None:
    refusal = refusal_of_gsm8k(tmp_path, monkeypatch, row)

    assert said in refusal


def test_a_prompt_around_an_empty_question_asks_nothing(tmp_path: Path) -> None:
    judged: Any = {"scorer": lambda _: 1.0, "target_field": None}
    rows = [{"question": "", "passage": ""}, {"question": "", "passage": "x"}]
    asks = Benchmark(name="a", dataset=rows, prompt="{passage} Q: {question}", **judged)
    reads = Benchmark(name="b", dataset=rows[1:], prompt="Sum up: {passage}", **judged)

    with pytest.raises(DataError, match=r"the question \(field 'question'\) of rows\[0\] is empty"):
        BenchmarkEnvironment(asks, base=tmp_path)

    assert len(BenchmarkEnvironment(reads, base=tmp_path)) == 1


@pytest.mark.parametrize("of", ["prepare_row", "seed_fn"])
def test_a_refusal_in_the_authors_words_gets_the_place_of_the_row(tmp_path: Path, of: str) -> None:
    def refuses(row: dict[str, Any], *_: object) -> None:
        msg = f"no such level: {row.get('level')}"
        raise DataError(msg)

    (tmp_path / "rows.csv").write_text("level\nhigh\n")
    given: dict[str, Any] = {of: refuses} | ({} if of == "seed_fn" else {"prompt": "{level}"})
    made = Benchmark(name="own", dataset="rows.csv", scorer=None, **given)

    with pytest.raises(DataError) as raised:
        BenchmarkEnvironment(made, base=tmp_path)

    said = str(raised.value)
    assert f"own: {of} refuses rows.csv line 2 (row 1): no such level: high; " in said
    assert "it had read the field 'level' last, which is str 'high'" in said
    assert "NEL_DATA_DIR" not in said
