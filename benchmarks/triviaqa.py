"""TriviaQA: trivia questions without a text to find the answer in.

17,944 rows, configuration ``rc.nocontext``, split ``validation`` of ``mandarjoshi/trivia_qa``
at a pinned commit (code Apache-2.0; the licence of the questions is not stated). Joshi et al.,
*TriviaQA: A Large Scale Distantly Supervised Challenge Dataset for Reading Comprehension*, ACL
2017, arXiv:1705.03551. Questions with evidence on the web and in Wikipedia occur twice, as in
published scores.

Asked without examples. An answer is right when it equals one of the listed aliases without regard
to case, articles and punctuation, as in the paper (exact match); merely containing one is not
enough. ``scorer:f1`` is the paper's second figure: words in common with the nearest alias.
Published scores of language models are often exact match with five examples, which also teach
the model to be brief; one that answers in sentences scores lower here.
"""

import json
import re
import unicodedata
from dataclasses import replace
from typing import Any

from pytest_nel import DataError, ScorerInput, VerifyResult, benchmark, f1, scorer

_PROMPT = """\
Answer this trivia question with a name, a title, a number or a few words: the answer alone, \
no sentence.

Question: {question}
Answer:"""
# What carries meaning is kept: a sign, a decimal point, "C++" and "C#".
_PART = re.compile(
    r"(?P<kept>(?<!\w)-(?=\.?\d)|(?<=\d)\.(?=\d)|(?<=\w)[+#])|(?P<group>(?<=\d),(?=\d{3}(?!\d)))|[\W_]"
)
_ARTICLES = frozenset({"a", "an", "the"})


def problem(row: dict[str, Any], idx: int, rng: object) -> dict[str, Any]:  # Any: JSON
    """The question, and every text that counts as its answer, the preferred one first.

    Raises:
        DataError: There is no answer, as in the split ``test``.
    """
    del idx, rng
    answer = row["answer"]
    listed = [answer["value"], *answer["aliases"], *answer["normalized_aliases"]]
    texts = [text for text in listed if text and normal(text)]
    if not texts or "<unk>" in texts:
        msg = f"triviaqa: expected an answer with aliases, got {listed!r}"
        raise DataError(msg)
    return {
        "question_id": row["question_id"],  # no id: a question may occur with both its sources
        "question": row["question"],
        "answer": list(dict.fromkeys(texts)),
    }


def normal(text: str) -> str:
    """Lower case, words apart by one space, no articles, no punctuation save in numbers."""
    folded = unicodedata.normalize("NFKC", text.replace("−", "-")).casefold()
    words = _PART.sub(_kept, folded).split()
    return " ".join([word for word in words if word not in _ARTICLES] or words)


def _kept(match: re.Match[str]) -> str:
    return match["kept"] or ("" if match["group"] else " ")


def words_in_common(sample: ScorerInput) -> VerifyResult:
    """F1 with the nearest alias."""
    return f1(replace(sample, metadata={"correct_answers": json.loads(sample.target)}))


def _preferred(sample: ScorerInput) -> str:
    return str(json.loads(sample.target)[0])


@benchmark(
    name="triviaqa",
    dataset=(
        "hf://mandarjoshi/trivia_qa?config=rc.nocontext&split=validation"
        "&revision=0f7faf33a3908546c6fd5b73a660e0f8ff173c2f"
    ),
    size=17944,
    prompt=_PROMPT,
    target_field="answer",
    prepare_row=problem,
    scorers={"f1": words_in_common},
    gold=_preferred,
)
@scorer
def triviaqa(sample: ScorerInput) -> VerifyResult:
    """One of the aliases, and nothing else."""
    read = words_in_common(sample)
    if read.extracted_answer is None:
        return read
    aliases = {normal(alias) for alias in json.loads(sample.target)}
    correct = normal(read.extracted_answer) in aliases
    details = {"method": "alias", "rule": read.scoring_details["rule"], "correct": correct}
    return replace(read, reward=float(correct), scoring_details=details)
