"""GSM8K: grade-school word problems whose answer is one number.

1,319 problems, split ``test`` of ``openai/gsm8k`` (MIT) at a pinned commit. Cobbe et al.,
*Training Verifiers to Solve Math Word Problems*, 2021, arXiv:2110.14168.

Asked without examples, for a chain of thought and a last sentence "The answer is …". The number
behind the last answer marker counts, else the last number of the response; it is compared by
value, so that 10 is not 100 and ``1,000`` is 1000. Published scores often used eight worked
examples (Wei et al., arXiv:2201.11903): compare with those that name neither examples nor
sampling several answers.
"""

from typing import Any

from pytest_nel import DataError, ScorerInput, VerifyResult, benchmark, numeric_match, scorer

_PROMPT = """\
Solve this problem step by step. Finish with a sentence of its own that reads "The answer is" \
followed by the result, written as a plain number without its unit.

Problem: {question}"""


def problem(row: dict[str, Any], idx: int, rng: object) -> dict[str, Any]:  # Any: JSON
    """Question and number; the worked solution of the data set, with the number, is left out.

    Raises:
        DataError: The solution does not end in ``####`` and a number.
    """
    del idx, rng
    _, mark, number = str(row["answer"]).rpartition("####")
    number = number.strip().replace(",", "")
    if not mark or not number.removeprefix("-").replace(".", "", 1).isdecimal():
        msg = f"gsm8k: expected a solution that ends in '#### 18', got …{row['answer'][-40:]!r}"
        raise DataError(msg)
    return {"question": row["question"], "answer": number}


@benchmark(
    name="gsm8k",
    dataset=(
        "hf://openai/gsm8k?config=main&split=test&revision=740312add88f781978c0658806c59bc2815b9866"
    ),
    size=1319,
    prompt=_PROMPT,
    target_field="answer",
    prepare_row=problem,
    gold="The answer is {target}.",
)
@scorer
def gsm8k(sample: ScorerInput) -> VerifyResult:
    """Compare numbers by value."""
    return numeric_match(sample)
