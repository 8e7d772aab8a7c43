"""Runs the tests of a Harbor task where nobody was before, and reads the reward that they leave."""

import json
import math
import re
import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from secrets import token_hex
from typing import Any

from pytest_nel.core.errors import NotJudged
from pytest_nel.core.sandbox import ExecResult, Sandbox, WrongPath
from pytest_nel.core.types import JsonObject, VerifyResult
from pytest_nel.datasets.harbor_task import Task
from pytest_nel.environments._harbor_commands import SWEEP_OTHERS, clear_command
from pytest_nel.http.secret import Secrets

_TEXT = "/logs/verifier/reward.txt"
_JSON = "/logs/verifier/reward.json"
_OLD = "/reward.txt"
_REPORT = "/logs/verifier/report.json"
_LARGEST = 1024 * 1024
"""Bytes of a file that the tests leave: of a larger one nothing is taken for the whole."""
_KEPT = 50_000
_SUMMARY, _TAIL = 8_000, 4_000
_CANNOT_RUN = {126, 127}
_SIGNALS = 128
"""An exit code above it is that of a process which a signal has ended, as where memory is short."""
_CLEAR_TIMEOUT = 120.0
_ROOT = "0:0"
_MARKS = re.compile(
    r"^(=+ (short test summary info|FAILURES|ERRORS|test session starts) =+|Ran \d+ tests? in .*"
    r"|Test Suites: .*|test result: .*|--- FAIL: .*|BUILD (FAILURE|SUCCESS).*)$",
    re.MULTILINE,
)


@dataclass(frozen=True, slots=True)
class Verifying:
    """How the tests of one task are run.

    Attributes:
        task: The task.
        agent_user: Whose rights the agent had.
        env: Variables of the tests.
        hidden: What of their values nobody may see.
        keeps_processes: Whether what the agent left running goes on, as the task needs it.
    """

    task: Task
    agent_user: str
    env: Mapping[str, str]
    hidden: Secrets = field(default_factory=lambda: Secrets(()))
    keeps_processes: bool = False


async def judged(how: Verifying, sandbox: Sandbox) -> VerifyResult:
    """Run the tests, and say what they say.

    Raises:
        NotJudged: They did not end in time, could not run, or left no readable reward, or their
            place could not be made.
        SandboxError: The sandbox failed.
    """
    task = how.task
    await _cleared(how, sandbox)
    await _brought(task, sandbox)
    ran = await sandbox.exec(
        _words(task), task.settings.verifier_timeout, env=how.env, user=_user(task)
    )
    ran = _without(how.hidden, ran)
    if ran.timed_out:
        msg = (
            f"task {task.name}: the tests did not end within {task.settings.verifier_timeout:g} s "
            f"(verifier.timeout_sec); they had said: {_end(ran)}"
        )
        raise NotJudged(msg, timed_out=True)
    reward, source, more = await _reward(how, sandbox, ran)
    details: JsonObject = {
        "method": "harbor",
        "test_exit_code": ran.return_code,
        "reward_source": source,
        "test_summary": summary(ran.stdout),
        "test_stdout": ran.stdout[-_KEPT:],
        "test_stderr": ran.stderr[-_KEPT:],
        **more,
    }
    details |= await _report(how, sandbox)
    return VerifyResult(reward=reward, scoring_details=details)


def _user(task: Task) -> str:
    """Whose rights the tests have; root by number: an agent may have given that name to others."""
    user = task.settings.verifier_user or task.image_user
    return _ROOT if user == "root" else user


def _is_root(user: str) -> bool:
    return user.partition(":")[0] in {"root", "0"}


def _words(task: Task) -> list[str]:
    script = task.settings.setup_script
    if script is None:
        return ["/bin/bash", "/tests/test.sh"]
    both = f"/bin/bash {shlex.quote(script)} && exec /bin/bash /tests/test.sh"
    return ["/bin/bash", "-c", both]


async def _cleared(how: Verifying, sandbox: Sandbox) -> None:
    sweep = not how.keeps_processes
    if sweep and not _is_root(how.agent_user):
        await _done(sandbox, SWEEP_OTHERS, how.agent_user, how.task)
    writable = not _is_root(_user(how.task))
    command = clear_command(token_hex(8), sweep=sweep, writable=writable)
    await _done(sandbox, command, _ROOT, how.task)


async def _done(sandbox: Sandbox, command: str, user: str, task: Task) -> None:
    ran = await sandbox.exec(["/bin/sh", "-c", command], _CLEAR_TIMEOUT, cwd="/", user=user)
    if ran.return_code != 0:
        ended = "its time was up" if ran.timed_out else f"exit {ran.return_code}"
        msg = (
            f"task {task.name}: the place of its tests could not be made new ({ended}), so "
            f"nothing found there counts: {_end(ran)}"
        )
        raise NotJudged(msg, timed_out=ran.timed_out)


async def _brought(task: Task, sandbox: Sandbox) -> None:
    """Put the tests where they run.

    Raises:
        NotJudged: What goes on there has put something in their way.
    """
    try:
        await sandbox.upload(task.tests, "/tests")
    except WrongPath as error:
        msg = f"task {task.name}: its tests could not be put in their place: {error}"
        raise NotJudged(msg) from error


def _without(hidden: Secrets, ran: ExecResult) -> ExecResult:
    """Before anything is cut, quoted or kept: half of a value would not be known again."""
    return replace(
        ran,
        stdout_bytes=hidden.out_of_line(ran.stdout).encode(),
        stderr_bytes=hidden.out_of_line(ran.stderr).encode(),
    )


async def _reward(
    how: Verifying, sandbox: Sandbox, ran: ExecResult
) -> tuple[float, str, Mapping[str, Any]]:
    task = how.task
    for path in (_TEXT, _JSON, _OLD):
        text = await _read(how, sandbox, path)
        if text is None:
            continue
        if path == _JSON:
            value, named = of_json(task.name, text)
            return _checked(task, path, value), path, {"rewards": named} if named else {}
        return _checked(task, path, text.strip()), path, {"reward_raw": text.strip()[:100]}
    if ran.return_code in _CANNOT_RUN or ran.return_code > _SIGNALS:
        msg = (
            f"task {task.name}: the tests {_no_end(ran.return_code)} and left no reward: "
            f"{_end(ran)}"
        )
        raise NotJudged(msg)
    return float(ran.return_code == 0), "exit_code", {}


def _no_end(code: int) -> str:
    """How tests failed whose exit code says nothing of the work."""
    if code in _CANNOT_RUN:
        return f"could not run (exit {code}: a program is missing)"
    return f"were ended by signal {code - _SIGNALS} (exit {code})"


def of_json(name: str, text: str) -> tuple[object, JsonObject]:
    """The reward of a reward.json, and all that it names.

    Args:
        name: The task's, for messages.
        text: What is in the file: a number, or an object with ``reward`` or one number.

    Raises:
        NotJudged: It is neither.
    """
    try:
        raw: object = json.loads(text)
    except (ValueError, RecursionError) as error:
        msg = f"task {name}: {_JSON} is no JSON ({error}): {text[:200]!r}"
        raise NotJudged(msg) from error
    if not isinstance(raw, dict):
        return raw, {}
    if "reward" in raw:
        return raw["reward"], raw
    if len(raw) == 1:
        return next(iter(raw.values())), raw
    msg = (
        f"task {name}: {_JSON} names {', '.join(sorted(raw)) or 'nothing'}, and which of them is "
        "the reward is not clear: it must have a key `reward`"
    )
    raise NotJudged(msg)


def _checked(task: Task, path: str, said: object) -> float:
    value = math.nan
    if isinstance(said, str | int | float) and not isinstance(said, bool):
        try:
            value = float(said)
        except (ValueError, OverflowError):  # digits without end
            value = math.nan
    if not 0.0 <= value <= 1.0:
        msg = f"task {task.name}: {path}: expected a reward from 0 to 1, got {str(said)[:100]!r}"
        raise NotJudged(msg)
    return value


async def _read(how: Verifying, sandbox: Sandbox, path: str) -> str | None:
    """What the tests have left there, all of it; None: nothing.

    Raises:
        NotJudged: It is a folder, or too large, or cannot be read.
    """
    try:
        data = await sandbox.read(path, limit=_LARGEST + 1)
    except FileNotFoundError:
        return None
    except IsADirectoryError as error:
        msg = f"task {how.task.name}: {path}: expected a file, got a folder"
        raise NotJudged(msg) from error
    except WrongPath as error:
        msg = f"task {how.task.name}: {path}: expected a file that can be read: {error}"
        raise NotJudged(msg) from error
    if len(data) > _LARGEST:
        msg = f"task {how.task.name}: {path}: it is too large, {_LARGEST:,} bytes at most"
        raise NotJudged(msg)
    return how.hidden.out_of_line(data.decode("utf-8", "replace"))


async def _report(how: Verifying, sandbox: Sandbox) -> JsonObject:
    """The report for the record, or why there is none although the tests left one."""
    try:
        text = await _read(how, sandbox, _REPORT)
        return {} if text is None else {"report": json.loads(text)}
    except NotJudged as error:
        return {"report_left_out": str(error)}
    except (ValueError, RecursionError) as error:
        return {"report_left_out": f"{_REPORT} is no JSON ({error})"}


def summary(text: str) -> str:
    """What a runner of tests says at its end: from its first mark, else the last of it."""
    match = _MARKS.search(text)
    return text[match.start() :][:_SUMMARY] if match else text[-_TAIL:]


def _end(ran: ExecResult) -> str:
    return (ran.stderr.strip() or ran.stdout.strip() or "nothing")[-500:]
