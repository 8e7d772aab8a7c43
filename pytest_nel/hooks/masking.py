"""Takes the secrets of the run out of what pytest says about failures.

A traceback with ``--showlocals``, or one of an internal error, shows whatever our functions hold,
and a library may log what an endpoint replied: both may be a key.
"""

import logging
from collections.abc import Callable
from functools import partial
from typing import Any

import pytest

from pytest_nel.hooks.state import Run

_DEEPEST = 12
_REPRESENTATIONS = ("_pytest._code.code", "_pytest.doctest")
_LOGGERS = ("httpcore.connection", "httpcore.http11", "httpcore.http2", "httpcore.proxy")
"""They log the headers of replies, in which an endpoint may say the request's back."""


class Masking:
    """Hooks that see a report before whoever prints, writes or sends it.

    Args:
        run: Whose secrets.
    """

    def __init__(self, run: Run) -> None:
        self._run = run

    def install(self) -> None:
        """Mask what is logged from now on, until pytest is unconfigured."""
        found = _Filter(self._run.redact)
        for name in _LOGGERS:
            logger = logging.getLogger(name)
            logger.addFilter(found)
            self._run.config.add_cleanup(partial(logger.removeFilter, found))

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        """A test's, set-up and teardown included."""
        self._mask(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        """A file's: its own import may fail, or the self-test of its scorer."""
        self._mask(report)

    @pytest.hookimpl(tryfirst=True)
    def pytest_internalerror(self, excrepr: object) -> None:
        """One of ours, or of another plugin."""
        masked(excrepr, self._run.redact)

    def _mask(self, report: pytest.TestReport | pytest.CollectReport) -> None:
        if report.longrepr is None:
            return
        told = report.longrepr
        if not isinstance(told, str | tuple) and not _of_a_traceback(told):
            told = str(told)  # another plugin's: as it would be printed
        report.longrepr = masked(told, self._run.redact)
        report.sections = masked(report.sections, self._run.redact)


class _Filter(logging.Filter):
    def __init__(self, redact: Callable[[str], str]) -> None:
        super().__init__()
        self._redact = redact

    def filter(self, record: logging.LogRecord) -> bool:
        record.msg, record.args = self._redact(record.getMessage()), ()
        return True


def masked(value: Any, redact: Callable[[str], str], depth: int = 0) -> Any:
    """The same with every text masked; pytest's objects of a traceback are changed.

    Any: whatever a ``longrepr`` is made of. Objects of others are let be: they may be alive.
    """
    if isinstance(value, str):
        return redact(value)
    kind = type(value)
    if depth > _DEEPEST:
        return value
    if kind is list or kind is tuple:
        return kind(masked(item, redact, depth + 1) for item in value)
    if kind is dict:
        return {name: masked(item, redact, depth + 1) for name, item in value.items()}
    if _of_a_traceback(value):
        for name, inner in list(vars(value).items()):
            setattr(value, name, masked(inner, redact, depth + 1))
    return value


def _of_a_traceback(value: object) -> bool:
    return type(value).__module__ in _REPRESENTATIONS and hasattr(value, "__dict__")
