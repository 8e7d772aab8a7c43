"""The built-in scorers by name, for suites that add one to a benchmark."""

from collections.abc import Callable, Mapping
from typing import Any, TypeAlias

from pytest_nel.core.registry import unknown
from pytest_nel.core.types import ScorerInput, VerifyResult
from pytest_nel.scoring.bounded import require
from pytest_nel.scoring.choice import mcq_extract, multichoice_regex
from pytest_nel.scoring.equal import math_equal
from pytest_nel.scoring.line import answer_line
from pytest_nel.scoring.numeric import numeric_match
from pytest_nel.scoring.overlap import f1
from pytest_nel.scoring.pattern import pattern, pattern_settings
from pytest_nel.scoring.schema import check_schema, json_schema
from pytest_nel.scoring.text import exact_match, fuzzy_match

Scorer: TypeAlias = Callable[[ScorerInput], VerifyResult]

SCORERS: Mapping[str, Scorer] = {
    "answer_line": answer_line,
    "exact_match": exact_match,
    "f1": f1,
    "fuzzy_match": fuzzy_match,
    "json_schema": json_schema,
    "math_equal": math_equal,
    "mcq_extract": mcq_extract,
    "multichoice_regex": multichoice_regex,
    "numeric_match": numeric_match,
    "pattern": pattern,
}
_EXTRAS = {"math_equal": ("sympy", "math"), "json_schema": ("jsonschema", "json")}


def get_scorer(name: str) -> Scorer:
    """Return the scorer of that name.

    Raises:
        UnknownName: There is none; the message names the nearest and all known.
        ConfigError: It needs a package that is not installed; the message names the extra.
    """
    scorer = SCORERS.get(name)
    if scorer is None:
        error = unknown("scorer", name, sorted(SCORERS))
        raise error
    if name in _EXTRAS:
        package, extra = _EXTRAS[name]
        require(package, extra=extra, scorer=name)
    return scorer


def check_config(name: str, config: Mapping[str, Any]) -> None:
    """Refuse settings that the scorer could not work with, before anything is asked.

    Args:
        name: The scorer.
        config: What will be its ``sample.config``: the benchmark's ``extra``.

    Raises:
        UnknownName: As :func:`get_scorer`.
        ConfigError: As there, or a setting is missing or wrong; the message names it.
    """
    get_scorer(name)
    if name == "pattern":
        pattern_settings(config)
    elif name == "json_schema" and "schema" in config:
        check_schema(config["schema"])
