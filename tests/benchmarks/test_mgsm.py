"""MGSM: numbers as eleven languages write them."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from benchmarks.mgsm import mgsm, plain_numbers
from pytest_nel import DataError
from tests.benchmarks.judging import Row, data, environment, problem, problems, tried

LANGUAGES = ("bn", "de", "en", "es", "fr", "ja", "ru", "sw", "te", "th", "zh")


def row(language: str, number: object = 2125) -> Row:
    return {
        "config": language,
        "question": "?",
        "answer": str(number),
    }


VERDICTS = [
    ("en", "Step 1: 2,000 + 125\n\nAnswer: 2,125", "right"),
    ("en", "**Answer:** 2125 dollars", "right"),
    ("en", "Answer: 2.125", "wrong"),
    ("en", "Answer: 212500", "wrong"),
    ("de", "Schritt 1: 2.000 + 125 = 2.125\n\nAntwort: 2.125", "right"),
    ("de", "**Antwort:** 2125 Dollar", "right"),
    ("de", "Antwort: 2.125,00 €", "right"),
    ("de", "Antwort: 2,125", "right"),
    ("de", "Antwort: 2.126", "wrong"),
    ("de", "Antwort: 2,13", "wrong"),
    ("de", "Sie verdient 212,5 Dollar. Antwort: 212,5", "wrong"),
    ("es", "La respuesta es 2.125.", "right"),
    ("es", "Respuesta: $2.125", "right"),
    ("es", "Respuesta: 2 125", "right"),
    ("fr", "Réponse\u00a0: 2\u202f125", "right"),
    ("fr", "Réponse : 2 125 $", "right"),
    ("fr", "Donc \\boxed{2125}", "right"),
    ("fr", "Réponse : 21 125", "wrong"),
    ("ru", "Ответ: 2 125 рублей", "right"),
    ("ru", "**Ответ:** 2125,0", "right"),
    ("ru", "Ответ: 2.125", "right"),
    ("ru", "Ответ: 2,5", "wrong"),
    ("zh", "答案：2125", "right"),
    ("zh", "答案：２，１２５元", "right"),
    ("zh", "答案：0.2125万", "right"),
    ("zh", "答案：2万125", "wrong"),
    ("ja", "答え: 2125ドル", "right"),
    ("ja", "答え：**2,125**", "right"),
    ("ja", "したがって、答えは2125です。", "right"),
    ("ja", "答え: 1万2125円", "wrong"),
    ("th", "คำตอบ: 2125", "right"),
    ("th", "คำตอบ: ๒,๑๒๕", "right"),
    ("th", "คำตอบ: ๒๑๒", "wrong"),
    ("te", "సమాధానం: 2125", "right"),
    ("te", "సమాధానం: ౨,౧౨౫", "right"),
    ("te", "సమాధానం: ౨౧౨", "wrong"),
    ("bn", "উত্তর: ২১২৫", "right"),
    ("bn", "**উত্তর:** ২,১২৫ ডলার", "right"),
    ("bn", "উত্তর: ২১২", "wrong"),
    ("sw", "Jibu: 2,125", "right"),
    ("sw", "Jibu ni 2125.", "right"),
    ("sw", "Jibu: 125", "wrong"),
    ("en", "No number comes to mind.", "unparsed"),
    *((language, "", "unparsed") for language in LANGUAGES),
]


@pytest.mark.parametrize(("language", "response", "verdict"), VERDICTS)
def test_a_response_gets_the_verdict_that_a_speaker_would_give(
    language: str, response: str, verdict: str
) -> None:
    assert problem(mgsm, row(language)).verdict(response) == verdict


@pytest.mark.parametrize("number", [60, 100, 0, 1000, 276000])
def test_zeros_at_the_end_of_the_gold_number_are_kept(number: int) -> None:
    made = problem(mgsm, row("bn", number))

    assert made.seed.expected_answer == str(number)
    assert made.verdict(f"উত্তর: {number}") == "right"
    assert made.verdict(f"উত্তর: {number}0") == ("wrong" if number else "right")
    assert made.verdict("উত্তর: 6") == "wrong"


@pytest.mark.parametrize(
    ("language", "text", "plain"),
    [
        ("de", "1.234.567", "1234567"),
        ("de", "1.234,56", "1234.56"),
        ("de", "0.125", "0.125"),
        ("de", "1.5", "1.5"),
        ("de", "3,50", "3.50"),
        ("de", "1,234,567", "1,234,567"),
        ("de", "12.5.2024", "12.5.2024"),
        ("ru", "v1.234.5", "v1.234.5"),
        ("ja", "11万4200円", "114200円"),
        ("zh", "3万", "3万"),
        ("zh", "1.5万", "1.5万"),
        ("en", "2.125", "2.125"),
        ("es", "18.", "18."),
    ],
)
def test_numerals_are_rewritten_only_where_the_language_says_so(
    language: str, text: str, plain: str
) -> None:
    assert plain_numbers(text, language) == plain


@given(
    st.integers(0, 10**9), st.sampled_from(["de", "es", "fr", "ru"]), st.sampled_from(". \u202f")
)
def test_every_grouped_number_reads_as_its_value(number: int, language: str, mark: str) -> None:
    made = problem(mgsm, row(language, number))

    assert made.verdict(f"\\boxed{{{f'{number:,}'.replace(',', mark)}}}") == "right"


@pytest.mark.parametrize("language", LANGUAGES)
def test_the_instruction_is_in_the_language_and_announces_a_marker_that_is_read(
    language: str,
) -> None:
    made = problem(mgsm, row(language))
    label = re.search(r"[\"「«“](?P<label>[^\"」»”]+[:：])[\"」»”]", made.seed.prompt)

    assert label is not None
    result = made.judge(f"1700 + 425\n{label['label']} 2125\n(3 × 5)")

    assert (result.reward, result.scoring_details["rule"]) == (1.0, "label")
    assert made.seed.metadata["category"] == language
    assert "2125" not in made.seed.prompt + str(made.seed.metadata)


@pytest.mark.parametrize("change", [{"config": "it"}, {"answer": "1.5"}, {"answer": "x"}])
def test_another_language_or_no_whole_number_is_refused(change: Row) -> None:
    with pytest.raises(DataError, match="mgsm: expected config to be one of bn, de"):
        environment(mgsm, [{**row("en"), **change}])


def test_every_gold_number_of_every_language_is_right_and_others_are_wrong() -> None:
    rows = []
    for language in LANGUAGES:
        for line in data(f"mgsm_{language}.tsv").read_text(encoding="utf-8").splitlines():
            question, number = line.split("\t")
            made = row(language, int(number.replace(",", "")))
            rows.append({**made, "question": question})
    found = problems(mgsm, rows)
    gold = [int(each.seed.expected_answer) for each in found]

    assert len(found) == mgsm.size
    assert {p.verdict(f"{g}") for p, g in zip(found, gold, strict=True)} == {"right"}
    assert {p.verdict(f"{g:,}") for p, g in zip(found, gold, strict=True)} == {"right"}
    assert {p.verdict(f"{g + 1}") for p, g in zip(found, gold, strict=True)} == {"wrong"}
    assert {p.verdict(f"{g}0") for p, g in zip(found, gold, strict=True) if g} == {"wrong"}
    assert tried(mgsm, rows[::11]) == ("passed", None)
