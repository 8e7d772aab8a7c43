"""The store of runs: one small JSON file for each run that ``nel eval run`` has started.

It survives restarts. What a process has not written before it died, its absence says: a run
without an exit status whose process is gone has died.
"""

import hashlib
import json
import platform
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass, fields
from pathlib import Path
from typing import Any, Literal, NamedTuple, TypeAlias

from pytest_nel.cluster.processes import is_running
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.keys import safe_name
from pytest_nel.core.registry import unknown
from pytest_nel.records.whole import whole_json

State: TypeAlias = Literal["running", "ended", "died", "elsewhere"]
LOGS = "logs"
"""Below the store: what runs in the background write before they have a directory."""
_SUFFIX = ".json"


@dataclass(frozen=True, slots=True)
class RunEntry:
    """What is known of a run.

    Attributes:
        run_id: As in run.json.
        pid: Its process.
        mark: :func:`~pytest_nel.cluster.processes.mark_of` that process.
        host: The machine.
        directory: The run's, absolute.
        target: The suite file or the benchmark, as it was named.
        command: The words after ``nel eval run``, secrets left out.
        cwd: Where it was started.
        started: Unix time.
        ended: As above; None until then.
        exit_code: What it ended with; None until then, and for good where it died.
        log: The file it prints into; None for a terminal.
    """

    run_id: str
    pid: int
    mark: str
    host: str
    directory: str
    target: str
    command: tuple[str, ...]
    cwd: str
    started: float
    ended: float | None = None
    exit_code: int | None = None
    log: str | None = None

    @property
    def state(self) -> State:
        """``ended`` with a status, ``running``, ``died`` without one, or on another machine."""
        if self.exit_code is not None:
            return "ended"
        if self.host != here():
            return "elsewhere"
        return "running" if is_running(self.pid, self.mark) else "died"

    @property
    def file_name(self) -> str:
        """Two directories with one run id, a copy, are two entries."""
        place = hashlib.sha256(self.directory.encode("utf-8", "surrogatepass")).hexdigest()[:8]
        return f"{safe_name(self.run_id)}.{place}{_SUFFIX}"


def here() -> str:
    """This machine's name: homes may be shared between several."""
    return platform.node()


class Listing(NamedTuple):
    """What the store holds.

    Attributes:
        entries: The newest first.
        notes: Files that cannot be read, and why.
    """

    entries: list[RunEntry]
    notes: list[str]


def default_folder(getenv: Callable[[str], str | None]) -> Path:
    """``$XDG_DATA_HOME/nel/runs``, else ``~/.local/share/nel/runs``.

    Raises:
        ConfigError: There is neither.
    """
    data = getenv("XDG_DATA_HOME")
    if data and Path(data).is_absolute():  # others are to be ignored, says the XDG specification
        return Path(data, "nel", "runs")
    try:
        return Path.home() / ".local" / "share" / "nel" / "runs"
    except RuntimeError:
        msg = "no place to remember runs: neither HOME nor XDG_DATA_HOME is set; set one of them"
        raise ConfigError(msg) from None


class RunStore:
    """Entries in a folder, one file each.

    Args:
        folder: Made with the first entry.
    """

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def write(self, entry: RunEntry) -> None:
        """Keep an entry, whole or not at all.

        Raises:
            OSError: It cannot be written.
        """
        self.folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        whole_json(self.folder / entry.file_name, {"version": 1, **asdict(entry)})

    def new_log(self, name: str) -> Path:
        """The place of a log, its folder made.

        Raises:
            OSError: It cannot be made.
        """
        folder = self.folder / LOGS
        folder.mkdir(mode=0o700, parents=True, exist_ok=True)
        return folder / f"{name}.log"

    def list(self) -> Listing:
        """All entries; a file that is damaged is a note."""
        found = Listing([], [])
        paths = sorted(self.folder.glob(f"*{_SUFFIX}")) if self.folder.is_dir() else []
        for path in paths:
            try:
                found.entries.append(_read(path))
            except FileNotFoundError:  # removed meanwhile
                continue
            except (OSError, ValueError, RecursionError) as error:
                found.notes.append(f"{path}: skipped, it cannot be read: {error}")
        found.entries.sort(key=lambda entry: (entry.started, entry.run_id), reverse=True)
        return found

    def find(self, prefix: str) -> RunEntry:
        """The entry whose run id begins so.

        Raises:
            ConfigError: There is none, or there are several.
        """
        entries = self.list().entries
        found = [entry for entry in entries if entry.run_id.startswith(prefix)]
        found = [entry for entry in found if entry.run_id == prefix] or found
        if len(found) == 1:
            return found[0]
        if not found:
            error = unknown("run", prefix, sorted({entry.run_id for entry in entries}))
            raise error
        listed = ", ".join(f"{entry.run_id} in {entry.directory}" for entry in found[:5])
        msg = f"run {prefix!r} is one of {len(found)}: {listed}; say more of it, or -o DIR"
        raise ConfigError(msg)

    def in_directory(self, directory: Path) -> RunEntry | None:
        """The newest entry of a run there."""
        place = directory.resolve()
        entries = self.list().entries
        return next((one for one in entries if Path(one.directory).resolve() == place), None)

    def remove(self, entry: RunEntry) -> None:
        """Forget it, with the log that lies in the store.

        Raises:
            OSError: It cannot be removed.
        """
        if entry.log is not None and Path(entry.log).parent == self.folder / LOGS:
            Path(entry.log).unlink(missing_ok=True)
        (self.folder / entry.file_name).unlink(missing_ok=True)


_KINDS: Mapping[str, tuple[type, ...]] = {
    "run_id": (str,),
    "pid": (int,),
    "mark": (str,),
    "host": (str,),
    "directory": (str,),
    "target": (str,),
    "command": (list,),
    "cwd": (str,),
    "started": (int, float),
    "ended": (int, float, type(None)),
    "exit_code": (int, type(None)),
    "log": (str, type(None)),
}


def _read(path: Path) -> RunEntry:
    found: Any = json.loads(path.read_text(encoding="utf-8"))  # Any: whatever JSON holds
    if not isinstance(found, dict):
        msg = "expected an object"
        raise ValueError(msg)  # noqa: TRY004 - one kind of error for all that is damaged
    values: dict[str, Any] = {entry.name: found.get(entry.name) for entry in fields(RunEntry)}
    for name, kinds in _KINDS.items():
        if not isinstance(values[name], kinds) or isinstance(values[name], bool):
            msg = f"{name}: got {values[name]!r}"[:200]
            raise ValueError(msg)  # noqa: TRY004 - as above
    command: Sequence[object] = values.pop("command")
    return RunEntry(command=tuple(str(word) for word in command), **values)
