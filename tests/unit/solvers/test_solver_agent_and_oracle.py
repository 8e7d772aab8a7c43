"""Agents of a folder and the oracle: their times, their scripts, and what is refused."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from pytest_nel.config.schema import PluginSpec
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.exchange import Usage
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.environments.harbor import HarborEnvironment
from pytest_nel.solvers import asks_model
from pytest_nel.solvers._agent_folder import read_agent
from pytest_nel.solvers._times import agent_seconds
from pytest_nel.solvers.agent import AgentSolver
from pytest_nel.solvers.around import Around
from pytest_nel.solvers.harbor import HarborSolver
from pytest_nel.solvers.oracle import OracleSolver
from tests.unit.datasets.test_harbor_folders import task

BRIDGE = PluginSpec.model_validate({"type": "docker", "network": "bridge"})
POSITIVE = st.floats(min_value=0.1, max_value=1e6)


@pytest.mark.parametrize(
    ("strategy", "own", "of_task", "cap", "seconds"),
    [
        ("override", 100.0, 300.0, None, 100.0),
        ("override", None, 300.0, None, 1740.0),
        ("task", 100.0, 300.0, None, 300.0),
        ("task", 100.0, None, None, 100.0),
        ("max", 100.0, 300.0, None, 300.0),
        ("max", 400.0, 300.0, None, 400.0),
        ("max", 400.0, 300.0, 250.0, 250.0),
        ("task", None, 9000.0, None, 1740.0),
    ],
)
def test_an_agents_time_is_chosen(
    strategy: str, own: float | None, of_task: float | None, cap: float | None, seconds: float
) -> None:
    assert agent_seconds(strategy, own, of_task, cap, 1800.0) == seconds  # type: ignore[arg-type]


@pytest.mark.parametrize(("left", "seconds"), [(1800.0, 1740.0), (1000.0, 940.0), (20.0, 1.0)])
def test_an_agent_has_no_time_that_is_gone(left: float, seconds: float) -> None:
    assert agent_seconds("max", 1740.0, 9000.0, None, 1800.0, left) == seconds


@given(st.sampled_from(["override", "task", "max"]), POSITIVE, POSITIVE, POSITIVE)
def test_an_agent_never_has_all_of_an_attempts_time(
    strategy: str, own: float, of_task: float, attempt: float
) -> None:
    seconds = agent_seconds(strategy, own, of_task, None, attempt)  # type: ignore[arg-type]

    assert seconds >= 1.0
    assert seconds < max(attempt, 1.1)


def folder(path: Path, **files: str) -> Path:
    path.mkdir()
    for name, text in {"run.sh.j2": "run {{ instruction | sh }}", **files}.items():
        (path / name).write_text(text)
    return path


def test_scripts_are_filled_in_and_quoted(tmp_path: Path) -> None:
    made = read_agent(
        folder(tmp_path / "mine", **{"agent.toml": 'timeout_sec = 5\n[env]\nA = "b"\n'})
    )

    script = made.script(made.run, {"instruction": "it's $(rm -rf /)"})

    assert script == b"""run 'it'"'"'s $(rm -rf /)'"""
    assert (made.name, made.timeout, made.env, made.install) == ("mine", 5, {"A": "b"}, None)
    with pytest.raises(ConfigError, match="'instruction' is undefined"):
        made.script(made.run, {"model": "m"})


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"run.sh.j2": "{% if %}"}, "run.sh.j2:1"),
        ({"agent.toml": "timeout = 5\n"}, "unknown key 'timeout'"),
        ({"agent.toml": "timeout_sec = true\n"}, "expected a number above 0"),
        ({"agent.toml": "[env]\nA = 1\n"}, "expected a table of texts"),
        ({"agent.toml": "= 1\n"}, "cannot be read"),
    ],
)
def test_folders_that_are_no_agents_are_refused(
    tmp_path: Path, files: dict[str, str], said: str
) -> None:
    with pytest.raises(ConfigError) as refused:
        read_agent(folder(tmp_path / "mine", **files))

    assert said in str(refused.value)
    with pytest.raises(ConfigError, match=r"run\.sh\.j2 in it"):
        read_agent(tmp_path)


@pytest.mark.parametrize("name", ["terminus-2", "claude-code", "openhands", "pkg.mod:Agent"])
def test_agents_of_the_harbor_package_are_refused_by_name(name: str) -> None:
    with pytest.raises(ValidationError, match="agent of the harbor package"):
        HarborSolver.Config(service="m", agent=name)


def test_an_agent_needs_a_sandbox_from_which_it_reaches_its_model(tmp_path: Path) -> None:
    config = AgentSolver.Config(service="m", agent=str(folder(tmp_path / "mine")))

    with pytest.raises(ConfigError, match="the benchmark has none"):
        AgentSolver(Around(60.0), config)
    with pytest.raises(ConfigError, match="add network: bridge"):
        AgentSolver(Around(60.0, PluginSpec(type="docker")), config)
    assert AgentSolver(Around(60.0, BRIDGE), config).through_proxy


def test_a_script_that_names_what_there_is_not_is_refused_before_the_run(tmp_path: Path) -> None:
    made = folder(tmp_path / "mine", **{"install.sh.j2": "pip install {{ package }}"})
    lacks = AgentSolver.Config(service="m", agent=str(made))
    has = AgentSolver.Config(service="m", agent=str(made), agent_kwargs={"package": "x"})

    with pytest.raises(ConfigError, match="'package' is undefined; its values: api_key, base_url"):
        AgentSolver(Around(60.0, BRIDGE), lacks)
    assert AgentSolver(Around(60.0, BRIDGE), has).uses_sandbox


def test_an_agent_counts_by_what_is_in_its_folder(tmp_path: Path) -> None:
    one, two = folder(tmp_path / "one"), folder(tmp_path / "two")

    before = [AgentSolver.identity({"agent": str(each)}) for each in (one, two)]
    (two / "run.sh.j2").write_text("other")
    after = AgentSolver.identity({"agent": str(two)})

    assert before[0] == before[1] != after


def test_the_oracle_asks_nobody_and_refuses_what_has_no_solutions(tmp_path: Path) -> None:

    toml = '[environment]\ndocker_image = "img"\n'
    (task(tmp_path / "set" / "has", toml) / "solution").mkdir()
    (tmp_path / "set" / "has" / "solution" / "solve.sh").write_text("true\n")
    task(tmp_path / "set" / "lacks", toml)
    oracle = OracleSolver(Around(60.0), OracleSolver.Config())

    oracle.refuse_environment(HarborEnvironment("set", {"task_names": ["has"]}, base=tmp_path))
    with pytest.raises(ConfigError, match=r"no solution/solve\.sh that a shell can run in lacks"):
        oracle.refuse_environment(HarborEnvironment("set", base=tmp_path))
    with pytest.raises(ConfigError, match="brings no solutions"):
        oracle.refuse_environment(EvalEnvironment())
    assert not asks_model(PluginSpec(type="oracle"))
    assert asks_model(PluginSpec(type="simple"))
    assert asks_model(PluginSpec(type="nobody's"))


def test_tokens_that_a_server_does_not_tell_are_unknown() -> None:
    usage = Usage()

    usage.add({"usage": {"prompt_tokens": 3, "completion_tokens": 2}})
    usage.add({"usage": {"input_tokens": 4, "output_tokens": 1}})
    usage.add(b"none")

    assert usage == Usage(requests=3, unknown=1, prompt=7, completion=3)
