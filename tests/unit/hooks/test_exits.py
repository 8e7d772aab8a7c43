"""What becomes of a ``sys.exit()`` in somebody's hook when a session has ended."""

import pytest

from pytest_nel.hooks.exits import status_after


@pytest.mark.parametrize(
    ("decided", "wanted", "status"),
    [(1, 0, 1), (7, None, 7), (4, 9, 4), (0, None, 0), (0, 5, 5), (0, "no room", 1)],
)
def test_an_exit_makes_no_status_better(
    decided: int, wanted: int | str | None, status: int
) -> None:
    assert status_after(decided, SystemExit(wanted)) == status
