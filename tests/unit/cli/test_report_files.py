"""``nel report`` and the formats of ``nel eval report``: where they go, what is refused."""

import csv
import io
import json
import os
import subprocess
import sys
from argparse import Namespace
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_nel.cli._report_files import emit
from pytest_nel.cli.main import main
from pytest_nel.reports.table import Table
from tests.unit.records.parts_of_runs import Whole, record
from tests.unit.reports.made import reference


def nel(*words: str | Path) -> int:
    return main([*map(str, words)])


def finished(directory: Path, right: int = 6) -> Path:
    whole = Whole()
    made = {one: record(one, float(n < right)) for n, one in enumerate(whole.attempts())}
    run = whole.part(directory, made)
    nel("eval", "report", run, "--rebuild")
    return run


@pytest.fixture
def run(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Path:
    """A finished run."""
    made = finished(tmp_path / "run")
    capsys.readouterr()
    return made


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    code = nel(*words)
    captured = capsys.readouterr()
    assert (code, captured.out) == (4, "")
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize("command", [("report",), ("eval", "report")])
def test_one_format_goes_to_stdout(
    run: Path, capsys: pytest.CaptureFixture[str], command: tuple[str, ...]
) -> None:
    code = nel(*command, run, "-f", "csv")

    first, *_ = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert code == 0
    assert (first["benchmark"], first["score"], first["run"]) == ("b", "1.0", "run")


def test_without_a_format_it_is_markdown(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    nel("report", run)

    assert capsys.readouterr().out.startswith("# Evaluation Report: m\n")


def test_the_ending_of_the_file_tells_the_format(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    target = tmp_path / "new" / "scores.tex"

    code = nel("report", run, "-o", target)

    assert code == 0
    assert "\\toprule" in target.read_text()
    assert capsys.readouterr().out == f"report: {target}\n"


def test_a_directory_gets_a_file_of_the_usual_name(run: Path, tmp_path: Path) -> None:
    nel("report", run, "-f", "json", "-o", tmp_path)

    assert json.loads((tmp_path / "report.json").read_text())["n_benchmarks"] == 1


@pytest.mark.parametrize("command", [("report",), ("eval", "report")])
def test_all_formats_fill_a_directory(run: Path, tmp_path: Path, command: tuple[str, ...]) -> None:
    target = tmp_path / "out"

    code = nel(*command, run, "--all-formats", "-o", target)

    assert code == 0
    names = sorted(path.name for path in target.iterdir())
    assert names == [f"report.{suffix}" for suffix in ("csv", "html", "json", "md", "tex")]


def test_a_report_of_an_incomplete_run_has_its_status(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    whole = Whole()
    run = whole.part(tmp_path / "run", only=whole.attempts()[:4])

    code = nel("eval", "report", run, "--rebuild", "-f", "markdown")

    assert code == 7
    assert "partial: evaluated 4 of 6" in capsys.readouterr().out


def test_rebuilding_comes_before_the_report(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Whole().part(tmp_path / "run")

    before = refused(capsys, "eval", "report", run, "-f", "json")
    code = nel("eval", "report", run, "--rebuild", "-f", "json")

    assert "has no bundle" in before
    assert code == 0
    assert json.loads(capsys.readouterr().out)["rows"][0]["counts"]["scored"] == 6


def test_a_baseline_is_another_run(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    before = finished(tmp_path / "before", right=3)
    capsys.readouterr()

    nel("eval", "report", run, "--baseline", before, "-f", "csv")

    first, *_ = csv.DictReader(io.StringIO(capsys.readouterr().out))
    assert (first["baseline_score"], first["difference"]) == ("0.5", "0.5")


def test_a_benchmark_that_only_the_baseline_has_is_named(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference(tmp_path / "before" / "other", "other", [1.0])

    nel("report", run, "--baseline", tmp_path / "before")

    assert "only the baseline has the benchmark other" in capsys.readouterr().out


def test_runs_of_the_reference_system_are_reported(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    reference(tmp_path / "run" / "gsm8k", "gsm8k", [1, 0, 1, 1])

    code = nel("report", tmp_path)

    assert code == 0
    assert "| gsm8k | pass@1 | 4 | 0.7500 | – |" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["-f", "markdwn"], "Did you mean 'markdown'"),
        (["-o", "x.pdf"], "its ending tells no format"),
        (["--all-formats"], "wants a directory"),
        (["--all-formats", "-o", "d", "-f", "csv"], "and no -f"),
        (["-f", "csv", "--baseline", "nowhere"], "no such file or directory: nowhere"),
    ],
)
@pytest.mark.parametrize("command", [("report",), ("eval", "report")])
def test_options_that_make_no_sense_are_refused(
    run: Path,
    capsys: pytest.CaptureFixture[str],
    command: tuple[str, ...],
    words: list[str],
    said: str,
) -> None:
    assert said in refused(capsys, *command, run, *words)


def test_a_baseline_wants_a_report(run: Path, capsys: pytest.CaptureFixture[str]) -> None:
    said = refused(capsys, "eval", "report", run, "--baseline", run)

    assert "say its format by -f" in said


def test_a_file_that_cannot_be_written_is_one_line(
    run: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("mine")

    said = refused(capsys, "report", run, "-o", tmp_path / "file" / "x.md")

    assert "cannot be read or written" in said
    assert (tmp_path / "file").read_text() == "mine"


class Breaking:
    """A report that cannot be finished."""

    suffix = "md"

    def pieces(self, table: Table) -> Iterator[str]:
        """A beginning."""
        yield table.title
        raise OSError


def test_a_report_that_breaks_leaves_the_old_one(run: Path, tmp_path: Path) -> None:
    target = tmp_path / "scores.md"
    target.write_text("old")
    options = Namespace(output=target, all_formats=False, baseline=None)

    with pytest.raises(OSError):  # noqa: PT011  # it says nothing
        emit({"markdown": Breaking()}, [run], options)

    assert target.read_text() == "old"
    assert [path.name for path in tmp_path.iterdir() if path.is_file()] == ["scores.md"]


def test_records_that_are_not_there_are_no_samples(run: Path, tmp_path: Path) -> None:
    (run / "b" / "results.jsonl").unlink()

    code = nel("report", run, "-o", tmp_path / "scores.html")

    assert code == 0
    assert "No samples" in (tmp_path / "scores.html").read_text()


def test_words_after_dashes_are_refused(run: Path) -> None:
    with pytest.raises(SystemExit):
        nel("report", run, "--", "-q")


@pytest.mark.parametrize("command", ["report", "eval report"])
def test_who_reads_a_report_may_go_away(run: Path, command: str) -> None:
    """As ``nel report … | head`` does: nobody is told that something cannot be written."""
    words = [sys.executable, "-m", "pytest_nel.cli.main", *command.split()]
    ours, theirs = os.pipe()
    os.close(ours)

    done = subprocess.run(
        [*words, str(run), "-f", "json"],
        check=False,
        stdout=theirs,
        stderr=subprocess.PIPE,
        text=True,
    )

    os.close(theirs)
    assert (done.returncode, done.stderr) == (141, "")
