"""``nel eval report``: what runs came to, as they ended or derived again."""

import asyncio
import json
from pathlib import Path

import pytest

from pytest_nel import SeedResult, SolveResult, run_evaluation
from pytest_nel.cli.main import main
from pytest_nel.records.rundir import RunDirectory, RunFacts
from tests.unit.engine.parts import forty_two
from tests.unit.records.parts_of_runs import Whole, journal, keep, record


def report(*words: str | Path) -> int:
    return main(["eval", "report", *map(str, words)])


def contents(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


def strict(run_dir: Path) -> None:
    path = run_dir / "b" / "plan.json"
    plan = json.loads(path.read_text())
    plan["config"]["strict"] = True
    path.write_text(json.dumps(plan))


def test_rebuilding_makes_every_file_and_the_same_bytes_each_time(tmp_path: Path) -> None:
    run = Whole().part(tmp_path / "run")
    before = set(contents(run))

    codes = [report(run, "--rebuild")]
    first = contents(run)
    codes.append(report(run, "--rebuild"))

    assert codes == [0, 0]
    assert contents(run) == first
    assert set(first) - before == {
        "checks.json",
        "b/results.jsonl",
        "b/trajectories.jsonl",
        "b/runtime_stats.json",
        "b/eval-20260102T030405Z-b.json",
    }


def test_a_report_writes_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    run = Whole().part(tmp_path / "run")
    report(run, "--rebuild")
    rebuilt, before = capsys.readouterr().out, contents(run)

    code = report(run)

    assert code == 0
    assert capsys.readouterr().out == rebuilt
    assert contents(run) == before


def test_missing_attempts_are_status_7(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    whole = Whole()
    run = whole.part(tmp_path / "run", only=whole.attempts()[:4])

    codes = [report(run, "--rebuild"), report(run)]

    assert codes == [7, 7]
    assert "b: evaluated 4 of 6" in capsys.readouterr().out
    (bundle,) = (run / "b").glob("eval-*.json")
    assert json.loads(bundle.read_text())["complete"] is False
    checks = json.loads((run / "checks.json").read_text())
    assert (checks["exit_code"], checks["checks"][0]["status"]) == (7, "open")


def test_attempts_without_a_score_are_status_7(tmp_path: Path) -> None:
    whole = Whole()
    run = whole.part(tmp_path / "run", {one: record(one, None) for one in whole.attempts()})

    code = report(run, "--rebuild")

    assert code == 7
    (bundle,) = (run / "b").glob("eval-*.json")
    assert json.loads(bundle.read_text())["complete"] is True


def test_wrong_answers_of_a_strict_benchmark_are_status_1(tmp_path: Path) -> None:
    whole = Whole()
    run = whole.part(tmp_path / "run", {one: record(one, 0.0) for one in whole.attempts()})
    strict(run)

    code = report(run, "--rebuild")

    assert code == 1


def test_damaged_lines_are_named_and_the_rest_counts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Whole().part(tmp_path / "run")
    path = run / "b" / "journal" / "gw0.jsonl"
    lines = path.read_bytes().splitlines(keepends=True)
    lines[3] = lines[3].replace(b'"reward":1.0', b'"reward":0.0')
    path.write_bytes(b"".join(lines) + b'{"_type":"solv')

    code = report(run, "--rebuild")

    said = capsys.readouterr().out
    assert code == 7
    assert f"{path} line 4: damaged" in said
    assert f"{path} line {len(lines) + 1}: torn last line" in said
    assert "b: evaluated 5 of 6" in said


def test_several_runs_are_in_one_table(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [Whole().part(tmp_path / name) for name in ("x", "y")]

    code = report(*runs, "--rebuild")

    table = capsys.readouterr().out.splitlines()
    assert code == 0
    assert [line.split()[0] for line in table[:3]] == ["benchmark", "x/b", "y/b"]


def test_the_worst_of_several_runs_decides(tmp_path: Path) -> None:
    whole = Whole()
    good, bad = whole.part(tmp_path / "x"), whole.part(tmp_path / "y", only=[])

    code = report(good, bad, "--rebuild")

    assert code == 7


def refused(capsys: pytest.CaptureFixture[str], *words: str | Path) -> str:
    code = report(*words)
    captured = capsys.readouterr()
    assert (code, captured.out) == (4, "")
    assert captured.err.startswith("nel eval report: ")
    assert captured.err.count("\n") == 1
    return captured.err


@pytest.mark.parametrize("more", [(), ("--rebuild",)])
def test_a_folder_of_shards_is_refused_with_what_to_do(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], more: tuple[str, ...]
) -> None:
    for index in range(2):
        Whole().part(tmp_path / f"shard_{index}", shard=(index, 2))

    said = refused(capsys, tmp_path, *more)

    assert f"`nel eval merge {tmp_path}`" in said


def test_a_folder_of_merged_shards_is_the_merged_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for index in range(2):
        Whole().part(tmp_path / f"shard_{index}", shard=(index, 2))
    main(["eval", "merge", str(tmp_path)])
    capsys.readouterr()

    code = report(tmp_path)

    said = capsys.readouterr().out
    assert code == 0
    assert "6/6" in said
    assert said.endswith(f"results: {tmp_path / 'merged'}\n")


def test_a_run_that_died_is_refused_until_it_is_rebuilt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Whole().part(tmp_path / "run")

    said = refused(capsys, run)

    assert f"has no bundle: nel eval report --rebuild {run} makes it" in said


def test_a_bundle_older_than_the_last_turn_is_not_shown(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Whole().part(tmp_path / "run")
    report(run, "--rebuild")
    path = run / "b" / "plan.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"turn": 2}))
    writer = journal(run / "b", "gw0", turn=2)
    keep(writer, *record((0, 0), 0.0))
    writer.close()
    capsys.readouterr()

    said = refused(capsys, run)
    code = report(run, "--rebuild")

    assert "older than the records beside it" in said
    assert code == report(run) == 0
    assert "0.833" in capsys.readouterr().out


def test_a_run_that_is_being_written_is_not_rebuilt(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Whole().part(tmp_path / "run")
    folder = RunDirectory(run)
    folder.take(RunFacts("r", "t", ()))
    before = contents(run)

    said = refused(capsys, run, "--rebuild")

    folder.release()
    assert "a run is writing there" in said
    assert contents(run) == before


def test_a_run_that_is_being_written_can_be_looked_at(tmp_path: Path) -> None:
    run = Whole().part(tmp_path / "run")
    report(run, "--rebuild")
    folder = RunDirectory(run)
    folder.take(RunFacts("r", "t", ()))

    code = report(run)

    folder.release()
    assert code == 0


@pytest.mark.parametrize("name", ["nothing", "empty", "run/b"])
def test_what_is_no_run_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str], name: str
) -> None:
    (tmp_path / "empty").mkdir()
    Whole().part(tmp_path / "run")

    said = refused(capsys, tmp_path / name)

    assert str(tmp_path / name) in said


def test_damaged_bundles_and_plans_are_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Whole().part(tmp_path / "run")
    report(run, "--rebuild")
    capsys.readouterr()
    (bundle,) = (run / "b").glob("eval-*.json")
    bundle.write_text("{")

    first = refused(capsys, run)
    (run / "b" / "plan.json").write_text("{}")
    second = refused(capsys, run, "--rebuild")

    assert str(bundle) in first
    assert str(run / "b" / "plan.json") in second


def test_a_bundle_that_lacks_counts_is_refused(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    run = Whole().part(tmp_path / "run")
    report(run, "--rebuild")
    (bundle,) = (run / "b").glob("eval-*.json")
    found = json.loads(bundle.read_text())
    del found["n_unparsed"]
    bundle.write_text(json.dumps(found))
    capsys.readouterr()

    said = refused(capsys, run)

    assert "KeyError: 'n_unparsed'" in said


class Right:
    """Knows it."""

    async def solve(self, seed: SeedResult, sandbox: object) -> SolveResult:
        """Say so."""
        del seed, sandbox
        return SolveResult("42")


def test_a_run_without_pytest_is_rebuilt_as_it_was(tmp_path: Path) -> None:
    asyncio.run(run_evaluation(forty_two(3), Right(), tmp_path / "run"))
    before = contents(tmp_path / "run")

    code = report(tmp_path / "run", "--rebuild")

    after = contents(tmp_path / "run")
    assert code == 0
    assert after.keys() - before.keys() == {"checks.json"}
    assert {name: after[name] for name in before} == before
