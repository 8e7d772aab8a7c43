"""DROP: questions about a paragraph that take counting, sorting and sums.

9,536 questions, split ``validation`` of ``EleutherAI/drop`` (CC-BY-4.0), the copy that keeps the
answers of different annotators apart; ``ucinlp/drop`` has all their spans in one list, where
"A and B" looks like "A or B"; at a pinned commit. Dua et al., *DROP: A Reading Comprehension
Benchmark Requiring Discrete Reasoning Over Paragraphs*, NAACL 2019, arXiv:1903.00161. Category:
what the first annotator answered with (number, span, spans, date).

Asked without examples: passage, then question. The reward is the paper's F1: words in common with
the nearest annotator's answer, spans paired one to one, 0 where the numbers differ; an answer of
several spans needs all of them. ``scorer:em`` is the exact match. Published scores often used
three examples.
"""

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from pytest_nel import DataError, ScorerInput, VerifyResult, benchmark, f1, scorer

_PROMPT = """\
Read the passage and answer the question about it. Think step by step if it helps. The last line \
of your reply must have the form "Answer: ANSWER", without the quotes, where ANSWER is as short as \
possible: a number in digits, a date, or words of the passage. If several things are asked for, \
write all of them on that line with a semicolon between them.

Passage: {passage}

Question: {question}"""


def problem(row: dict[str, Any], idx: int, rng: object) -> dict[str, Any]:  # Any: JSON
    """Passage, question, and the answers of all annotators, each a list of spans.

    Raises:
        DataError: There is no answer, or the answers are not those of single annotators.
    """
    del idx, rng
    if "answer" not in row or "validated_answers" not in row:
        fields = ", ".join(sorted(row))
        msg = f"drop: expected the fields answer and validated_answers, got {fields}"
        raise DataError(msg)
    given = [row["answer"], *_apart(row["validated_answers"] or [])]
    answers = [spans for answer in given if (spans := _spans(answer))]
    if not answers:
        msg = f"drop: question {row['query_id']} has no answer"
        raise DataError(msg)
    return {
        "query_id": row["query_id"],  # no id: the data set has a question twice
        "passage": row["passage"],
        "question": row["question"],
        "answer": [spans for at, spans in enumerate(answers) if spans not in answers[:at]],
        "category": _kind(next(answer for answer in given if _spans(answer))),
    }


def _apart(answers: Any) -> list[Any]:  # Any: JSON
    """Answers one by one; parquet files hold them as one object of lists, also within."""
    if not isinstance(answers, Mapping):
        return list(answers)
    columns = {name: _apart(values) for name, values in answers.items()}
    count = max((len(values) for values in columns.values()), default=0)
    return [{name: values[at] for name, values in columns.items()} for at in range(count)]


def _spans(answer: Mapping[str, Any]) -> list[str]:
    """The number, the spans or the date, whichever there is."""
    if number := _number(answer):
        return [number]
    spans = [str(span).strip() for span in answer["spans"] or () if str(span).strip()]
    date = answer["date"] or {}
    parts = [str(date.get(part) or "").strip() for part in ("day", "month", "year")]
    return spans or ([" ".join(part for part in parts if part)] if any(parts) else [])


def _number(answer: Mapping[str, Any]) -> str:
    number = answer["number"]
    return "" if number is None else str(number).strip()  # 0 is a number


def _kind(answer: Mapping[str, Any]) -> str:
    if _number(answer):
        return "number"
    count = len([span for span in answer["spans"] or () if str(span).strip()])
    return "date" if not count else "span" if count == 1 else "spans"


def exact(sample: ScorerInput) -> VerifyResult:
    """1 where every span has the words of the reference, else 0."""
    read = f1(sample)
    matched = bool(read.scoring_details.get("exact_match"))
    details = {**read.scoring_details, "method": "em", "correct": matched}
    return replace(read, reward=float(matched), scoring_details=details)


def _first(sample: ScorerInput) -> str:
    return f"Answer: {'; '.join(json.loads(sample.target)[0])}"


@benchmark(
    name="drop",
    dataset=(
        "hf://EleutherAI/drop?split=validation&revision=619386fc7ffe6dace3cc6d3483c69b164ebf6bf3"
    ),
    size=9536,
    prompt=_PROMPT,
    target_field="answer",
    prepare_row=problem,
    scorers={"em": exact},
    gold=_first,
)
@scorer
def drop(sample: ScorerInput) -> VerifyResult:
    """F1 with the nearest annotator's answer."""
    return f1(sample)
