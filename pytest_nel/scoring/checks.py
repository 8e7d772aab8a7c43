"""Checks of a benchmark's own, written in Python, that run in a sandbox on what an agent left."""

import hashlib
import json
import secrets
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.resources import files
from typing import Any

from pytest_nel.core.errors import ScorerError
from pytest_nel.core.sandbox import ExecResult, Sandbox, SandboxError
from pytest_nel.core.types import JsonObject

CHECK_TIMEOUT = 120.0
"""Seconds for the checks of one answer."""

_PYTHON = 'exec "$(command -v python3 || command -v python)" -I -c "$0"'
_PART = 1 << 20  # bytes by which files are compared
_ROOM = 60_000  # characters of all texts together
_SKIPPED = (".git", ".openclaw", "__pycache__", "node_modules")
_NO_PYTHON = (126, 127)  # what a shell ends with where there is no program


@dataclass(frozen=True, slots=True)
class Checked:
    """What was found in a workspace.

    Attributes:
        scores: What the checks say of each of their criteria; none where they failed.
        failed: How they ended, where they did not come to a verdict on what they found.
        changed: Whether the files are others than at the beginning.
        texts: Beginnings of text files by their paths, hidden ones left out.
    """

    scores: Mapping[str, float]
    failed: str | None = None
    changed: bool = True
    texts: Sequence[tuple[str, str]] = ()

    @property
    def reward(self) -> float:
        """The mean of the scores; 0 where the checks failed."""
        return sum(self.scores.values()) / len(self.scores) if self.scores else 0.0


async def run_checks(
    sandbox: Sandbox,
    code: str | None,
    *,
    transcript: Sequence[Mapping[str, Any]] = (),
    given: Mapping[str, bytes] | None = None,
    seconds: float = CHECK_TIMEOUT,
) -> Checked:
    """Have checks look at the sandbox's workdir.

    Args:
        sandbox: Where they run; Python 3.8 or newer is in it.
        code: Python that defines ``grade(transcript, workspace_path)``, which returns scores from
            0 to 1 by criterion. None: there are no checks, and the workspace is looked at only.
        transcript: What the agent did, as ``grade`` is told it.
        given: What was in the workspace at the beginning, by path.
        seconds: For all of it.

    Checks that raise, run out of time or memory, or are ended by what they have started, failed
    on what they found. Ones that are no Python, lack a package, or return no scores are to blame
    themselves. Where the sandbox's ``output_limit`` leaves out texts, an entry says how many.

    Raises:
        ScorerError: The checks cannot be run, or say what is no score.
        SandboxError: There is no sandbox, no Python in it, it failed, or its ``output_limit``
            cut the verdict.
    """
    told: JsonObject = {
        "token": secrets.token_hex(16),
        "code": code,
        "transcript": list(transcript),
        "given": {name: _mark(data) for name, data in (given or {}).items()},
        "part": _PART,
        "room": _ROOM,
        "skipped": _SKIPPED,
    }
    argv = ["/bin/sh", "-c", _PYTHON, _script()]
    ran = await sandbox.exec(argv, seconds, stdin=json.dumps(told).encode())
    *files, said = _said(ran, told["token"])
    if said is None:
        return Checked({}, _ended(ran, seconds))
    if "broken" in said:
        msg = f"the checks cannot be run: {said['broken']}"
        raise ScorerError(msg)
    texts = [(_shown(name), _shown(text)) for name, text in (row["file"] for row in files)]
    if lost := int(said["texts"]) - len(texts):
        texts.append(("…", f"{lost} more, left out by the sandbox's output_limit"))
    scores = {} if code is None or "failed" in said else _scores(said["scores"])
    return Checked(scores, said.get("failed"), bool(said["changed"]), texts)


def _shown(text: object) -> str:
    """Text that can be written down: names of files may be anything."""
    return str(text).encode("utf-8", "replace").decode("utf-8")


@cache
def _script() -> str:
    return (files("pytest_nel.scoring") / "_checks_inside.py").read_text(encoding="utf-8")


def _mark(data: bytes) -> list[Any]:
    return [len(data), hashlib.sha256(data[:_PART]).hexdigest()]


def _said(ran: ExecResult, token: str) -> list[Any]:
    """Its lines, as far as they are there; None stands last where the verdict is not.

    Raises:
        SandboxError: There is one, and it is cut.
    """
    lines = ran.stdout.strip().split("\n")
    found = [row for row in map(_row, lines) if row is not None and row.get("token") == token]
    if found and "file" not in found[-1]:
        return found
    last = lines[-1]
    if last.endswith(f'"token": "{token}"}}') and _row(last) is None:
        msg = f"checks: the sandbox's output_limit cut their verdict, {last[-200:-50]}: raise it"
        raise SandboxError(msg, retryable=False)
    return [None]


def _row(line: str) -> JsonObject | None:
    try:
        found = json.loads(line)
    except ValueError:
        return None
    return found if isinstance(found, dict) else None


def _ended(ran: ExecResult, seconds: float) -> str:
    """How checks that said nothing came to their end.

    Raises:
        SandboxError: They never began.
    """
    text = (ran.stderr or ran.stdout).strip()[-500:]
    if ran.return_code in _NO_PYTHON:
        msg = f"checks need Python 3 in the sandbox, and its image has none: {text}"
        raise SandboxError(msg, retryable=False)
    if ran.timed_out:
        return f"not done within {seconds:g} s"
    return f"ended with exit status {ran.return_code} and no scores: {text or 'silent'}"


def _scores(said: Sequence[tuple[str, Any]]) -> Mapping[str, float]:
    """By criterion.

    Raises:
        ScorerError: There are none, or one is no number from 0 to 1.
    """
    scores = dict(said)
    wrong = [name for name, value in scores.items() if not _is_score(value)]
    if wrong or not scores:
        found = f"{wrong[0]!r}: {scores[wrong[0]]!r:.100}" if wrong else "nothing"
        msg = f"the checks must say a number from 0 to 1 for each criterion, they said {found}"
        raise ScorerError(msg)
    return {name: float(value) for name, value in scores.items()}


def _is_score(value: object) -> bool:
    return isinstance(value, int | float) and 0 <= value <= 1
