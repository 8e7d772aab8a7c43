"""The ``nel`` command in a process of its own, as a user runs it."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

Done = subprocess.CompletedProcess[str]

NEL = (sys.executable, "-m", "pytest_nel.cli.main")
_ROOT = Path(__file__).parents[2]


def environment(**more: str) -> dict[str, str]:
    """Ours, with this checkout's package found first."""
    path = os.pathsep.join(filter(None, [str(_ROOT), os.environ.get("PYTHONPATH")]))
    return {**os.environ, "PYTHONPATH": path, **more}


def nel(
    *words: object,
    cwd: Path | None = None,
    env: Mapping[str, str] | None = None,
    timeout: float = 170,
) -> Done:
    """Run it to its end, whatever its exit code.

    Args:
        words: What follows ``nel``.
        cwd: Where.
        env: The whole environment; ours without it.
        timeout: Seconds after which it is killed.
    """
    return subprocess.run(
        [*NEL, *map(str, words)],
        cwd=cwd,
        env=environment() if env is None else env,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )
