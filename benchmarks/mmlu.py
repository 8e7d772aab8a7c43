"""MMLU: questions with four options from 57 subjects.

14,042 questions, configuration ``all``, split ``test`` of ``cais/mmlu`` (MIT) at a pinned commit.
Hendrycks et al., *Measuring Massive Multitask Language Understanding*, ICLR 2021,
arXiv:2009.03300. Category: the subject.

Asked without examples, for reasoning and a last line "Answer: LETTER". Scores of the paper's own
method (five examples, the most likely letter as the next token) are of another measurement:
compare with published scores for zero examples and a chain of thought.
"""

from typing import Any

from pytest_nel import DataError, ScorerInput, VerifyResult, benchmark, mcq_extract, scorer

_LETTERS = "ABCD"
_PROMPT = """\
Answer this multiple choice question. Think step by step first. The last line of your reply must \
have the form "Answer: LETTER", without the quotes, where LETTER is one of ABCD.

{question}

{options}"""


def problem(row: dict[str, Any], idx: int, rng: object) -> dict[str, Any]:  # Any: JSON
    """Options under letters; the right one's number, which counts from 0, becomes its letter.

    Raises:
        DataError: There are not four options, or ``answer`` is no position of one.
    """
    del idx, rng
    choices = [str(choice) for choice in row["choices"]]
    position = row["answer"]
    number = isinstance(position, int) and not isinstance(position, bool)
    if len(choices) != len(_LETTERS) or not number or not 0 <= position < len(choices):
        msg = (
            "mmlu: expected four choices and an answer that is a number from 0 to 3, got "
            f"{len(choices)} and {position!r}"
        )
        raise DataError(msg)
    return {
        "question": row["question"],
        "choices": choices,
        "options": "\n".join(
            f"{letter}) {text}" for letter, text in zip(_LETTERS, choices, strict=True)
        ),
        "answer": _LETTERS[position],
        "category": row["subject"],
    }


@benchmark(
    name="mmlu",
    dataset="hf://cais/mmlu?config=all&split=test&revision=c30699e8356da336a370243923dbaf21066bb9fe",
    size=14042,
    prompt=_PROMPT,
    target_field="answer",
    prepare_row=problem,
    gold="Answer: {target}",
)
@scorer
def mmlu(sample: ScorerInput) -> VerifyResult:
    """Compare the letter that the response settles on."""
    return mcq_extract(sample)
