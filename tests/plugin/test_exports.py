"""``output.export`` of a suite: exported when the run is over, whatever becomes of that."""

from pathlib import Path

import pytest

from tests.plugin.running import Nel, rows, sums

EXPORTER = '''"""Exporters of the user's own."""

from pathlib import Path


class Noting:
    """Writes a line for each bundle."""

    def __init__(self, file: str) -> None:
        self.file = Path(file)

    def export(self, bundle) -> str:
        rewards = [sample.reward for sample in bundle.samples()]
        with self.file.open("a") as file:
            print(bundle.run_id, bundle.benchmark, rewards, file=file)
        return f"{self.file}"


class Broken:
    """Cannot."""

    def export(self, bundle) -> str:
        import warnings

        print("not to be shown")
        warnings.warn("nor is this an error")
        raise ConnectionError("nobody answers")


class Leaving:
    """Ends the process, as far as that is its to do."""

    def export(self, bundle) -> str:
        raise SystemExit(0)


class Needing:
    """Needs what is not there."""

    requires = ("no_such_package", "mlflow")

    def export(self, bundle) -> str:
        return ""
'''
RUN = ("my.nel.yaml", "--nel-output-dir", "run")


def suite(nel: Nel, export: str) -> None:
    nel.write("own.py", EXPORTER)
    nel.write("pytest.ini", "[pytest]\nnel_no_selftest = true\nfilterwarnings = error\n")
    tail = (
        f"output:\n  export: [{export}]\n  export_config:\n    'own:Noting': {{file: noted.txt}}\n"
    )
    nel.suite("bench_sums.py:sums", more="max_unscored: 1", tail=tail)


def noted(nel: Nel) -> list[str]:
    path = nel.folder / "noted.txt"
    return path.read_text().splitlines() if path.is_file() else []


def test_a_run_is_exported_once_it_is_over_and_a_failure_is_a_warning(
    nel: Nel, how: list[str]
) -> None:
    nel.bench([*sums(2), *rows("crash")])
    suite(nel, "'own:Broken', 'own:Noting'")

    ended = nel.run(*RUN, *how, model=False)

    assert ended.code == 0, ended.text
    (line,) = noted(nel)
    assert line.endswith(" sums [1.0, 1.0, None]")
    assert "export of sums to own:Broken failed: ConnectionError: nobody answers" in ended.out
    assert "exported sums to own:Noting: noted.txt" in ended.out
    assert "not to be shown" not in ended.out


HOOKS = """
import sys

def pytest_sessionfinish(): sys.exit(0)
def pytest_unconfigure(): sys.exit(0)
"""


def test_nobody_who_exits_at_the_end_turns_a_failed_run_into_a_passed_one(
    nel: Nel, how: list[str]
) -> None:
    nel.bench(sums(3))
    nel.write("conftest.py", HOOKS)
    suite(nel, "'own:Leaving'")

    ended = nel.run(*RUN, *how, "--nel-strict", model=False)

    assert ended.code == 1, ended.text
    assert "export of sums to own:Leaving failed: it called sys.exit(0)" in ended.out
    assert "called sys.exit(0) in pytest_sessionfinish" in ended.out
    assert "benchmarks ===" in ended.out


def test_a_resumption_exports_the_whole_run_again(nel: Nel) -> None:
    nel.bench(sums(4))
    suite(nel, "'own:Noting'")

    nel.run(*RUN, "-x", "-k", "sums and (0-r0 or 1-r0)", model=False)
    ended = nel.run(*RUN, "--nel-resume", model=False)

    assert ended.code == 0, ended.text
    first, second = (line.partition(" sums ") for line in noted(nel))
    assert first[0] == second[0]  # the run's id
    assert (first[2].count(","), second[2].count(",")) == (1, 3)


@pytest.mark.parametrize("how", [[], ["--nel-dry-run"]], ids=["run", "plan"])
def test_an_exporter_that_cannot_be_used_ends_the_run_before_it_begins(
    nel: Nel, how: list[str]
) -> None:
    nel.bench(sums(2))
    suite(nel, "'own:Needing'")

    ended = nel.run("my.nel.yaml", *how, model=False)

    assert ended.code == 4, ended.text
    assert "my.nel.yaml:6: output.export[0]: exporter 'own:Needing' needs" in ended.err
    assert "pip install 'pytest-nel[mlflow]'" in ended.err
    assert not Path(nel.folder, "eval_results").exists()
