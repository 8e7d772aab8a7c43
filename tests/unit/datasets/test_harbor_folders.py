"""Task folders of the Harbor format: what is read, and what is refused by name."""

from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import DataError
from pytest_nel.datasets._harbor_toml import Settings, settings_of
from pytest_nel.datasets.harbor_task import (
    Recipe,
    digest_of,
    read_dockerfile,
    read_task,
    task_of,
    without_canary,
)

TOML = '[environment]\ndocker_image = "img:1"\n'


def task(folder: Path, toml: str = TOML, instruction: str = "Do it.\n") -> Path:
    (folder / "tests").mkdir(parents=True)
    (folder / "tests" / "test.sh").write_text("exit 0\n")
    (folder / "task.toml").write_text(toml)
    (folder / "instruction.md").write_text(instruction)
    return folder


def test_a_task_is_read_and_found_by_what_is_in_it(tmp_path: Path) -> None:
    made = read_task(task(tmp_path / "one", instruction="<!-- a Canary -->\n\nDo it.\n"))

    again = read_task(task(tmp_path / "copies" / "one", instruction="Do it.\n"))

    assert (made.name, made.instruction, made.workdir) == ("one", "Do it.\n", "/testbed")
    assert (made.settings.docker_image, made.image_user, made.solution) == ("img:1", "root", None)
    assert task_of(made.digest) == made
    assert made.digest != again.digest  # the canary's line is in the file
    assert task_of("sha256:none") is None


def test_settings_are_read_in_all_their_spellings() -> None:
    raw = {
        "schema_version": "1.1",
        "task": {"name": "org/x", "anything": [1]},
        "metadata": {"category": "c", "more": {"deep": [1.5]}},
        "verifier": {"timeout_sec": 12, "env": {"A": "${A:-b}"}, "user": 1000},
        "agent": {"timeout_sec": 3.5, "user": "agent"},
        "environment": {
            "docker_image": "i",
            "workdir": "/app",
            "cpus": 2,
            "memory": "2G",
            "storage_mb": 10240,
            "allow_internet": False,
            "build_timeout_sec": 600.0,
            "gpus": 0,
        },
        "solution": {"env": {"B": "c"}},
    }

    found = settings_of(raw, "task.toml")

    assert found == Settings(
        docker_image="i",
        workdir="/app",
        internet=False,
        cpus=2.0,
        memory=2 * 2**30,
        agent_user="agent",
        agent_timeout=3.5,
        verifier_user="1000",
        verifier_timeout=12.0,
        verifier_env={"A": "${A:-b}"},
        solution_env={"B": "c"},
        metadata={"category": "c", "more": {"deep": [1.5]}},
    )
    assert settings_of({"environment": {"memory_mb": 512}}, "").memory == 512 * 2**20
    assert settings_of({}, "") == Settings()


@pytest.mark.parametrize(
    ("raw", "said"),
    [
        ({"environment": {"gpus": 1, "mcp_servers": [{}]}}, "environment.gpus, environment.mcp_"),
        ({"multi_step_reward_strategy": "mean"}, "multi_step_reward_strategy"),
        ({"verifier": {"environment_mode": "separate"}}, "verifier.environment_mode"),
        ({"verifier": {"timeout_sec": "long"}}, "timeout_sec: expected a number above 0"),
        ({"verifier": {"timeout_sec": True}}, "timeout_sec: expected a number above 0"),
        ({"environment": {"memory": "much"}}, "memory: expected a size such as 2G"),
        ({"environment": {"allow_internet": "no"}}, "allow_internet: expected true or false"),
        ({"environment": {"env": {"A": 1}}}, "env: expected a table of texts"),
        ({"agent": {"timeout_secs": 3}}, "agent.timeout_secs (did you mean 'timeout_sec'?)"),
        ({"agent": 3}, "agent (no table)"),
    ],
)
def test_what_is_not_supported_is_refused_by_name(raw: dict[str, object], said: str) -> None:
    with pytest.raises(DataError) as refused:
        settings_of(raw, "task.toml")

    assert said in str(refused.value)


def test_folders_that_are_no_tasks_of_one_container_are_refused(tmp_path: Path) -> None:
    (tmp_path / "steps" / "steps").mkdir(parents=True)
    composed = task(tmp_path / "composed")
    (composed / "environment").mkdir()
    (composed / "environment" / "docker-compose.yaml").write_text("services: {}\n")
    foreign = task(tmp_path / "foreign")
    (foreign / "instruction.md").write_bytes(b"caf\xe9\n")
    windows = task(tmp_path / "windows")
    (windows / "tests" / "test.sh").write_bytes(b"#!/bin/bash\r\ntrue\r\n")
    wrong = {
        windows: "test.sh: its lines end as Windows ends them",
        foreign: "instruction.md: it cannot be read",
        tmp_path / "steps": "tasks in several steps are not supported",
        composed: "tasks of several containers (docker compose) are not supported",
        task(tmp_path / "bare", "version = '1'\n"): "there is no image",
        task(tmp_path / "empty", instruction="# canary\n\n"): "it is empty",
        task(tmp_path / "torn", "a = [\n"): "it cannot be read",
    }

    for folder, said in wrong.items():
        with pytest.raises(DataError) as refused:
            read_task(folder)
        assert said in str(refused.value)


def test_a_solution_that_no_shell_can_run_counts_as_none(tmp_path: Path) -> None:
    folder = task(tmp_path / "one")
    script = folder / "solution" / "solve.sh"
    script.parent.mkdir(exist_ok=True)
    script.write_bytes(b"#!/bin/bash\ntrue\n")
    good = read_task(folder).solution
    script.write_bytes(b"#!/bin/bash\r\ntrue\r\n")

    assert good == script.parent
    assert read_task(folder).solution is None


@pytest.mark.parametrize(
    ("text", "recipe"),
    [
        ("FROM a:1\nWORKDIR /app\n", Recipe("a:1", "/app", None)),
        ("FROM a:1\nRUN x\nWORKDIR /app\nWORKDIR sub\nUSER me\n", Recipe(None, "/app/sub", "me")),
        ("# c\nfrom --platform=linux/amd64 a\nLABEL x=y\n", Recipe("a", None, None)),
        ("FROM a AS b\nWORKDIR /x\nFROM c\nCOPY --from=b /x /y\n", Recipe(None, None, None)),
        ("FROM a\nENV X=1\n", Recipe(None, None, None)),
        ("ARG V=1\nFROM a:$V\n", Recipe(None, None, None)),
        ("FROM a\nRUN x \\\n  && y\nWORKDIR $HOME\n", Recipe(unsure=("WORKDIR $HOME",))),
        ("FROM a\nWORKDIR $A\nWORKDIR b\n", Recipe(unsure=("WORKDIR b",))),
        ("FROM a\nWORKDIR $A\nUSER $U\nWORKDIR /b\n", Recipe(None, "/b", unsure=("USER $U",))),
        ("FROM a\nWORKDIR sub\n", Recipe(unsure=("WORKDIR sub",))),
        ("FROM a AS b\nWORKDIR /x\nUSER u\nFROM B\nRUN y\n", Recipe(None, "/x", "u")),
        ("FROM a\nWORKDIR /w\nRUN <<EOF\nUSER no\nWORKDIR /no\nEOF\n", Recipe(None, "/w")),
        ("FROM a\nWORKDIR /w\nRUN x=$((1<<n)) && cat <<< y\nUSER u\n", Recipe(None, "/w", "u")),
    ],
)
def test_a_dockerfile_says_image_folder_and_user(text: str, recipe: Recipe) -> None:
    assert read_dockerfile(text) == recipe


@given(st.text())
def test_a_dockerfile_of_any_text_is_read(text: str) -> None:
    assert isinstance(read_dockerfile(text), Recipe)


@given(st.lists(st.sampled_from(["# canary x", "<!-- CANARY -->", "", "Do it.", "# Title"])))
def test_only_marks_at_the_beginning_are_dropped(lines: list[str]) -> None:
    text = "\n".join(lines)

    left = without_canary(text)

    assert text.endswith(left)
    assert not left or ("canary" not in left.splitlines()[0].lower() and left.splitlines()[0])


def test_a_digest_tells_names_contents_and_programs_apart(tmp_path: Path) -> None:
    seen = {digest_of(tmp_path)}
    file = tmp_path / "a"

    file.write_text("x")
    seen.add(digest_of(tmp_path))
    file.chmod(0o755)
    seen.add(digest_of(tmp_path))
    file.rename(tmp_path / "b")
    seen.add(digest_of(tmp_path))
    (tmp_path / "c").symlink_to("b")
    seen.add(digest_of(tmp_path))

    assert len(seen) == 5


@pytest.mark.parametrize(
    "name",
    ["instruction.md", "task.toml", "tests", "tests/test.sh", "solution", "environment/Dockerfile"],
)
def test_a_link_that_leads_out_of_a_task_is_refused_where_it_is_followed(
    tmp_path: Path, name: str
) -> None:
    folder, outside = task(tmp_path / "one"), tmp_path / "outside"
    (folder / "environment").mkdir()
    outside.mkdir()
    (outside / "test.sh").write_text("exit 0\n")
    path = folder / name
    if path.exists():
        path.rename(tmp_path / "was")
    path.symlink_to(tmp_path / "was" if (tmp_path / "was").exists() else outside)

    with pytest.raises(DataError, match=rf"lead out of the task's folder: {name}"):
        read_task(folder)


def test_links_inside_of_a_task_and_into_its_container_are_kept(tmp_path: Path) -> None:
    folder = task(tmp_path / "one")
    (folder / "tests" / "data").symlink_to("test.sh")
    (folder / "tests" / "of-the-container").symlink_to("/app/data")
    (folder / "instruction.md").rename(folder / "README.md")
    (folder / "instruction.md").symlink_to("README.md")

    made = read_task(folder)
    (folder / "tests" / "deep").symlink_to("../../two/tests")

    assert made.instruction == "Do it.\n"
    with pytest.raises(DataError, match="lead out of the task's folder: tests/deep"):
        read_task(folder)
