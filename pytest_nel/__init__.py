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
    from pytest_nel.core.protocols import EvalEnvironment, Solver
    from pytest_nel.core.sandbox import ExecResult, Sandbox, SandboxError, SandboxSpec
    from pytest_nel.core.types import (
        ModelResponse,
        ScorerInput,
        SeedResult,
        SolveResult,
        VerifyResult,
    )
    from pytest_nel.datasets.terminal_bench import terminal_bench
    from pytest_nel.datasets.whole import FileTree, file_tree, local_files
    from pytest_nel.engine.run import run_evaluation
    from pytest_nel.environments.harbor import HarborEnvironment
    from pytest_nel.http.client import ModelClient
    from pytest_nel.records.compare import compare_runs
    from pytest_nel.scoring.checks import Checked, run_checks
    from pytest_nel.scoring.choice import mcq_extract, multichoice_regex
    from pytest_nel.scoring.code import code_sandbox
    from pytest_nel.scoring.equal import math_equal
    from pytest_nel.scoring.judging.request import needs_judge
    from pytest_nel.scoring.line import answer_line
    from pytest_nel.scoring.numeric import numeric_match
    from pytest_nel.scoring.overlap import f1
    from pytest_nel.scoring.pattern import pattern
    from pytest_nel.scoring.schema import json_schema
    from pytest_nel.scoring.text import exact_match, fuzzy_match
    from pytest_nel.scoring.transcript import transcript, transcript_text

_HOMES = {
    "Benchmark": "pytest_nel.authoring.benchmark",
    "Checked": "pytest_nel.scoring.checks",
    "ConfigError": "pytest_nel.core.errors",
    "DataError": "pytest_nel.core.errors",
    "EvalEnvironment": "pytest_nel.core.protocols",
    "GracefulError": "pytest_nel.core.errors",
    "HarborEnvironment": "pytest_nel.environments.harbor",
    "InfraError": "pytest_nel.core.errors",
    "ModelClient": "pytest_nel.http.client",
    "ModelResponse": "pytest_nel.core.types",
    "NelError": "pytest_nel.core.errors",
    "ExecResult": "pytest_nel.core.sandbox",
    "Sandbox": "pytest_nel.core.sandbox",
    "SandboxError": "pytest_nel.core.sandbox",
    "SandboxSpec": "pytest_nel.core.sandbox",
    "ScorerError": "pytest_nel.core.errors",
    "ScorerInput": "pytest_nel.core.types",
    "SeedResult": "pytest_nel.core.types",
    "SolveResult": "pytest_nel.core.types",
    "Solver": "pytest_nel.core.protocols",
    "VerifyResult": "pytest_nel.core.types",
    "answer_line": "pytest_nel.scoring.line",
    "benchmark": "pytest_nel.authoring.benchmark",
    "code_sandbox": "pytest_nel.scoring.code",
    "compare_runs": "pytest_nel.records.compare",
    "exact_match": "pytest_nel.scoring.text",
    "f1": "pytest_nel.scoring.overlap",
    "fuzzy_match": "pytest_nel.scoring.text",
    "json_schema": "pytest_nel.scoring.schema",
    "FileTree": "pytest_nel.datasets.whole",
    "file_tree": "pytest_nel.datasets.whole",
    "local_files": "pytest_nel.datasets.whole",
    "math_equal": "pytest_nel.scoring.equal",
    "mcq_extract": "pytest_nel.scoring.choice",
    "needs_judge": "pytest_nel.scoring.judging.request",
    "multichoice_regex": "pytest_nel.scoring.choice",
    "numeric_match": "pytest_nel.scoring.numeric",
    "pattern": "pytest_nel.scoring.pattern",
    "register": "pytest_nel.authoring.benchmark",
    "run_checks": "pytest_nel.scoring.checks",
    "run_evaluation": "pytest_nel.engine.run",
    "scorer": "pytest_nel.authoring.benchmark",
    "terminal_bench": "pytest_nel.datasets.terminal_bench",
    "transcript": "pytest_nel.scoring.transcript",
    "transcript_text": "pytest_nel.scoring.transcript",
}

__all__ = [
    "Benchmark",
    "Checked",
    "ConfigError",
    "DataError",
    "EvalEnvironment",
    "ExecResult",
    "FileTree",
    "GracefulError",
    "HarborEnvironment",
    "InfraError",
    "ModelClient",
    "ModelResponse",
    "NelError",
    "Sandbox",
    "SandboxError",
    "SandboxSpec",
    "ScorerError",
    "ScorerInput",
    "SeedResult",
    "SolveResult",
    "Solver",
    "VerifyResult",
    "answer_line",
    "benchmark",
    "code_sandbox",
    "compare_runs",
    "exact_match",
    "f1",
    "file_tree",
    "fuzzy_match",
    "json_schema",
    "local_files",
    "math_equal",
    "mcq_extract",
    "multichoice_regex",
    "needs_judge",
    "numeric_match",
    "pattern",
    "register",
    "run_checks",
    "run_evaluation",
    "scorer",
    "terminal_bench",
    "transcript",
    "transcript_text",
]


def __getattr__(name: str) -> Any:  # Any: classes and functions alike
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    msg = f"module 'pytest_nel' has no attribute {name!r}"
    raise AttributeError(msg)


def __dir__() -> list[str]:
    return sorted(__all__)
