"""Starts a run that goes on when the terminal is closed."""

import os
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

from pytest_nel.cluster.runs import RunEntry, RunStore
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.text import showable
from pytest_nel.gate.verdict import Exit

_PATIENCE = 60.0  # seconds until the run has imported everything and noted itself
_PAUSE = 0.05
_SHOWN = 20_000


def start(words: Sequence[str], store: RunStore, cwd: Path) -> int:
    """Start ``nel eval run`` with these words, and say how to follow it.

    Returns:
        0 once it has begun, or what it ended with before it could.

    Raises:
        ConfigError: It cannot be noted, so nobody could follow it.
    """
    stamp = time.strftime("%Y%m%dT%H%M%SZ", time.gmtime())
    try:
        log = store.new_log(f"{stamp}-{os.urandom(3).hex()}")
        file = log.open("xb")
    except OSError as error:
        msg = (
            f"--background needs a place for its log: {error}; set XDG_DATA_HOME to a folder "
            "that can be written"
        )
        raise ConfigError(msg) from None
    # `python -m` looks for modules in the folder where it is started, the script `nel` does not
    safe = [] if sys.path[:1] == [str(Path.cwd())] else ["-P"]
    with file:
        process = subprocess.Popen(  # noqa: S603 - the words of the one who calls us
            [
                *(sys.executable, "-u", *safe, "-m", "pytest_nel.cli.main", "eval", "run"),
                *(f"--detached-log={log}", *words),
            ],
            stdin=subprocess.DEVNULL,
            stdout=file,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            cwd=cwd,
        )
    return _say(_begun(process, store), process, log)


def _begun(process: "subprocess.Popen[bytes]", store: RunStore) -> RunEntry | None:
    """Its entry; None where it ended without, or takes too long."""
    until = time.monotonic() + _PATIENCE
    while True:
        over = process.poll() is not None or time.monotonic() > until
        mine = (one for one in store.list().entries if one.pid == process.pid)
        entry = next((one for one in mine if one.ended is not None or one.state == "running"), None)
        if entry is not None or over:
            return entry
        time.sleep(_PAUSE)


def _say(entry: RunEntry | None, process: "subprocess.Popen[bytes]", log: Path) -> int:
    if entry is None and process.returncode is not None:
        said = log.read_text(encoding="utf-8", errors="replace")
        log.unlink()
        sys.stderr.write(showable(said, _SHOWN))
        return int(process.returncode)
    if entry is None:
        sys.stdout.write(f"process {process.pid} has begun; it writes to {log}\n")
        return Exit.GO
    sys.stdout.write(
        f"run {entry.run_id} has begun (process {entry.pid})\n"
        f"  nel eval status -r {entry.run_id}\n"
        f"  nel eval logs -f -r {entry.run_id}\n"
        f"  nel eval stop -r {entry.run_id}\n"
    )
    return Exit.GO
