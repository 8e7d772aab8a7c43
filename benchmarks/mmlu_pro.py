"""MMLU-Pro: harder questions with up to ten options from 14 fields.

12,032 questions, split ``test`` of ``TIGER-Lab/MMLU-Pro`` (MIT) at a pinned commit. Wang et al.,
*MMLU-Pro: A More Robust and Challenging Multi-Task Language Understanding Benchmark*, NeurIPS
2024, arXiv:2406.01574. Category: the field.

Asked without examples, for reasoning and a last line "Answer: LETTER"; only options that exist are
listed, and only their letters are answers. The paper's scores used five examples with a chain of
thought, and a random guess where no letter was found; here such an answer is unparsed. The data
has been corrected several times since: a score depends on the commit.
"""

from typing import Any

from pytest_nel import DataError, ScorerInput, VerifyResult, benchmark, mcq_extract, scorer

_LETTERS = "ABCDEFGHIJ"
_PROMPT = """\
Answer this multiple choice question. Think step by step first. The last line of your reply must \
have the form "Answer: LETTER", without the quotes, where LETTER is one of {letters}.

{question}

{options}"""


def problem(row: dict[str, Any], idx: int, rng: object) -> dict[str, Any]:  # Any: JSON
    """Options that exist under letters: blank ones and "N/A" are fillers of the data set.

    Raises:
        DataError: ``answer`` and ``answer_index`` name no option, or not the same one.
    """
    del idx, rng
    options = [str(option).strip() for option in row["options"]]
    position = row["answer_index"]
    number = isinstance(position, int) and not isinstance(position, bool)
    valid = number and 0 <= position < len(options) <= len(_LETTERS)
    if not valid or _LETTERS[position] != row["answer"] or not _exists(options[position]):
        msg = (
            "mmlu_pro: expected up to ten options, and answer and answer_index to name the same "
            f"one, got {len(options)}, {row['answer']!r} and {position!r}"
        )
        raise DataError(msg)
    kept = [at for at, option in enumerate(options) if _exists(option)]
    choices = [options[at] for at in kept]
    return {
        "id": str(row["question_id"]),
        "question": row["question"],
        "choices": choices,
        "letters": _LETTERS[: len(choices)],
        "options": "\n".join(
            f"{letter}) {text}" for letter, text in zip(_LETTERS, choices, strict=False)
        ),
        "answer": _LETTERS[kept.index(position)],
        "category": row["category"],
    }


def _exists(option: str) -> bool:
    return option not in {"", "N/A"}


@benchmark(
    name="mmlu_pro",
    dataset="hf://TIGER-Lab/MMLU-Pro?split=test&revision=b189ec765aa7ed75c8acfea42df31fdae71f97be",
    size=12032,
    prompt=_PROMPT,
    target_field="answer",
    prepare_row=problem,
    gold="Answer: {target}",
)
@scorer
def mmlu_pro(sample: ScorerInput) -> VerifyResult:
    """Compare the letter that the response settles on."""
    return mcq_extract(sample)
