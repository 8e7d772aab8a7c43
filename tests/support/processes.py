"""Which processes are there, and waiting until they are not."""

import signal
import time
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path


def alive(pid: int) -> bool:
    """Whether it runs; a zombie does not."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text(encoding="latin-1")
    except OSError:
        return False
    return stat.rpartition(")")[2].split()[0] not in "ZX"


def command_lines() -> dict[int, str]:
    """Every process's command line that may be read."""
    found = {}
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                line = (entry / "cmdline").read_bytes()
            except OSError:
                continue
            found[int(entry.name)] = line.replace(b"\0", b" ").decode("utf-8", "replace")
    return found


def gone(pids: Iterable[int], within: float = 15.0) -> bool:
    """Whether all of them end, waiting for it."""
    left = set(pids)
    return until(lambda: not any(alive(pid) for pid in left), within)


def until(happened: Callable[[], bool], within: float = 30.0) -> bool:
    """Wait for something; whether it happened."""
    end = time.monotonic() + within
    while not happened():
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


@contextmanager
def heeding_ctrl_c() -> Iterator[None]:
    """Have processes that are started in the block heed SIGINT.

    A shell ignores it for what it runs in the background, and that is inherited; a handler is not.
    """
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
