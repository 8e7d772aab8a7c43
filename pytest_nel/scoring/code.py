"""``code_sandbox``: run a response's code against a problem's tests, in a sandbox.

The form is HumanEval's (Chen et al. 2021, arXiv:2107.03374): ``prompt`` begins a program,
``test`` defines ``check(candidate)`` or is a script of assertions, ``entry_point`` names the
function. Unlike there the tests do not run in the candidate's process, where it could end it,
replace ``assert`` or read them: they run in a second one that asks the candidate over a socket.
"""

import asyncio
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pytest_nel.core.errors import ConfigError, ScorerError
from pytest_nel.core.sandbox import ExecResult, Sandbox, SandboxError
from pytest_nel.core.types import JsonObject, ScorerInput, VerifyResult
from pytest_nel.scoring import bounded

CODE_TIMEOUT = 30.0
"""Seconds that a program may take, tests included; as in the reference system."""

_START = 60.0  # seconds in which the two have to find each other; they are nobody's
_GRACE = 15.0  # the tests look at the clock themselves, and are ended where they cannot
_AFTER = 2.0  # seconds for the candidate to see that the tests have ended
_CHECKER, _CANDIDATE = "60001:60001", "60002:60002"  # of no image: both may do nothing
_METHOD = "code_sandbox"
_PYTHON = 'exec "$(command -v python3 || command -v python)" -I -c "$0"'
_VALUES = "pytest_nel.scoring._code_values"
_WITH_VALUES = f"""\
import sys, types
sys.modules["{_VALUES}"] = types.ModuleType("{_VALUES}")
exec({{!r}}, vars(sys.modules["{_VALUES}"]))
"""
_DETAIL = 2000


@dataclass(frozen=True, slots=True)
class _Problem:
    prompt: str
    tests: str
    entry_point: str
    timeout: float


async def code_sandbox(sample: ScorerInput) -> VerifyResult:
    """Correct where the code of the response passes the tests of the row.

    The row has ``prompt``, ``test`` and ``entry_point`` (or with a leading underscore, as the
    reference system calls them). Settings: ``code_timeout``, seconds for one program (30).

    A program that crashes, runs out of time or memory, or prints without end is wrong, and so is
    one with which the tests do not come to their end; its time runs from when both are ready. A
    sandbox that fails leaves the attempt unscored. A response without code that defines the entry
    point is unparsed.

    Raises:
        ScorerError: The row lacks a field, or its tests cannot be run as they are.
        SandboxError: There is no sandbox, or it failed.
    """
    problem = _problem(sample.metadata, sample.config)
    if sample.sandbox is None:
        msg = f"{_METHOD} runs code and has no sandbox: give the benchmark's entry one"
        raise SandboxError(msg, retryable=False)
    found, prelude = await _extracted(sample.response, problem)
    if found is None:
        details = {
            "method": _METHOD,
            "rule": "none",
            "correct": False,
            "reason": f"no Python that defines {problem.entry_point}",
        }
        return VerifyResult(0.0, None, details, parsed=False)
    code, rule = found
    before = "" if rule.endswith("body") else prelude
    verdict = await _run(sample.sandbox, problem, prelude, [before, code])
    passed = bool(verdict.pop("passed"))
    details = {"method": _METHOD, "rule": rule, "correct": passed, **verdict}
    return VerifyResult(float(passed), code[:_DETAIL], details)


def _problem(row: Mapping[str, Any], config: Mapping[str, Any]) -> _Problem:
    values = []
    for name in ("prompt", "test", "entry_point"):
        value = row.get(f"_{name}", row.get(name))
        if not isinstance(value, str) or (name != "prompt" and not value.strip()):
            msg = f"{_METHOD}: the row needs {name!r} as text, got {value!r:.80}"
            raise ScorerError(msg)
        values.append(value)
    return _Problem(values[0], values[1], values[2].strip(), code_timeout(config))


def code_timeout(config: Mapping[str, Any]) -> float:
    """The setting ``code_timeout`` in seconds.

    Raises:
        ConfigError: It is no number above 0.
    """
    value = config.get("code_timeout", CODE_TIMEOUT)
    if isinstance(value, bool) or not isinstance(value, int | float) or not 0 < value <= 86_400:
        msg = f"{_METHOD}: code_timeout: expected seconds above 0, got {value!r}"
        raise ConfigError(msg)
    return float(value)


async def _extracted(response: str, problem: _Problem) -> tuple[list[str] | None, str]:
    """The code and the prompt's own part; Python's parser works where it can do no harm."""
    arguments = (response, problem.entry_point, problem.prompt)
    try:
        found, prelude = await asyncio.to_thread(bounded.ask, "source_text:task", *arguments)
    except bounded.OutOfBounds:
        return None, ""
    except bounded.TaskFailed as error:
        msg = f"{_METHOD}: the response's code could not be found: {error}"
        raise ScorerError(msg) from error
    return found, prelude


async def _run(
    sandbox: Sandbox, problem: _Problem, prelude: str, program: Sequence[str]
) -> JsonObject:
    """The verdict on a program of two files, the prompt's part and the response's."""
    token = secrets.token_hex(16)
    shared = {"socket": f".nel-{token}/s", "entry_point": problem.entry_point, "wait": _START}
    verdict_token = secrets.token_hex(16)
    limit = _START + problem.timeout + _GRACE
    told = {"prelude": prelude, "tests": problem.tests, "seconds": problem.timeout}
    job = {**shared, **told, "token": verdict_token}
    checker = _python(sandbox, "_code_checker", job, limit, user=_CHECKER)
    job = {**shared, "prelude": program[0], "program": program[1]}
    candidate = _python(sandbox, "_code_candidate", job, limit, user=_CANDIDATE)
    tests, code = await _together(checker, candidate)
    return _verdict(tests, code, verdict_token)


async def _together(checker: Any, candidate: Any) -> tuple[ExecResult, ExecResult]:
    """Both, until the tests have ended; where one cannot be run the other is not left behind."""
    try:
        async with asyncio.TaskGroup() as group:
            first, second = group.create_task(checker), group.create_task(candidate)
            await first
            await asyncio.wait([second], timeout=_AFTER)
            second.cancel()  # a thread of its own may keep it alive
    except ExceptionGroup as failed:
        raise failed.exceptions[0] from None
    return first.result(), ExecResult() if second.cancelled() else second.result()


async def _python(
    sandbox: Sandbox, name: str, job: JsonObject, seconds: float, *, user: str
) -> ExecResult:
    argv = ["/bin/sh", "-c", _PYTHON, _source(name)]
    told = json.dumps(job).encode()
    who = user if sandbox.has_users else None
    return await sandbox.exec(argv, seconds, user=who, stdin=told, cwd="/")


@cache
def _source(name: str) -> str:
    """The text of a script beside this module, with the module that it imports."""
    folder = files("pytest_nel.scoring")
    values = (folder / "_code_values.py").read_text(encoding="utf-8")
    return _WITH_VALUES.format(values) + (folder / f"{name}.py").read_text(encoding="utf-8")


def _verdict(tests: ExecResult, code: ExecResult, token: str) -> JsonObject:
    """What became of it.

    The candidate runs only when the tests have begun: a checker that began and came to no verdict
    was killed, or kept from its end, by what it asked.

    Raises:
        SandboxError: The two did not begin.
        ScorerError: The tests themselves are broken.
    """
    said = _said(tests, token)
    if "broken" in said:
        msg = f"{_METHOD}: the tests cannot be run: {said['broken']}"
        raise ScorerError(msg)
    if "alone" in said:
        msg = f"{_METHOD}: the process for the candidate did not begin within {_START:g} s"
        raise SandboxError(msg)
    if not said:
        text = (tests.stderr or tests.stdout).strip()[-500:] or "silent"
        msg = f"{_METHOD}: the tests did not begin: exit status {tests.return_code}: {text}"
        raise SandboxError(msg)
    facts: JsonObject = {"passed": False}
    keys = ("passed", "stage", "error", "timed_out")
    facts |= {key: said[key] for key in keys if key in said}
    if "passed" not in said:
        facts |= {"stage": "test", "error": "the tests came to no end with it"}
    if not facts["passed"]:
        facts |= _how_it_ended(tests, code)
    return facts


def _how_it_ended(tests: ExecResult, code: ExecResult) -> JsonObject:
    facts: JsonObject = {"return_code": code.return_code}
    if tests.timed_out or code.timed_out:
        facts["timed_out"] = True
    if 137 in (code.return_code, tests.return_code):
        facts["killed"] = True  # most often the sandbox's memory was used up
    if stderr := code.stderr.strip():
        facts["stderr"] = stderr[-500:]
    return facts


def _said(tests: ExecResult, token: str) -> JsonObject:
    """What the tests' process has said last; nothing where no line is of this run."""
    for line in reversed(tests.stdout.splitlines()):
        try:
            said = json.loads(line)
        except ValueError:
            continue
        if isinstance(said, dict) and said.get("token") == token:
            return said
    return {}
