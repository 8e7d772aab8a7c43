"""``f1``: overlap of words with the best reference, as DROP defines it.

Dua, Wang, Dasigi, Stanovsky, Singh, Gardner, *DROP: A Reading Comprehension Benchmark Requiring
Discrete Reasoning Over Paragraphs*, NAACL 2019, section 5.
"""

import json
import re
import unicodedata
from collections.abc import Iterable, Sequence
from typing import Any, NamedTuple

from pytest_nel.core.errors import ScorerError
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.number import canonical, parse_quantity
from pytest_nel.scoring.text import answer_part
from pytest_nel.scoring.unit import CURRENCIES
from pytest_nel.scoring.verdict import unparsed

_METHOD = "f1"
_LONGEST = 4000
_MAX_SPANS = 100
_MAX_WORDS = 2000
_VALUE_UNITS = frozenset({"", "%", *CURRENCIES.values()})
_ARTICLES = frozenset({"a", "an", "the"})
# A hyphen parts words, save where it is a sign: "12-yard", but "-5".
_WORD = re.compile(r"(?<![\w)])-(?=[$€£]?\.?\d)\S+|[^\s-]+")
_START = re.compile(r"[\w.$€£-]")
_END = re.compile(r"[\w%]")
_SEMICOLON = re.compile(r"[;\n]")
_SEPARATOR = re.compile(r"[;\n|]|,(?!\d)|(?<=\s)(?:and|or|&)(?=\s)")


class _Score(NamedTuple):
    f1: float
    exact: bool


def f1(sample: ScorerInput) -> VerifyResult:
    """Share of words in common with the best reference: a reward from 0 to 1.

    References are ``metadata["correct_answers"]``, else the target. Each is a text, or a list of
    texts, all of which must be given (spans). Spans of answer and reference are paired one to
    one so that the sum is greatest, and the mean is over the larger number of spans. Two spans
    have F1 0 when the reference holds a number and the answer none of its numbers. Words are
    compared in lower case without articles and punctuation, numbers by value.

    The answer is what the last marker announces, else the whole of a short response, else the
    last line. Where a reference has several spans, the answer is also read as a list of spans
    (JSON, or parted by commas, semicolons, lines, "and"); the better reading counts.

    Raises:
        ScorerError: There is no reference.
    """
    references = _references(sample)
    if not sample.response.strip():
        return unparsed(_METHOD, "empty response")
    part, rule = answer_part(sample.response)
    if not part:
        return unparsed(_METHOD, "no answer after the marker, or no short last line")
    if len(part) > _LONGEST:
        return unparsed(_METHOD, f"longer than an answer is: {len(part)} characters", rule=rule)
    best = max(
        overlap(spans, reference)
        for reference in references
        for spans in _readings(part, several=len(reference) > 1)
    )
    return VerifyResult(
        reward=best.f1,
        extracted_answer=part,
        scoring_details={
            "method": _METHOD,
            "rule": rule,
            "correct": best.f1 == 1.0,
            "exact_match": best.exact,
        },
    )


def overlap(answer: Sequence[str], reference: Sequence[str]) -> _Score:
    """F1 of two lists of spans, and whether they are the same set of words throughout.

    The assignment is that of scipy (Crouse 2016).
    """
    from scipy.optimize import linear_sum_assignment  # heavy

    given = [_words(span) for span in answer]
    wanted = [_words(span) for span in reference]
    scores = [[_word_f1(left, right) for right in wanted] for left in given]
    rows, columns = linear_sum_assignment(scores, maximize=True)
    chosen = [scores[row][column] for row, column in zip(rows, columns, strict=True)]
    total = sum(chosen) / max(len(given), len(wanted))
    exact = len(given) == len(wanted) and all(score == 1.0 for score in chosen)
    return _Score(1.0 if exact else total, exact)


def _word_f1(given: frozenset[str], wanted: frozenset[str]) -> float:
    numbers = {word for word in wanted if _is_number(word)}
    common = given & wanted
    if not common or (numbers and not numbers & given):
        return 0.0
    return 2 * len(common) / (len(given) + len(wanted))


def _words(span: str) -> frozenset[str]:
    """The words that count; where none is left, the text itself, so that "A" is not "the"."""
    text = unicodedata.normalize("NFKC", span.replace("−", "-")).casefold()
    found = [_normal(word) for word in _WORD.findall(text)[:_MAX_WORDS]]
    kept = frozenset(word for word in found if word and word not in _ARTICLES)
    return kept or frozenset({" ".join(text.split())})


def _normal(word: str) -> str:
    bare = _bare(word)
    quantity = parse_quantity(bare) if any(char.isdigit() for char in bare) else None
    if quantity is not None and quantity.unit in _VALUE_UNITS:
        return canonical(quantity.value)
    return "".join(char for char in bare if char.isalnum())


def _bare(word: str) -> str:
    """Without the punctuation around it; signs, currencies and percent signs stay."""
    start, end = 0, len(word)
    while start < end and not _START.match(word, start):
        start += 1
    while end > start and not _END.match(word, end - 1):
        end -= 1
    return word[start:end]


def _is_number(word: str) -> bool:
    return word.lstrip("-")[:1].isdigit() and parse_quantity(word) is not None


def _readings(part: str, *, several: bool) -> list[list[str]]:
    listed = _from_json(part)
    if _is_list(listed) and (texts := _spans(listed)):
        return [texts]
    if not several:
        return [[part]]
    # "Smith and Wesson; Colt": where spans are parted by semicolons, an "and" is within one.
    lists = [
        [piece for piece in separator.split(part) if piece.strip(" .")][:_MAX_SPANS]
        for separator in (_SEMICOLON, _SEPARATOR)
    ]
    return [[part], *(pieces for pieces in lists if len(pieces) > 1)]


def _references(sample: ScorerInput) -> list[list[str]]:
    given = sample.metadata.get("correct_answers")
    target = given or _from_json(sample.target)
    if isinstance(target, str) or not _is_list(target):
        references = [_spans(target)]
    elif given or any(_is_list(value) for value in target):
        references = [_spans(value) for value in target]
    else:
        references = [_spans(target)]
    references = [reference for reference in references if reference]
    if not references:
        msg = (
            f"{_METHOD}: wants a target or metadata 'correct_answers', got {sample.target!r}: "
            "check target_field"
        )
        raise ScorerError(msg)
    return references


def _spans(reference: Any) -> list[str]:  # Any: a row's value
    value = _from_json(reference)
    values: Iterable[Any] = value if _is_list(value) else [value]
    return [str(v) for v in values if v is not None and str(v).strip()][:_MAX_SPANS]


def _is_list(value: object) -> bool:
    return isinstance(value, list | tuple)


def _from_json(value: Any) -> Any:
    """The list that a text in JSON stands for (so a target reaches us), or the value itself."""
    if not isinstance(value, str) or not (value.startswith("[") and value.endswith("]")):
        return value
    try:
        return json.loads(value)
    except (ValueError, RecursionError):
        return value
