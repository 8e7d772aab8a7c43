r"""MATH-500: competition problems whose answer is a formula, a number or a few words.

500 problems of the MATH test set (Hendrycks et al., *Measuring Mathematical Problem Solving With
the MATH Dataset*, NeurIPS 2021, arXiv:2103.03874), chosen by Lightman et al. (*Let's Verify Step
by Step*, arXiv:2305.20050). Split ``test`` of ``HuggingFaceH4/MATH-500`` at a pinned commit; MATH
is under the MIT licence, the copy names none. Category: the subject.

Asked without examples. The last ``\boxed{}`` or what the last answer marker announces is compared
as mathematics: ``\frac12``, ``0.5`` and ``\frac{2}{4}`` are one number, ``x+1`` and ``1+x`` one
formula (extra ``math``). Published scores differ in how equality is decided, some by a model:
compare with runs of this scorer first, with other sources only roughly.
"""

from typing import Any

from pytest_nel import ScorerInput, VerifyResult, benchmark, math_equal, scorer

_PROMPT = """\
Solve this problem step by step. The last line of your reply must have the form "Answer: ANSWER", \
without the quotes, where ANSWER is the final answer in its simplest form and in LaTeX where it \
is a formula.

{problem}"""


def problem(row: dict[str, Any], idx: int, rng: object) -> dict[str, Any]:  # Any: JSON
    """The row without its worked solution, which has the answer in it."""
    del idx, rng
    return {
        "id": row["unique_id"],
        "problem": row["problem"],
        "answer": row["answer"],
        "category": row["subject"],
        "level": row["level"],
    }


@benchmark(
    name="math500",
    dataset=(
        "hf://HuggingFaceH4/MATH-500?split=test&revision=6e4ed1a2a79af7d8630a6b768ec859cb5af4d3be"
    ),
    size=500,
    prompt=_PROMPT,
    target_field="answer",
    prepare_row=problem,
    requirements=["sympy>=1.12"],
    gold="Answer: ${target}$",
)
@scorer
def math500(sample: ScorerInput) -> VerifyResult:
    """Compare as mathematics."""
    return math_equal(sample)
