"""What goes wrong with sandboxes while nobody asks: said at once, and again at the end."""

import logging
from collections import Counter, deque

from pytest_nel.hooks.state import Run

_LOGGERS = (
    "pytest_nel.sandboxes",
    "pytest_nel.engine.lazy_sandbox",
    "pytest_nel.engine.sandboxes",
)
"""They warn of containers that were left, or found; pytest shows that only with failed tests."""
_MOST = 3
"""Notes of one kind: a daemon in trouble has one to say of each of thousands of attempts."""
Place = tuple[str, int]
"""Where in the code a warning is given, which tells its kind: file and line."""


class Warned(logging.Handler):
    """Hears warnings, which come from any thread, and makes notes of them in the session's.

    Args:
        run: Whose notes.
    """

    def __init__(self, run: Run) -> None:
        super().__init__(logging.WARNING)
        self._run = run
        self._heard: deque[tuple[Place, str]] = deque()
        self._known: set[str] = set()
        self._kinds: Counter[Place] = Counter()
        self._last: dict[Place, str] = {}

    def install(self) -> None:
        """Hear what is warned of from now on, until pytest is unconfigured."""
        for name in _LOGGERS:
            logging.getLogger(name).addHandler(self)
        self._run.on_tick.append(self.tell)
        self._run.on_closed.append(self.sum_up)
        self._run.config.add_cleanup(self._remove)

    def emit(self, record: logging.LogRecord) -> None:
        """Keep it until the session's own thread comes by."""
        self._heard.append(((record.pathname, record.lineno), record.getMessage()))

    def tell(self) -> None:
        """Make notes of what was heard, each once and a few of a kind."""
        while self._heard:
            kind, raw = self._heard.popleft()
            text = self._run.redact(raw)
            if text in self._known:
                continue
            self._known.add(text)
            self._kinds[kind] += 1
            self._last[kind] = text
            if self._kinds[kind] <= _MOST and text not in self._run.notes:
                self._run.note(text)

    def sum_up(self) -> None:
        """Say how many more there were of each kind, when there will be no others."""
        self.tell()
        for kind, count in self._kinds.items():
            if count > _MOST:
                self._run.note(f"... and {count - _MOST:,} more, the last: {self._last[kind]}")

    def _remove(self) -> None:
        for name in _LOGGERS:
            logging.getLogger(name).removeHandler(self)
