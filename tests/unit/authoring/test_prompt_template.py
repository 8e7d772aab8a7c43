"""Prompt templates."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.authoring.template import compile_template, prompt_text
from pytest_nel.core.errors import DataError


def render(template: str, **row: object) -> str:
    return compile_template(template, "b.py:b").render(row, "d.jsonl line 3")


def refusal(template: str, **row: object) -> str:
    with pytest.raises(DataError) as caught:
        render(template, **row)
    return str(caught.value)


@pytest.mark.parametrize(
    ("template", "row", "text"),
    [
        ("Q: {q}\nA:", {"q": "why?"}, "Q: why?\nA:"),
        ('Return {{"a": 1}}. {q}', {"q": "x"}, 'Return {"a": 1}. x'),
        ("{n:>4}|{x:.2f}|{s!r}", {"n": 7, "x": 1.005, "s": "a"}, "   7|1.00|'a'"),
        ("{question text}{b-c}{ü}", {"question text": 1, "b-c": 2, "ü": 3}, "123"),
        ("no fields", {}, "no fields"),
        ("{0}", {"0": "a column called 0"}, "a column called 0"),
    ],
)
def test_fields_are_filled_in(template: str, row: dict[str, object], text: str) -> None:
    assert render(template, **row) == text


@given(st.text(), st.text())
def test_braces_in_values_are_never_interpreted(value: str, other: str) -> None:
    assert render("{a}|{b}", a=value, b=other) == f"{value}|{other}"


@given(st.text())
def test_any_text_with_doubled_braces_is_itself(text: str) -> None:
    assert render(text.replace("{", "{{").replace("}", "}}")) == text


def test_a_missing_field_names_the_row_the_fields_and_the_nearest() -> None:
    message = refusal("{qestion}", question="x", id=1)

    assert "b.py:b: the prompt uses {qestion}, but d.jsonl line 3 has no field" in message
    assert "Did you mean 'question'? Fields: id, question" in message


@pytest.mark.parametrize(
    "template", ['Return {"a":1}. {q}', "{}", "{ q}", "{q!x", "a } b", "a { b", "{q:{w}}", "{a'b}"]
)
def test_braces_that_are_no_field_are_explained(template: str) -> None:
    assert "for a literal brace write {{ or }}" in refusal(template, q="x")


@pytest.mark.parametrize("template", ["{a.b}", "{a[0]}", "{a.__class__.__mro__}"])
def test_looking_inside_a_value_is_refused(template: str) -> None:
    assert "looks inside a field" in refusal(template, a={"b": 1})


def test_null_and_values_that_do_not_suit_are_refused() -> None:
    assert "which is null in d.jsonl line 3" in refusal("{q}", q=None)
    assert "does not suit 'x'" in refusal("{q:.2f}", q="x")


def test_a_text_file_beside_the_benchmark_is_read(tmp_path: Path) -> None:
    (tmp_path / "p.txt").write_bytes("\ufeffQ: {q}\n\n".encode())

    assert prompt_text("p.txt", tmp_path, "b") == "Q: {q}\n"
    assert prompt_text(Path("p.txt"), tmp_path, "b") == "Q: {q}\n"


@pytest.mark.parametrize("prompt", ["{q}", "Read notes.txt", "Summarise {doc}.md", "a\nb.txt"])
def test_other_text_is_the_prompt_itself(prompt: str, tmp_path: Path) -> None:
    assert prompt_text(prompt, tmp_path, "b") == prompt


def test_a_prompt_file_that_is_missing_or_jinja_is_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"cannot read the prompt .*gone\.txt"):
        prompt_text("gone.txt", tmp_path, "b")
    with pytest.raises(DataError, match="Jinja is not supported"):
        prompt_text("p.jinja", tmp_path, "b")


def test_the_fields_of_a_template_are_known() -> None:
    assert compile_template("{b}{a}{b}", "x").fields == ("b", "a")
