"""SimpleQA: short questions about facts, each with one answer that cannot change.

4,326 questions, split ``test`` of ``basicv8vc/SimpleQA`` (MIT), a copy of the file of its authors,
at a pinned commit. Wei et al., *Measuring short-form factuality in large language models*, 2024,
arXiv:2411.04368. Category: the topic.

The bare question is asked. A model grades each answer against the gold answer, as the paper does:
``CORRECT``, ``INCORRECT`` or ``NOT_ATTEMPTED``, and only the first is worth anything. The suite
names that model (preset ``simpleqa``), and the score of its metric has ``verdicts``,
``accuracy_given_attempted`` and ``f_score`` beside it: the paper's two other numbers, since who
always guesses is right more often than who knows what it does not know. Published scores were
graded by a GPT-4 model with the paper's own prompt; ours asks for the same three grades in other
words.
"""

import ast
from collections.abc import Mapping
from typing import Any

from pytest_nel import Benchmark, DataError

_LONGEST = 100_000
"""Characters of ``metadata`` that are read; real ones have a few hundred."""


def problem(row: dict[str, Any], idx: int, rng: object) -> dict[str, Any]:  # Any: JSON
    """Question and answer, and what the text in ``metadata`` says about them.

    Raises:
        DataError: There is no answer, or the text is no mapping as Python writes it.
    """
    del idx, rng
    answer = str(row["answer"] or "").strip()
    if not answer:
        msg = f"simpleqa: there is no answer to {str(row['problem'])[:80]!r}"
        raise DataError(msg)
    known = _known(row["metadata"])
    return {
        "problem": row["problem"],
        "answer": answer,
        "category": known.get("topic"),
        "answer_type": known.get("answer_type"),
    }


def _known(metadata: object) -> Mapping[str, Any]:
    """The mapping that a text is, without running anything in it."""
    if isinstance(metadata, Mapping):
        return metadata
    text = str(metadata)
    try:
        found = ast.literal_eval(text) if len(text) <= _LONGEST else None
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        found = None
    if not isinstance(found, Mapping):
        msg = (
            "simpleqa: expected the field metadata as a dict, such as {'topic': 'Art', …}, "
            f"got {text[:80]!r}"
        )
        raise DataError(msg)
    return found


simpleqa = Benchmark(
    name="simpleqa",
    dataset=(
        "hf://basicv8vc/SimpleQA?split=test&revision=e319282ab125c3dbd0c7fd00be2e4dd54e7e8f94"
    ),
    size=4326,
    prompt="{problem}",
    target_field="answer",
    prepare_row=problem,
    judge="simpleqa",
)
