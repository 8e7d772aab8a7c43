"""A hook of somebody else's that calls ``sys.exit()`` does not say how a run has ended.

pytest lets it end the process, with whatever status it names and without the summary: a failed
run would pass.
"""

from collections.abc import Generator

import pytest

from pytest_nel.gate.verdict import Exit
from pytest_nel.hooks.state import Run


class Exits:
    """Around the hooks of all others at the end of a session.

    Args:
        run: Where it is noted.
    """

    def __init__(self, run: Run) -> None:
        self._run = run
        self._decided: int | None = None

    @pytest.hookimpl(wrapper=True, trylast=True)  # inside of the terminal's, which then sums up
    def pytest_sessionfinish(self, session: pytest.Session) -> Generator[None, object, object]:
        """Go on with the end of the session."""
        try:
            return (yield)
        except SystemExit as error:
            session.exitstatus = status_after(int(session.exitstatus), error)
            self._run.note(
                f"a plugin or conftest.py called sys.exit({error.code!r}) in pytest_sessionfinish"
            )
            return None
        finally:
            self._decided = int(session.exitstatus)

    def instead_of(self, error: SystemExit) -> int:
        """How the process ends, when a hook that came later still wants to end it.

        Raises:
            SystemExit: The run has come to nothing yet.
        """
        if self._decided is None:
            raise error
        return status_after(self._decided, error)


def status_after(decided: int, error: SystemExit) -> int:
    """How the process is to end: a status that says something is wrong stands.

    Args:
        decided: What the run came to.
        error: What ends the process.
    """
    if decided != Exit.GO or error.code is None:
        return decided
    return error.code if isinstance(error.code, int) else int(Exit.NO_GO)
