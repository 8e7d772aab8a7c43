"""pytest-nel: LLM benchmarks as pytest test suites.

Everything public is importable from here and loaded on first use, so that having the plugin
installed costs nothing. (PYTEST_DONT_REWRITE: ``nel`` imports it before it calls pytest.)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from pytest_nel.authoring.benchmark import Benchmark, benchmark, register, scorer
    from pytest_nel.core.errors import (
        ConfigError,
        DataError,
        GracefulError,
        InfraError,
        NelError,
        ScorerError,
    )
    from pytest_nel.core.protocols import EvalEnvironment, Sandbox, Solver
    from pytest_nel.core.types import (
        ModelResponse,
        ScorerInput,
        SeedResult,
        SolveResult,
        VerifyResult,
    )
    from pytest_nel.engine.run import run_evaluation
    from pytest_nel.http.client import ModelClient
    from pytest_nel.records.compare import compare_runs
    from pytest_nel.scoring.choice import mcq_extract, multichoice_regex
    from pytest_nel.scoring.equal import math_equal
    from pytest_nel.scoring.judging.request import needs_judge
    from pytest_nel.scoring.line import answer_line
    from pytest_nel.scoring.numeric import numeric_match
    from pytest_nel.scoring.overlap import f1
    from pytest_nel.scoring.pattern import pattern
    from pytest_nel.scoring.schema import json_schema
    from pytest_nel.scoring.text import exact_match, fuzzy_match

_HOMES = {
    "Benchmark": "pytest_nel.authoring.benchmark",
    "ConfigError": "pytest_nel.core.errors",
    "DataError": "pytest_nel.core.errors",
    "EvalEnvironment": "pytest_nel.core.protocols",
    "GracefulError": "pytest_nel.core.errors",
    "InfraError": "pytest_nel.core.errors",
    "ModelClient": "pytest_nel.http.client",
    "ModelResponse": "pytest_nel.core.types",
    "NelError": "pytest_nel.core.errors",
    "Sandbox": "pytest_nel.core.protocols",
    "ScorerError": "pytest_nel.core.errors",
    "ScorerInput": "pytest_nel.core.types",
    "SeedResult": "pytest_nel.core.types",
    "SolveResult": "pytest_nel.core.types",
    "Solver": "pytest_nel.core.protocols",
    "VerifyResult": "pytest_nel.core.types",
    "answer_line": "pytest_nel.scoring.line",
    "benchmark": "pytest_nel.authoring.benchmark",
    "compare_runs": "pytest_nel.records.compare",
    "exact_match": "pytest_nel.scoring.text",
    "f1": "pytest_nel.scoring.overlap",
    "fuzzy_match": "pytest_nel.scoring.text",
    "json_schema": "pytest_nel.scoring.schema",
    "math_equal": "pytest_nel.scoring.equal",
    "mcq_extract": "pytest_nel.scoring.choice",
    "needs_judge": "pytest_nel.scoring.judging.request",
    "multichoice_regex": "pytest_nel.scoring.choice",
    "numeric_match": "pytest_nel.scoring.numeric",
    "pattern": "pytest_nel.scoring.pattern",
    "register": "pytest_nel.authoring.benchmark",
    "run_evaluation": "pytest_nel.engine.run",
    "scorer": "pytest_nel.authoring.benchmark",
}

__all__ = [
    "Benchmark",
    "ConfigError",
    "DataError",
    "EvalEnvironment",
    "GracefulError",
    "InfraError",
    "ModelClient",
    "ModelResponse",
    "NelError",
    "Sandbox",
    "ScorerError",
    "ScorerInput",
    "SeedResult",
    "SolveResult",
    "Solver",
    "VerifyResult",
    "answer_line",
    "benchmark",
    "compare_runs",
    "exact_match",
    "f1",
    "fuzzy_match",
    "json_schema",
    "math_equal",
    "mcq_extract",
    "multichoice_regex",
    "needs_judge",
    "numeric_match",
    "pattern",
    "register",
    "run_evaluation",
    "scorer",
]


def __getattr__(name: str) -> Any:  # Any: classes and functions alike
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    msg = f"module 'pytest_nel' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
