"""GPQA Diamond: graduate-level questions in biology, physics and chemistry, four options each.

198 questions, configuration ``gpqa_diamond``, split ``train`` (its only one) of
``Idavidrein/gpqa`` (CC-BY-4.0) at a pinned commit. The set is gated: its licence is accepted on
the hub, with the promise to keep the questions out of the open web. Rein et al., *GPQA: A
Graduate-Level Google-Proof Q&A Benchmark*, 2023, arXiv:2311.12022. Category: the domain.

Asked without examples. The right option is always the first column of the data, so each
question's options are shuffled, by a generator of its own: a part of the set shows a question as
the whole does, and so does every repeat. With 198 questions a 95 % interval reaches up to 7 points
to either side; published scores are often means over several runs.
"""

from random import Random
from typing import Any

from pytest_nel import DataError, ScorerInput, VerifyResult, benchmark, mcq_extract, scorer

_LETTERS = "ABCD"
_WRONG = ("Incorrect Answer 1", "Incorrect Answer 2", "Incorrect Answer 3")
_PROMPT = """\
Answer this multiple choice question. The last line of your reply must have the form \
"Answer: LETTER", without the quotes, where LETTER is one of ABCD.

{question}

{options}"""


def problem(row: dict[str, Any], idx: int, rng: Random) -> dict[str, Any]:  # Any: JSON
    """Shuffle the options and note the right one's letter; explanations are left out.

    Raises:
        DataError: An option is missing, or a wrong one reads like the right one.
    """
    del idx
    options = [str(row[name] or "").strip() for name in ("Correct Answer", *_WRONG)]
    if not all(options) or options[0] in options[1:]:
        msg = f"gpqa: expected one right and three other options, got {options!r}"
        raise DataError(msg)
    order = list(range(len(options)))
    rng.shuffle(order)
    choices = [options[at] for at in order]
    return {
        "id": str(row["Record ID"]),
        "question": str(row["Question"]).strip(),
        "choices": choices,
        "options": "\n".join(
            f"{letter}) {text}" for letter, text in zip(_LETTERS, choices, strict=True)
        ),
        "answer": _LETTERS[order.index(0)],
        "category": row["High-level domain"],
        "subdomain": row["Subdomain"],
    }


@benchmark(
    name="gpqa",
    dataset=(
        "hf://Idavidrein/gpqa?config=gpqa_diamond&split=train"
        "&revision=633f5ee89ab8ad4522a9f850766b73f62147ffdd"
    ),
    size=198,
    prompt=_PROMPT,
    target_field="answer",
    prepare_row=problem,
    gold="Answer: {target}",
)
@scorer
def gpqa(sample: ScorerInput) -> VerifyResult:
    """Compare the letter that the response settles on."""
    return mcq_extract(sample)
