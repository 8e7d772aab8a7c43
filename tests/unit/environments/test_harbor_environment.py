"""Harbor tasks as problems: what a solver sees of them, and what is refused before a run."""

from pathlib import Path
from typing import Any

import pytest

from pytest_nel.config.schema import BenchmarkConfig
from pytest_nel.core.errors import ConfigError, DataError
from pytest_nel.core.sandbox import ImageFacts, SandboxSpec
from pytest_nel.engine.plan import make_plan
from pytest_nel.environments import resolve
from pytest_nel.environments.harbor import HarborEnvironment
from tests.unit.datasets.test_harbor_folders import task

pytestmark = pytest.mark.asyncio
IMAGE = '[environment]\ndocker_image = "img:1"\nallow_internet = false\n'


def made(base: Path, **params: Any) -> HarborEnvironment:
    environment = resolve("harbor://set", base=base, params=params)
    assert isinstance(environment, HarborEnvironment)
    return environment


async def test_a_task_becomes_a_problem(tmp_path: Path) -> None:
    task(tmp_path / "set" / "b", IMAGE + '[metadata]\ncategory = "c"\ntask_name = "forged"\n')
    task(tmp_path / "set" / "a", "[agent]\ntimeout_sec = 9\n" + IMAGE)

    environment = made(tmp_path)
    seeds = [await environment.seed(idx) for idx in range(2)]

    assert (environment.name, len(environment)) == ("set", 2)
    assert [environment.problem_id(idx) for idx in range(2)] == ["a", "b"]
    assert seeds[0].prompt == "Do it.\n"
    assert seeds[0].sandbox_spec == seeds[0].verify_sandbox_spec
    wanted = SandboxSpec(image="img:1", workdir="/testbed", user="root", network="none")
    assert seeds[0].sandbox_spec == wanted
    assert seeds[0].metadata["agent_timeout_sec"] == 9.0
    assert seeds[1].metadata["category"] == "c"
    assert seeds[1].metadata["task_name"] == "b"  # no task says it is another
    assert str(tmp_path) not in str([seed.metadata for seed in seeds])  # equal on every machine
    assert environment.lacks_solution() == environment.without_network() == ["a", "b"]


async def test_a_dockerfile_is_built_unless_it_adds_nothing(tmp_path: Path) -> None:
    for name, text in (("adds", "FROM img\nRUN x\nUSER me\n"), ("plain", "FROM img\nWORKDIR /w\n")):
        folder = task(tmp_path / "set" / name, "version = '1'\n")
        (folder / "environment").mkdir()
        (folder / "environment" / "Dockerfile").write_text(text)

    adds, plain = await made(tmp_path).sandbox_specs()

    assert (adds.image, adds.user, adds.network) == ("", "me", "bridge")
    assert adds.environment_dir == str(tmp_path / "set" / "adds" / "environment")
    assert (plain.image, plain.environment_dir, plain.workdir) == ("img", None, "/w")


async def test_some_tasks_are_judged_where_they_were_done(tmp_path: Path) -> None:
    task(tmp_path / "set" / "asks", IMAGE + "[metadata]\nstateful = true\n")
    task(tmp_path / "set" / "plain", IMAGE)
    task(tmp_path / "set" / "root", IMAGE + 'workdir = "/"\n')

    by_task = [await made(tmp_path).seed(idx) for idx in range(3)]
    by_params = [await made(tmp_path, stateful=True).seed(idx) for idx in range(3)]

    assert [seed.verify_sandbox_spec is None for seed in by_task] == [True, False, True]
    assert [seed.capture_cmd is None for seed in by_task] == [True, False, True]
    assert all(seed.verify_sandbox_spec is None for seed in by_params)


async def test_params_choose_tasks_and_hide_hints(tmp_path: Path) -> None:
    for name in ("a", "b", "c"):
        task(tmp_path / "set" / name, IMAGE, "# Fix it\n\nText.\n\n## Hints\n\nLook there.\n")

    environment = made(
        tmp_path, task_names=["c", "a"], keep_swebench_multilingual_hints=False, num_examples=1
    )
    seed = await environment.seed(0)

    assert (len(environment), environment.problem_id(0)) == (1, "c")
    assert seed.prompt == "# Fix it\n\nText.\n\n"
    assert len(made(tmp_path, num_examples=2)) == 2
    assert len(resolve("harbor://set", base=tmp_path, limit=1)) == 1


@pytest.mark.parametrize(
    ("params", "said"),
    [
        ({"task_name": ["a"]}, "Did you mean 'task_names'"),
        ({"task_names": ["aa"]}, "unknown task of set 'aa'. Did you mean 'a'?"),
        ({"keep_swebench_multilingual_hints": "perhaps"}, "keep_swebench_multilingual_hints"),
        ({"num_examples": 0}, "params.num_examples"),
        ({"keep_processes": ["aa"], "stateful": True}, "(keep_processes) 'aa'"),
        ({"capture": "some"}, "params.capture"),
    ],
)
async def test_params_that_mean_nothing_are_refused(
    tmp_path: Path, params: dict[str, Any], said: str
) -> None:
    task(tmp_path / "set" / "a", IMAGE)

    with pytest.raises(ConfigError) as refused:
        made(tmp_path, **params)

    assert said in str(refused.value)


async def test_processes_are_not_kept_for_a_fresh_container(tmp_path: Path) -> None:
    task(tmp_path / "set" / "a", IMAGE)
    task(tmp_path / "set" / "b", IMAGE + "[metadata]\nstateful = true\n")
    environment = made(tmp_path, keep_processes=True)

    environment.problems_chosen([1])

    with pytest.raises(ConfigError, match=r"keep_processes is for a, .* add stateful: true"):
        environment.problems_chosen([0, 1])


async def test_every_task_that_cannot_be_run_is_named_at_once(tmp_path: Path) -> None:
    task(tmp_path / "set" / "a", IMAGE)
    task(tmp_path / "set" / "b", IMAGE + "gpus = 1\n")
    task(tmp_path / "set" / "c", "version = '1'\n")
    (task(tmp_path / "set" / "d") / "task.toml").unlink()

    environment = made(tmp_path)
    with pytest.raises(ConfigError) as refused:
        environment.problems_chosen(range(4))

    assert "set: 3 of 4 tasks cannot be run" in str(refused.value)
    assert "b/task.toml: not supported: environment.gpus" in str(refused.value)
    assert "d: expected a Harbor task, but there is no task.toml" in str(refused.value)
    assert "c: it has neither environment.docker_image" in str(refused.value)
    with pytest.raises(ConfigError, match=r"not supported: environment\.gpus"):
        await environment.seed(1)


async def test_a_task_outside_of_the_selection_asks_for_nothing(tmp_path: Path) -> None:
    task(tmp_path / "set" / "a", IMAGE)
    other = IMAGE.replace("img:1", "img:2").replace("false", "true\ncpus = 64")
    task(tmp_path / "set" / "b", other + '[verifier.env]\nKEY = "${NEL_NO_SUCH_VARIABLE}"\n')
    task(tmp_path / "set" / "c", IMAGE + "gpus = 1\n")
    task(tmp_path / "set" / "d", IMAGE + "[metadata]\nkeep_processes = true\n")
    environment = made(tmp_path)
    whole = environment.fingerprint()

    entry = {"name": "x", "solver": {"type": "oracle"}, "max_problems": 1, "shuffle_seed": None}
    plan = make_plan(BenchmarkConfig.model_validate(entry), environment, 4)

    await environment.prepare()
    assert plan.problems == [0]
    assert [spec.image for spec in await environment.sandbox_specs()] == ["img:1"]
    assert list(environment.sandbox_warnings(None, 2.0)) == []
    assert environment.lacks_solution() == environment.without_network() == ["a"]
    assert environment.fingerprint() == whole  # whatever the limit is, the data is the same
    with pytest.raises(ConfigError, match="keep_processes is for d"):
        environment.problems_chosen([0, 3])


async def test_what_an_image_says_goes_before_its_dockerfile(tmp_path: Path) -> None:
    named = task(tmp_path / "set" / "named", '[environment]\nworkdir = "/mine"\n')
    built = task(tmp_path / "set" / "built", "version = '1'\n")
    plain = task(tmp_path / "set" / "plain", "version = '1'\n")
    for folder in (named, built):
        recipe = "FROM a\nENV APP=/app\nWORKDIR $APP\nUSER $WHO\n"
        (folder / "environment").mkdir()
        (folder / "environment" / "Dockerfile").write_text(recipe)
    (plain / "environment").mkdir()
    (plain / "environment" / "Dockerfile").write_text("FROM b\nWORKDIR /over\n")
    environment = made(tmp_path, stateful=True)
    specs = await environment.sandbox_specs()

    environment.images_known([(spec, ImageFacts("/app", "me")) for spec in specs])

    boxes = [(await environment.seed(idx)).sandbox_spec for idx in range(3)]
    assert [environment.problem_id(idx) for idx in range(3)] == ["built", "named", "plain"]
    assert [box and box.workdir for box in boxes] == ["/app", "/mine", "/over"]
    assert [box and box.user for box in boxes] == ["me"] * 3


async def test_an_image_that_says_nothing_leaves_it_to_the_dockerfile(tmp_path: Path) -> None:
    task(tmp_path / "set" / "a", IMAGE)
    folder = task(tmp_path / "set" / "b", IMAGE.replace("img:1", "img:2"))
    (folder / "environment").mkdir()
    (folder / "environment" / "Dockerfile").write_text("FROM x\nRUN y\nWORKDIR /\n")
    environment = made(tmp_path)
    specs = await environment.sandbox_specs()

    environment.images_known([(spec, ImageFacts("/", "")) for spec in specs])

    seeds = [await environment.seed(idx) for idx in range(2)]
    assert [seed.sandbox_spec and seed.sandbox_spec.workdir for seed in seeds] == ["/testbed", "/"]
    assert [seed.verify_sandbox_spec is None for seed in seeds] == [False, True]


async def test_what_only_an_image_could_tell_is_refused_without_it(tmp_path: Path) -> None:
    folder = task(tmp_path / "set" / "a", "version = '1'\n")
    (folder / "environment").mkdir()
    (folder / "environment" / "Dockerfile").write_text("FROM x\nENV A=/app\nWORKDIR $A\n")
    environment = made(tmp_path)

    assert len(await environment.sandbox_specs()) == 1  # a plan shows what is built

    with pytest.raises(DataError, match=r"only its image can tell what 'WORKDIR \$A' means"):
        await environment.seed(0)


async def test_changed_tests_change_what_is_judged_of_their_task_alone(tmp_path: Path) -> None:
    task(tmp_path / "set" / "a", IMAGE)
    task(tmp_path / "set" / "b", IMAGE)
    before = made(tmp_path)

    (tmp_path / "set" / "b" / "tests" / "test.sh").write_text("exit 1\n")
    after = made(tmp_path)

    assert before.judging() == after.judging()
    assert before.fingerprint()["content_hash"] != after.fingerprint()["content_hash"]
    assert before.fingerprint()["prompts"] == after.fingerprint()["prompts"]
    for idx, same in ((0, True), (1, False)):
        assert ((await before.seed(idx)).metadata == (await after.seed(idx)).metadata) is same


async def test_what_tasks_ask_for_and_there_is_not_is_said(tmp_path: Path) -> None:
    task(tmp_path / "set" / "a", IMAGE + 'cpus = 4\nmemory = "8G"\n')
    task(tmp_path / "set" / "b", IMAGE + 'cpus = 1\nmemory = "1G"\n')
    environment = made(tmp_path)

    said = list(environment.sandbox_warnings(4 * 2**30, 2.0))

    assert len(said) == 2
    assert "1 of its tasks ask for more cpus than the sandbox has (2), a for 4" in said[0]
    assert list(environment.sandbox_warnings(None, None)) == []
    assert list(environment.sandbox_warnings(8 * 2**30, 4.0)) == []


async def test_variables_of_tests_are_there_before_the_run(tmp_path: Path) -> None:
    toml = IMAGE + '[verifier.env]\nKEY = "${NEL_NO_SUCH_VARIABLE}"\nOTHER = "${NEL_NONE:-x}"\n'
    task(tmp_path / "set" / "a", toml)

    with pytest.raises(ConfigError, match="want the variable NEL_NO_SUCH_VARIABLE"):
        await made(tmp_path).prepare()


async def test_a_folder_with_something_of_a_task_is_said_to_be_passed_over(tmp_path: Path) -> None:
    task(tmp_path / "set" / "a", IMAGE)
    task(tmp_path / "set" / "group" / "b", IMAGE)
    (tmp_path / "set" / "half" / "environment").mkdir(parents=True)
    (tmp_path / "set" / "docs").mkdir()

    said = list(made(tmp_path).sandbox_warnings(None, None))

    assert [line.split(" is not")[0] for line in said] == [
        f"set: {tmp_path / 'set' / name}" for name in ("group", "half")
    ]
    assert all("it has no task.toml" in line for line in said)
