"""What GitHub Actions shows of checks: annotations in the log, and the summary page of a job."""

from collections.abc import Callable, Iterable
from pathlib import Path

from pytest_nel.core.text import showable
from pytest_nel.gate.check import Check

_MOST = 10  # of each level are shown for a step


def annotations(checks: Iterable[Check]) -> list[str]:
    """``::error title=…::…`` for what failed, ``::warning`` for what stayed open."""
    lines = {"error": list[str](), "warning": list[str]()}
    for check in checks:
        level = {"failed": "error", "open": "warning"}.get(check.status)
        if level is not None and len(lines[level]) < _MOST:
            title, text = _property(check.id), _data(showable(check.reason, 500))
            lines[level].append(f"::{level} title={title}::{text}")
    return [*lines["error"], *lines["warning"]]


def append_summary(markdown: str, getenv: Callable[[str], str | None]) -> None:
    """Add to the job's summary page, where there is one ($GITHUB_STEP_SUMMARY).

    Raises:
        OSError: The file cannot be written.
    """
    name = getenv("GITHUB_STEP_SUMMARY")
    if name:
        with Path(name).open("a", encoding="utf-8", errors="replace") as file:
            file.write(markdown + "\n")


def _data(text: str) -> str:
    return text.replace("%", "%25").replace("\r", "%0D").replace("\n", "%0A")


def _property(text: str) -> str:
    return _data(showable(text, 200)).replace(":", "%3A").replace(",", "%2C")
