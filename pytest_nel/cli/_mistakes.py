"""What a command says of a mistake."""

import sys
from collections.abc import Callable

from pytest_nel.core.errors import NelError
from pytest_nel.core.text import showable
from pytest_nel.gate.verdict import Exit

_LONGEST = 20_000  # a policy's mistakes are a line each


def mistake(
    command: str, error: NelError | OSError, redact: Callable[[str], str] | None = None
) -> int:
    """Say it, and the exit status of one.

    Args:
        command: Whose.
        error: What was wrong.
        redact: Takes secrets out of it, where others' code may have put some there.
    """
    said = str(error) if redact is None else redact(str(error))
    text = showable(said, _LONGEST)
    if isinstance(error, OSError):
        text = f"cannot be read or written: {text}"
    sys.stderr.write(f"nel {command}: {text}\n")
    return Exit.USAGE
