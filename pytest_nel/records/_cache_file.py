"""The database of the answer cache: made once, opened by many, refused when it is not ours."""

import sqlite3
import time
from contextlib import ExitStack, closing
from pathlib import Path

from pytest_nel.core.errors import ConfigError

FILE_NAME = "answers.sqlite3"

_MARK = 0x6E656C63  # SQLite's application_id of our files: "nelc"
_LAYOUT = 1  # of the tables
_SCHEMA = (
    """CREATE TABLE answers (
        id INTEGER PRIMARY KEY,
        key TEXT NOT NULL UNIQUE,
        used REAL NOT NULL,
        size INTEGER NOT NULL,
        value BLOB NOT NULL
    )""",
    "CREATE INDEX by_use ON answers (used)",
    "CREATE TABLE totals (entries INTEGER NOT NULL, bytes INTEGER NOT NULL)",
    "INSERT INTO totals VALUES (0, 0)",
    """CREATE TRIGGER added AFTER INSERT ON answers
        BEGIN UPDATE totals SET entries = entries + 1, bytes = bytes + new.size; END""",
    """CREATE TRIGGER removed AFTER DELETE ON answers
        BEGIN UPDATE totals SET entries = entries - 1, bytes = bytes - old.size; END""",
    """CREATE TRIGGER mended AFTER UPDATE OF size ON answers
        BEGIN UPDATE totals SET bytes = bytes + new.size - old.size; END""",
    f"PRAGMA application_id = {_MARK}",
)


def opened(path: Path, *, create: bool, patience: float) -> sqlite3.Connection:
    """Connect, and make what is not there; ConfigError in place of what SQLite and the OS say."""
    try:
        if create:
            path.parent.mkdir(parents=True, exist_ok=True)
        elif not path.is_file():
            raise _none_there(path)
        return _connected(path, create=create, patience=patience)
    except (OSError, ValueError) as error:
        reason = (isinstance(error, OSError) and error.strerror) or error
        msg = f"the answer cache {path.parent}: expected a directory to write in, got: {reason}"
        raise ConfigError(msg) from error
    except sqlite3.Error as error:
        if _code(error) in (sqlite3.SQLITE_NOTADB, sqlite3.SQLITE_CORRUPT):
            msg = f"no readable answer cache: {error}: delete {path}, or name another directory"
        elif _is_busy(error):
            msg = f"the answer cache is locked by another process, for {patience:g} s: {path}"
        else:
            msg = f"the answer cache cannot be opened and written: {error}: {path}"
        raise ConfigError(msg) from error


def _connected(path: Path, *, create: bool, patience: float) -> sqlite3.Connection:
    end = time.monotonic() + patience
    while True:
        with ExitStack() as stack:
            db = sqlite3.connect(
                path, timeout=patience, isolation_level=None, check_same_thread=False
            )
            stack.enter_context(closing(db))
            try:
                _prepare(db, path, create=create)
            except sqlite3.OperationalError as error:
                # Two that make the same file: SQLite does not always wait for the other.
                if not _is_busy(error) or time.monotonic() > end:
                    raise
            else:
                stack.pop_all()
                return db
        time.sleep(0.02)


def _prepare(db: sqlite3.Connection, path: Path, *, create: bool) -> None:
    if create:
        if not db.execute("PRAGMA page_count").fetchone()[0]:
            db.execute("PRAGMA auto_vacuum = INCREMENTAL")  # too late once there is a table
        db.execute("BEGIN IMMEDIATE")
        if not _is_ours(db, path):
            for statement in _SCHEMA:
                db.execute(statement)
        # BEGIN IMMEDIATE is content with a file that can only be read; a write tells.
        db.execute(f"PRAGMA user_version = {_LAYOUT}")
        db.execute("COMMIT")
        db.execute("PRAGMA journal_mode = WAL").fetchall()
    else:  # who only looks must not write
        db.execute("BEGIN")  # one view of what another may just be making
        if not _is_ours(db, path):
            raise _none_there(path)
        db.execute("COMMIT")
    # A lost power supply can take the last answers, never the file; the journal has them, too.
    db.execute("PRAGMA synchronous = NORMAL")


def _is_ours(db: sqlite3.Connection, path: Path) -> bool:
    """False: it is empty. ConfigError: it holds something else."""
    mark, layout, tables = db.execute(
        "SELECT application_id, user_version, (SELECT count(*) FROM sqlite_master)"
        " FROM pragma_application_id, pragma_user_version"
    ).fetchone()
    if (mark, layout, tables) == (0, 0, 0):
        return False
    if mark != _MARK:
        msg = f"a database, but no answer cache: {path}: name another directory"
        raise ConfigError(msg)
    if layout != _LAYOUT:
        msg = (
            f"an answer cache of layout {layout}, and this version of pytest-nel knows "
            f"{_LAYOUT}: {path}: name another directory, or delete it"
        )
        raise ConfigError(msg)
    return True


def _none_there(path: Path) -> ConfigError:
    return ConfigError(f"no answer cache in {path.parent}: there is no {path.name}")


def _code(error: sqlite3.Error) -> int:
    """SQLite's primary code; 0 where the module raised by itself."""
    return getattr(error, "sqlite_errorcode", 0) & 0xFF


def _is_busy(error: sqlite3.Error) -> bool:
    return _code(error) in (sqlite3.SQLITE_BUSY, sqlite3.SQLITE_LOCKED)
