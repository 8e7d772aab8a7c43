"""How a process writes its journals, and how a benchmark is measured."""

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pytest_nel.engine.budget import Purse
from pytest_nel.engine.cached import CachedAnswers
from pytest_nel.engine.identity import Identity
from pytest_nel.engine.judge import Judges
from pytest_nel.engine.past import Past
from pytest_nel.records.journal import SYNC_EVERY, JournalWriter, journal_name


@dataclass(frozen=True, slots=True)
class Writing:
    """How a process writes its journals.

    Attributes:
        writer: The process's name, with which its files begin.
        turn: How many times processes have begun to write into this run, this time included.
        meta: Facts for the first line of each file.
        sync_every: Seconds between two times that a file is put on the disk; 0: each record.
    """

    writer: str = "main"
    turn: int = 1
    meta: Mapping[str, Any] = field(default_factory=dict)
    sync_every: float = SYNC_EVERY

    def open(self, directory: Path, benchmark: str) -> JournalWriter:
        """The journal of a benchmark."""
        path = directory / "journal" / journal_name(self.writer, self.turn)
        own = {"writer": self.writer, "turn": self.turn, "benchmark": benchmark}
        return JournalWriter(path, {**self.meta, **own}, sync_every=self.sync_every)


@dataclass(frozen=True, slots=True)
class How:
    """How a benchmark is measured, beside its plan.

    Attributes:
        at_once: Attempts of it that may run at once; None leaves it to ``limit`` of start.
        identity: Makes its keys.
        past: What earlier processes have written.
        cache: Answers of other runs.
        shares: Whether repeats may share an answer of the cache.
        purse: What it may spend.
        judges: Models that judge.
        ready: Waits until the model is there that is asked, where it is started late.
    """

    at_once: int | None = None
    identity: Identity | None = None
    past: Past | None = None
    cache: CachedAnswers | None = None
    shares: bool = False
    purse: Purse = field(default_factory=Purse)
    judges: Judges = field(default_factory=Judges)
    ready: Callable[[], Awaitable[None]] | None = None
