"""Words of the reference system's ``nel``: understood, or refused with what to do instead."""

import argparse
from importlib import import_module
from pathlib import Path

import pytest

from pytest_nel.cli._elsewhere import COMMANDS as NO_COMMANDS
from pytest_nel.cli._elsewhere import OPTIONS
from pytest_nel.cli.main import COMMANDS, main
from pytest_nel.cluster.runs import RunStore
from tests.unit.cli.kept_runs import known, nel

KEY = "sk-0123456789abcdef"


@pytest.mark.parametrize(
    ("line", "way_out"),
    [
        ("eval run s.nel.yaml --submit", "start it there, in parts by --shard I/N"),
        ("eval run -b basics --judge-url http://h/v1", "a judge is a service of a suite file"),
        ("eval plan s.nel.yaml --shard-idx 1", "--shard I/N"),
        ("eval status --job-id 7", "runs are those of this machine"),
        ("eval stop --host h", "runs are those of this machine"),
        ("eval logs -s 3", "name it with -r ID or -o DIR"),
        ("eval resume --continue-attempts", "--only unscored"),
        ("eval jobs --offline", "leave it out"),
        ("eval clean --executor slurm -y", "leave it out"),
        ("eval merge . -n 4", "counted from the records"),
        ("eval report --with-results", "leave it out"),
        ("list -s builtin", "nel list benchmarks"),
        ("list --data-dir=d", "NEL_DATA_DIR"),
        ("validate -b basics -v", "shown anyway"),
        ("compare a b --no-report", "unless --report or -o asks"),
        ("config get key", "there is no file of settings"),
        ("config set key value", "there is no file of settings"),
        (f"validate basics --api-key {KEY}", "--api-key-env"),
        (f"eval run -b basics --api-key={KEY}", "--api-key-env"),
        (f"serve -b basics --judge-api-key {KEY}", "unrecognized arguments: --judge-api-key"),
    ],
)
def test_a_word_that_means_nothing_here_is_refused_with_the_way_out(
    capsys: pytest.CaptureFixture[str], line: str, way_out: str
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(line.split())

    said = capsys.readouterr().err
    assert ended.value.code == 4
    assert way_out in said
    assert KEY not in said


def test_none_of_these_words_has_a_meaning_here() -> None:
    assert set(NO_COMMANDS).isdisjoint(COMMANDS)
    for words, refused in OPTIONS.items():
        parser = argparse.ArgumentParser(add_help=False, allow_abbrev=False)
        import_module(COMMANDS[words]).add_arguments(parser)
        ours = {option for action in parser._actions for option in action.option_strings}
        assert ours.isdisjoint(refused), words


def test_a_benchmark_to_validate_may_be_named_by_b(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["validate", "-b", "basics", "-s", "1"])

    assert status == 0
    assert capsys.readouterr().out.startswith("basics: 72 problems\nself-test  passed\n")


@pytest.mark.parametrize("words", [[], ["basics", "-b", "gsm8k"]])
def test_one_benchmark_is_to_be_named(capsys: pytest.CaptureFixture[str], words: list[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["validate", *words])

    assert ended.value.code == 4
    assert "name one benchmark: nel validate BENCH, or -b BENCH" in capsys.readouterr().err


def test_a_report_is_found_by_the_id_of_a_run(
    store: RunStore, place: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    known(store, place / "here" / "20261201T0000-abcd")
    known(store, place / "here" / "20261202T0000-ef01")
    rebuilt = nel("report", "--rebuild", "-r", "20261202")

    status = nel("report", "-r", "20261202")

    assert status == rebuilt
    assert f"results: {place / 'here' / '20261202T0000-ef01'}\n" in capsys.readouterr().out
    assert nel("report", "-r", "nope") == 4
    assert "unknown run 'nope'" in capsys.readouterr().err
    assert nel("report") == nel("report", ".", "-r", "20261202") == 4
