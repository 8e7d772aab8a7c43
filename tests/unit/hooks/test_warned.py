"""What sandboxes warn of becomes notes of the run: each once, and a few of a kind."""

import logging
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import pytest

from pytest_nel.hooks.warned import Warned

_LOG = logging.getLogger("pytest_nel.sandboxes.of_a_test")


@dataclass
class Session:
    """What of a run takes notes; its own configuration too."""

    notes: list[str] = field(default_factory=list)
    on_tick: list[Callable[[], None]] = field(default_factory=list)
    on_closed: list[Callable[[], None]] = field(default_factory=list)
    cleanups: list[Callable[[], None]] = field(default_factory=list)

    @property
    def config(self) -> "Session":
        return self

    def add_cleanup(self, call: Callable[[], None]) -> None:
        self.cleanups.append(call)

    def redact(self, text: str) -> str:
        return text.replace("sk-1", "[API key]")

    def note(self, text: str) -> None:
        self.notes.append(text)


@pytest.fixture
def session() -> Iterator[Session]:
    made: Any = Session()
    Warned(made).install()
    yield made
    for call in made.cleanups:
        call()


def test_of_thousands_of_warnings_of_one_kind_a_few_are_notes_and_the_others_counted(
    session: Session,
) -> None:
    for attempt in range(10_000):
        _LOG.warning("sandbox of %s could not be stopped", attempt)
        _LOG.warning("the daemon hangs (sk-1)")
        session.on_tick[0]()
    session.on_closed[0]()

    assert session.notes == [
        "sandbox of 0 could not be stopped",
        "the daemon hangs ([API key])",
        "sandbox of 1 could not be stopped",
        "sandbox of 2 could not be stopped",
        "... and 9,997 more, the last: sandbox of 9999 could not be stopped",
    ]


def test_a_few_warnings_are_all_notes_whenever_they_come(session: Session) -> None:
    for name in ("a", "b", "c"):
        _LOG.warning("%s", name)
    _LOG.warning("%s", "d")
    session.on_closed[0]()

    assert session.notes == ["a", "b", "c", "d"]
