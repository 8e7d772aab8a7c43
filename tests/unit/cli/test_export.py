"""``nel export``: where options come from, what is refused, and the exit status."""

import json
from pathlib import Path

import pytest

from pytest_nel.cli.main import main
from tests.support.stored import write_run

OWN = '''"""Of the user's own."""

from pathlib import Path

from pydantic import BaseModel


class Noting:
    """Writes a line for each bundle."""

    class Config(BaseModel, extra="forbid"):
        """Options."""

        output_dir: Path
        tags: dict[str, str] = {}
        rounds: int = 1

    def __init__(self, config) -> None:
        self.config = config

    def export(self, bundle) -> str:
        if bundle.benchmark == "broken":
            raise OSError("no room")
        prompt = next(iter(bundle.samples())).row["prompt"]
        line = f"{bundle.run} {bundle.benchmark} {self.config.tags} {self.config.rounds} {prompt}"
        self.config.output_dir.mkdir(exist_ok=True)
        with (self.config.output_dir / "noted.txt").open("a") as file:
            file.write(line + "\\n")
        return "noted"
'''
SECRET = "sk-0123456789abcdef"  # noqa: S105  # made up


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with an exporter and two runs, one of which holds the key of its service."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.setenv("TEAM", "quant")
    monkeypatch.setenv("OF_THE_SERVICE", SECRET)
    (tmp_path / "own_exporter.py").write_text(OWN)
    write_run(tmp_path / "runs" / "a", [1.0], row={"prompt": f"with {SECRET}"})
    write_run(tmp_path / "runs" / "b", [0.0], name="other")
    said = {"services": {"m": {"type": "api", "api_key": "${OF_THE_SERVICE}"}}}
    (tmp_path / "runs" / "a" / "suite.nel.yaml").write_text(json.dumps(said))
    return tmp_path


def nel(*words: str) -> int:
    return main(["export", *words])


def test_options_of_the_file_come_before_those_of_the_line_and_secrets_do_not_leave(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    own = {"tags": {"team": "${TEAM}"}, "rounds": 2}
    (here / "o.yaml").write_text(json.dumps({"own_exporter:Noting": own, "mlflow": {"x": 1}}))
    options = ["-c", "o.yaml", "-o", "rounds=3", "-o", "tags.of=x", "--output-dir", "out"]

    code = nel("runs", "-d", "own_exporter:Noting", *options)

    assert code == 0
    assert (here / "out" / "noted.txt").read_text().splitlines() == [
        "a mmlu {'team': 'quant', 'of': 'x'} 3 with [API key]",
        "b other {'team': 'quant', 'of': 'x'} 3 question 0",
    ]
    assert capsys.readouterr().out == "exported mmlu: noted\nexported other: noted\n"


@pytest.mark.parametrize(
    "suite",
    [
        {"sandboxes": {"box": {"type": "docker", "container_env": {"X": "host:OF_THE_BOX"}}}},
        {"benchmarks": [{"name": "b", "sandbox": {"container_env": {"X": "host:OF_THE_BOX"}}}]},
        {"benchmarks": [{"name": "b", "solver": {"container_env": {"X": "host:OF_THE_BOX"}}}]},
        {
            "benchmarks": [None, {"sandbox": "box"}],
            "sandboxes": {"box": {"env": {"X": "${OF_THE_BOX}"}}},
        },
    ],
)
def test_what_sandboxes_and_agents_of_a_run_were_told_does_not_leave(
    here: Path, monkeypatch: pytest.MonkeyPatch, suite: dict[str, object]
) -> None:
    monkeypatch.setenv("OF_THE_BOX", SECRET)
    monkeypatch.delenv("OF_THE_SERVICE")
    (here / "runs" / "a" / "suite.nel.yaml").write_text(json.dumps(suite))

    code = nel("runs/a", "-d", "own_exporter:Noting", "--output-dir", "out")

    assert code == 0
    assert SECRET not in (here / "out" / "noted.txt").read_text()
    assert "with [API key]" in (here / "out" / "noted.txt").read_text()


def test_a_bundle_that_cannot_be_exported_is_exit_status_1(
    here: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_run(here / "runs" / "c", [1.0], name="broken")

    code = nel("runs", "-d", "own_exporter:Noting", "--output-dir", "out")

    captured = capsys.readouterr()
    assert code == 1
    assert captured.out.count("exported") == 2
    assert captured.err == "nel export: broken failed: OSError: no room\n"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (["runs", "-d", "mlfow"], "no exporter is called 'mlfow'. Did you mean 'mlflow'?"),
        (["nowhere", "-d", "mlflow"], "no such file or directory: nowhere"),
        (["runs", "-d", "own_exporter:Noting"], "output_dir: required, but missing"),
        (
            ["runs", "-d", "own_exporter:Noting", "-o", "round=1", "--output-dir", "o"],
            "round: unknown option. Did you mean 'rounds'?",
        ),
        (["runs", "-d", "own_exporter:Noting", "-o", "rounds"], "there is no ="),
        (
            ["runs", "-d", "own_exporter:Noting", "-c", "bad.yaml", "--output-dir", "o"],
            "bad.yaml:2: rounds: expected a whole number, got 'many'",
        ),
        (
            ["runs", "-d", "own_exporter:Noting", "-c", "unset.yaml"],
            "unset.yaml:1: tags.x: environment variable NOT_SET_AT_ALL is not set",
        ),
        (["runs", "-d", "own_exporter:Noting", "-c", "no.yaml"], "No such file"),
        (["runs", "-d", "own_exporter:Noting", "-c", "list.yaml"], "expected a mapping"),
    ],
)
def test_a_mistake_is_exit_status_4_and_one_message(
    here: Path, capsys: pytest.CaptureFixture[str], words: list[str], said: str
) -> None:
    (here / "bad.yaml").write_text("tags: {a: b}\nrounds: many\n")
    (here / "unset.yaml").write_text("tags: {x: '${NOT_SET_AT_ALL}'}\n")
    (here / "list.yaml").write_text("[1]\n")

    code = nel(*words)

    captured = capsys.readouterr()
    assert (code, captured.out) == (4, "")
    assert said in captured.err
    assert captured.err.startswith("nel export: ")
    assert not (here / "o").exists()
