"""The built-in scorers by name, for suites that add one to a benchmark."""

from collections.abc import Callable, Mapping
from typing import TypeAlias

from pytest_nel.core.registry import unknown
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.choice import mcq_extract, multichoice_regex
from pytest_nel.scoring.line import answer_line
from pytest_nel.scoring.numeric import numeric_match
from pytest_nel.scoring.text import exact_match, fuzzy_match

Scorer: TypeAlias = Callable[[ScorerInput], VerifyResult]

SCORERS: Mapping[str, Scorer] = {
    "answer_line": answer_line,
    "exact_match": exact_match,
    "fuzzy_match": fuzzy_match,
    "mcq_extract": mcq_extract,
    "multichoice_regex": multichoice_regex,
    "numeric_match": numeric_match,
}


def get_scorer(name: str) -> Scorer:
    """Return the scorer of that name.

    Raises:
        UnknownName: There is none; the message names the nearest and all known.
    """
    scorer = SCORERS.get(name)
    if scorer is None:
        error = unknown("scorer", name, sorted(SCORERS))
        raise error
    return scorer
