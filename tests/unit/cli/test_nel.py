"""``nel`` is another door to the same engine: it builds pytest's arguments."""

import argparse
import sys
from importlib.metadata import version

import pytest

import pytest_nel
from pytest_nel.cli import eval_run
from pytest_nel.cli._command_line import pytest_arguments
from pytest_nel.cli.main import main
from pytest_nel.hooks.options import OPTIONS


def arguments(*words: str, rest: tuple[str, ...] = ()) -> list[str]:
    """What pytest would be given for these words."""
    parser = argparse.ArgumentParser(allow_abbrev=False)
    eval_run.add_arguments(parser)
    return pytest_arguments(parser.parse_args(words), rest)


def test_the_version_is_the_distributions(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit) as ended:
        main(["--version"])

    assert ended.value.code == 0
    assert capsys.readouterr().out == f"nel {version('pytest-nel')}\n"


def test_a_benchmark_becomes_plugin_options() -> None:
    built = arguments("-b", "basics", "--model", "demo", "-n", "2", "-o", "out")

    assert built == [
        *("-p", "nel"),
        *("--nel-bench=basics", "--nel-model=demo", "--nel-repeats=2", "--nel-output-dir=out"),
    ]


def test_every_option_has_a_plugin_option_of_its_name() -> None:
    words = [f"--{option.name}=x" for option in OPTIONS]

    built = arguments(*words)

    assert built == ["-p", "nel", *(f"--nel-{word.removeprefix('--')}" for word in words)]


def test_an_option_that_may_be_given_repeatedly_is_passed_on_each_time() -> None:
    built = arguments("s.nel.yaml", "--min", "a=0.5", "--min=b=0.7", "-O", "x.y=1", "-O", "z=[2]")

    assert [word for word in built if word.startswith("--nel")] == [
        *("--nel-override=x.y=1", "--nel-override=z=[2]", "--nel-min=a=0.5", "--nel-min=b=0.7"),
    ]


def test_a_suite_is_the_last_argument_and_the_rest_is_pytests() -> None:
    built = arguments("s.nel.yaml", "--strict", "-vv", rest=("-k", "x"))

    assert built == ["-p", "nel", "--nel-strict", "-v", "-v", "-k", "x", "s.nel.yaml"]


def test_a_value_that_begins_with_a_dash_stays_a_value() -> None:
    built = arguments("-b", "basics", "--system-prompt=-x means yes")

    assert "--nel-system-prompt=-x means yes" in built


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ([], "COMMAND"),
        (["eval"], "COMMAND"),
        (["eval", "run"], "name a suite file"),
        (["eval", "run", "/nowhere/s.yaml"], "no such suite file"),
        (["eval", "run", "-b", "basics", "--submit"], "--submit"),
        (["eval", "run", "-b", "basics", "--api-key", "sk-1"], "--api-key"),
        (["server", "a"], "server"),
        (["list", "--", "x"], "takes no arguments"),
        (["list", "solver"], "invalid choice"),
        (["eval", "status", "--watch", "0"], "--watch wants seconds"),
        (["eval", "logs", "-n", "-1"], "-n wants a number"),
        (["eval", "stop", "--wait", "nan"], "--wait wants seconds"),
        (["validate", "basics", "-s", "0"], "-s wants a number"),
        (["completion", "tcsh"], "invalid choice"),
    ],
)
def test_what_is_not_there_is_a_usage_error(
    words: list[str], said: str, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit) as ended:
        main(words)

    assert ended.value.code == 4
    assert said in capsys.readouterr().err


def test_the_list_names_basics_with_its_first_line(capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["list"])

    assert status == 0
    head, *rows = capsys.readouterr().out.splitlines()
    assert head.split() == ["name", "size", "type", "answer", "needs", "description"]
    (basics,) = (row for row in rows if row.startswith("basics "))
    assert "72" in basics.split()
    assert "  Basics: 72 short questions" in basics


def test_the_exit_status_is_pytests(pytester: pytest.Pytester) -> None:
    nel = [sys.executable, "-m", "pytest_nel.cli.main"]

    result = pytester.run(*nel, "eval", "run", "-b", "basics", "--", "--no-such-option")

    result.stderr.fnmatch_lines(["*unrecognized arguments: --no-such-option*"])
    assert result.ret == pytest.ExitCode.USAGE_ERROR


def test_the_package_asks_pytest_not_to_rewrite_it_after_it_was_imported() -> None:
    assert "PYTEST_DONT_REWRITE" in (pytest_nel.__doc__ or "")
