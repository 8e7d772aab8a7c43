"""What GitHub Actions is told: annotations and the summary page."""

from pathlib import Path

import pytest

from pytest_nel.gate.check import Check
from pytest_nel.gate.verdict import Exit
from pytest_nel.reports.github import annotations, append_summary


def test_failures_are_errors_and_open_questions_warnings() -> None:
    checks = [
        Check("p.yaml::a", "open", "few", Exit.INCONCLUSIVE),
        Check("p.yaml::b", "passed", "fine", Exit.GO),
        Check("p.yaml::c", "failed", "exceeds", Exit.NO_GO),
    ]

    assert annotations(checks) == [
        "::error title=p.yaml%3A%3Ac::exceeds",
        "::warning title=p.yaml%3A%3Aa::few",
    ]


def test_no_more_are_written_than_are_shown() -> None:
    checks = [Check(f"c{at}", "failed", "x", Exit.NO_GO) for at in range(30)]

    assert len(annotations(checks)) == 10


def test_a_reason_cannot_end_its_line_or_begin_a_command() -> None:
    check = Check("a,b:c\n::set-env", "failed", "50 %\r\n::error::x\x1b[31m", Exit.NO_GO)

    [line] = annotations([check])

    assert "\n" not in line
    assert "\r" not in line
    assert "\x1b" not in line
    assert line.startswith("::error title=a%2Cb%3Ac%0A%3A%3Aset-env::50 %25%0D%0A::error::x")


def test_the_summary_is_added_to_what_is_there(tmp_path: Path) -> None:
    page = tmp_path / "summary.md"
    page.write_text("before\n")

    for text in ("# one", "# two"):
        append_summary(text, {"GITHUB_STEP_SUMMARY": str(page)}.get)

    assert page.read_text() == "before\n# one\n# two\n"


@pytest.mark.parametrize("value", [None, ""])
def test_elsewhere_nothing_is_written(tmp_path: Path, value: str | None) -> None:
    append_summary("# one", lambda _name: value)

    assert list(tmp_path.iterdir()) == []
