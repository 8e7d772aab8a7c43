"""How often tools were called, and that a run in which none was called says so."""

from typing import Any

import pytest

from pytest_nel.reports.summary import note_lines
from tests.unit.records.attempts import attempt, bundle_of, scores_of


def used(turns: Any, calls: Any, errors: Any = 0) -> dict[str, Any]:
    return {"details": {"turns": turns, "tool_calls": calls, "tool_errors": errors}}


def test_turns_and_calls_are_summed_over_attempts() -> None:
    pairs = [attempt(0, solved=used(3, 4, 1)), attempt(1, 0, 0.0, solved=used(1, 0))]

    tools = scores_of(pairs)["runtime"]["tools"]

    assert tools == {
        "attempts": 2,
        "attempts_without_calls": 1,
        "turns": 4,
        "calls": 4,
        "failed_calls": 1,
    }


@pytest.mark.parametrize("solved", [{}, used(0, 0), used("3", 4), used(2.0, 1)])
def test_where_there_were_no_tools_nothing_is_said_of_them(solved: dict[str, Any]) -> None:
    assert "tools" not in scores_of([attempt(0, solved=solved)])["runtime"]


@pytest.mark.parametrize(("calls", "notes"), [(0, 1), (1, 0)])
def test_a_run_in_which_no_tool_was_called_says_so(calls: int, notes: int) -> None:
    """A server that leaves tools out of the prompt answers as if nothing were wrong."""
    pairs = [attempt(0, 0, 0.0, solved=used(1, 0)), attempt(1, 0, 0.0, solved=used(1, calls))]

    lines = note_lines(bundle_of(pairs), [])

    assert [line.text.startswith("b: no tool was called in 2 attempts") for line in lines] == [
        True
    ] * notes
