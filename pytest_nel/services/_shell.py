"""What a shell does before it becomes the server."""

import shlex
from collections.abc import Sequence


def script(setup: Sequence[str], pre_cmd: str | None = None) -> str | None:
    """A script for ``sh -c SCRIPT sh SERVER…``; None when there is nothing to do before.

    Each set-up command has a shell of its own; ``pre_cmd`` runs in the one that becomes the
    server, so that what it exports is there. One that fails is named, and nothing further runs.
    """
    lines = [
        f"sh -c {shlex.quote(line)} || {_complain(f'setup_commands[{index}]', line)}"
        for index, line in enumerate(setup)
    ]
    if pre_cmd is not None:
        lines.append(f"{{\n{pre_cmd}\n}} || {_complain('pre_cmd', pre_cmd)}")
    return "\n".join([*lines, 'exec "$@"']) if lines else None


def before(words: Sequence[str], setup: Sequence[str], pre_cmd: str | None = None) -> list[str]:
    """The command that does all this and then runs ``words``."""
    text = script(setup, pre_cmd)
    return list(words) if text is None else ["sh", "-c", text, "sh", *words]


def _complain(what: str, line: str) -> str:
    said = shlex.quote(f": {line}")
    return (
        f"{{ nel_status=$?; printf '[pytest-nel] {what} failed with status %s%s\\n' "
        f'"$nel_status" {said}; exit "$nel_status"; }}'
    )
