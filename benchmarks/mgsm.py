"""MGSM: grade-school word problems in eleven languages.

250 problems in each of bn, de, en, es, fr, ja, ru, sw, te, th and zh, 2,750 in all: the files of
``juletxara/mgsm`` (CC-BY-SA-4.0) at a pinned commit. Shi et al.,
*Language Models are Multilingual Chain-of-Thought Reasoners*, ICLR 2023, arXiv:2210.03057; the
problems are GSM8K's. Category: the language.

Asked without examples, with the instruction in the language of the problem. The number behind the
last answer marker of any of the languages counts, else the last number. Numbers are read as the
language writes them: digits of every script, and groups of three apart by a point, a comma or a
space ("2.125" is 2125 in German, Spanish, French and Russian, and a decimal elsewhere). The gold
answer is the number itself, zeros and all. Published scores differ in the language of the
instruction and of the reasoning: compare with those that asked in the problem's language.
"""

import re
from dataclasses import replace
from typing import Any

from pytest_nel import DataError, ScorerInput, VerifyResult, benchmark, numeric_match, scorer

_ASKED = {
    "bn": (
        'নিচের গণিতের সমস্যাটি ধাপে ধাপে সমাধান করুন। শেষ লাইনে "উত্তর:" লিখে তার পরে শুধু '
        "চূড়ান্ত উত্তরটি একটি পূর্ণসংখ্যা হিসেবে লিখুন।"
    ),
    "de": (
        "Löse die folgende Matheaufgabe Schritt für Schritt. Schreibe in die letzte Zeile "
        '"Antwort:" und dahinter nur das Ergebnis als ganze Zahl.'
    ),
    "en": (
        "Solve the following math problem step by step. On the last line write "
        '"Answer:" and after it only the result, as a whole number.'
    ),
    "es": (
        "Resuelve paso a paso el siguiente problema de matemáticas. En la última línea escribe "
        '"Respuesta:" y a continuación solo el resultado, como número entero.'
    ),
    "fr": (
        "Résous étape par étape le problème de mathématiques suivant. Sur la dernière ligne, "
        'écris "Réponse :" suivi uniquement du résultat, sous forme de nombre entier.'
    ),
    "ja": (
        "次の算数の問題を順を追って解いてください。最後の行には「答え:」と書き、"
        "その後に最終的な答えを整数だけで書いてください。"
    ),
    "ru": (
        "Реши следующую математическую задачу шаг за шагом. В последней строке напиши "
        "«Ответ:» и после него только результат в виде целого числа."
    ),
    "sw": (
        "Tatua tatizo lifuatalo la hisabati hatua kwa hatua. Kwenye mstari wa mwisho andika "
        '"Jibu:" kisha matokeo peke yake, kama nambari kamili.'
    ),
    "te": (
        'కింది గణిత సమస్యను దశలవారీగా పరిష్కరించండి. చివరి పంక్తిలో "సమాధానం:" అని రాసి, '
        "దాని తర్వాత తుది సమాధానాన్ని పూర్ణసంఖ్యగా మాత్రమే రాయండి."
    ),
    "th": (
        'จงแก้โจทย์คณิตศาสตร์ต่อไปนี้ทีละขั้นตอน ในบรรทัดสุดท้ายให้เขียน "คำตอบ:" '
        "แล้วตามด้วยผลลัพธ์เป็นจำนวนเต็มเพียงอย่างเดียว"
    ),
    "zh": "请一步一步解答下面的数学题。在最后一行写“答案：”，后面只写最终结果，用整数表示。",
}
_WHOLE = re.compile(r"-?[0-9]+")
_POINT_GROUPS = frozenset({"de", "es", "fr", "ru"})
_NUMERAL = re.compile(r"(?<![\d.,])\d[\d.,]*\d(?![\d])")
_POINTED = re.compile(r"(?P<whole>[1-9]\d{0,2}(?:\.\d{3})+)(?:,(?P<part>\d+))?")
_COMMA = re.compile(r"(?P<whole>\d+),(?P<part>\d{1,2}|\d{4,})")
_MYRIAD = re.compile(r"(?<![\d.,])(\d{1,4})[ ]?[万萬][ ]?(\d{1,4})(?![\d.,万萬億亿])")
_COLON_SPACE = re.compile(r"[\u00a0\u202f](?=[:：])")


def problem(row: dict[str, Any], idx: int, rng: object) -> dict[str, Any]:  # Any: JSON
    """Question, language and the gold number.

    Raises:
        DataError: The language is none of the eleven, or the number is not whole.
    """
    del idx, rng
    language, number = row["config"], str(row["answer"]).replace(",", "").strip()
    if language not in _ASKED or not _WHOLE.fullmatch(number):
        msg = (
            f"mgsm: expected config to be one of {', '.join(_ASKED)} and answer to be "
            f"a whole number, got {language!r} and {row['answer']!r}"
        )
        raise DataError(msg)
    return {
        "instruction": _ASKED[language],
        "question": row["question"],
        "answer": number,
        "category": language,
    }


def plain_numbers(text: str, language: str) -> str:
    """The text with numerals that only its language writes so in the form that all read alike."""
    text = _COLON_SPACE.sub(" ", text)
    if language in {"ja", "zh"}:
        return _MYRIAD.sub(lambda match: str(int(match[1]) * 10_000 + int(match[2])), text)
    return _NUMERAL.sub(_pointed, text) if language in _POINT_GROUPS else text


def _pointed(match: re.Match[str]) -> str:
    """A numeral with points for groups or a comma for the decimals, as English writes it."""
    numeral = match[0]
    if grouped := _POINTED.fullmatch(numeral):
        whole = grouped["whole"].replace(".", "")
        return f"{whole}.{grouped['part']}" if grouped["part"] else whole
    if decimal := _COMMA.fullmatch(numeral):
        return f"{decimal['whole']}.{decimal['part']}"
    return numeral


@benchmark(
    name="mgsm",
    dataset=(
        "hf://juletxara/mgsm?config=bn,de,en,es,fr,ja,ru,sw,te,th,zh&file=mgsm_{config}.tsv"
        "&columns=question,answer&revision=f52417ca77bd71e9888ddc29f92587660725d2b4"
    ),
    size=2750,
    prompt="{instruction}\n\n{question}",
    target_field="answer",
    prepare_row=problem,
    gold="{target}",
)
@scorer
def mgsm(sample: ScorerInput) -> VerifyResult:
    """Compare numbers by value."""
    text = plain_numbers(sample.response, sample.metadata["category"])
    return numeric_match(replace(sample, response=text))
