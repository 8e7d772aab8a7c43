"""PinchBench: tasks of our own in its shape, graded on what is left in a workspace."""

import asyncio
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from benchmarks.pinchbench import SOURCE, PinchBench
from pytest_nel import ConfigError, DataError, Sandbox, SandboxError, ScorerError, VerifyResult
from tests.benchmarks.folder_sandbox import FolderSandbox
from tests.benchmarks.pinch_tasks import CHECKS, SIMPLE, task, tree
from tests.benchmarks.recorded_judge import NO_RUBRICS, RUBRICS, SHARES
from tests.support.endpoint import RunningEndpoint
from tests.unit.engine.judging import Judge, metric, said

WEIGHTS = "grading_weights:\n  automated: 0.6\n  llm_judge: 0.4\n"
FILES = (
    "workspace_files:\n  - path: list.txt\n    content: |\n      eggs\n"
    "  - source: csvs/prices.csv\n    dest: data/prices.csv\n"
)
MILK = {"note.txt": "Dear all, we need milk."}
CALL = {"source": "agent", "message": "", "tool_calls": [{"function_name": "bash"}]}


class Boxed(PinchBench):
    """As a run with a sandbox has it, which here is a folder."""

    box: Sandbox

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        del sandbox
        return await super().verify(response, expected, self.box, **metadata)


def workspace(folder: Path, files: Mapping[str, str | bytes]) -> Any:  # Any: a part of a sandbox
    box = folder / "box"
    box.mkdir(parents=True)
    for name, text in files.items():
        (box / name).parent.mkdir(parents=True, exist_ok=True)
        (box / name).write_bytes(text.encode() if isinstance(text, str) else text)
    return FolderSandbox(box)


async def graded(
    folder: Path,
    text: str,
    files: Mapping[str, str | bytes],
    response: str = "done",
    trajectory: Any = (),
) -> VerifyResult:
    made = PinchBench(source_url=str(tree(folder / "data", note=text)))
    seed = await made.seed(0)
    facts = {**seed.metadata, "trajectory": trajectory}
    return await made.verify(response, "", workspace(folder, files), **facts)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("files", "response", "reward"),
    [
        (MILK, "I have written note.txt.", 1.0),
        (MILK, "", 1.0),
        ({"note.txt": "milk\n", "notes/other.md": "x"}, "Done!", 1.0),
        ({"note.txt": "# Shopping\r\n- milk"}, "**Done.** See `note.txt`.", 1.0),
        ({"note.txt": "milk", "picture.bin": b"\xff\x00\xfe"}, "ok", 1.0),
        ({"note.txt": "bread"}, "I have written it, with milk.", 0.5),
        ({"note.txt": ""}, "Here you are.", 0.5),
        ({"Note.txt": "milk"}, "done", 0.0),
        ({}, "milk", 0.0),
        ({}, '{"there": 1.0, "says": 1.0}', 0.0),
        ({}, "I'm sorry, but I can't help with that.", 0.0),
        ({"sub/note.txt": "milk"}, "It is in sub.", 0.0),
    ],
)
async def test_the_workspace_is_graded_whatever_the_response_says(
    tmp_path: Path, files: Mapping[str, str], response: str, reward: float
) -> None:
    result = await graded(tmp_path, task(), files, response)

    assert (result.reward, result.parsed) == (reward, True)
    assert result.scoring_details["automated"] == reward


@pytest.mark.asyncio
async def test_where_nothing_was_said_or_done_it_is_unparsed(tmp_path: Path) -> None:
    given: dict[str, str | bytes] = {"list.txt": "eggs\n", "data/prices.csv": "day,price\n1,2.50\n"}

    nothing = await graded(tmp_path / "a", task(front=FILES), given, " \n")
    changed = await graded(tmp_path / "b", task(front=FILES), given | {"list.txt": "ham"}, "")
    acted = await graded(tmp_path / "c", task(front=FILES), given, "", [CALL])

    assert (nothing.reward, nothing.parsed) == (0.0, False)
    assert (changed.reward, changed.parsed) == (0.0, True)
    assert (acted.reward, acted.parsed) == (0.0, True)


@pytest.mark.asyncio
async def test_checks_are_told_what_the_agent_did(tmp_path: Path) -> None:
    document = {"schema_version": "ATIF-v1.6", "steps": [CALL]}
    files = {**MILK, ".nel_transcript.jsonl": '{"forged": true}'}

    without = await graded(tmp_path / "a", task(checks=CHECKS), files)
    steps = await graded(tmp_path / "b", task(checks=CHECKS), files, trajectory=[document])

    assert [without.reward, steps.reward] == pytest.approx([2 / 3, 1.0])


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("body", "failed"),
    [
        ("raise ValueError('odd note')", "ValueError: odd note"),
        ("import sys; sys.exit(1)", "SystemExit: 1"),
        ("import os; os._exit(0)", "no scores"),
        ("return (Path := __import__('pathlib').Path)(w, 'no').read_text()", "FileNotFoundError"),
        ("return {}['x']", "KeyError"),
        ("return 5", "TypeError"),
        ("return {'x': object()}", "TypeError"),
        ('print(\'{"scores": [["x", 1]]}\'); raise OSError', "OSError"),
        ("import sys; sys.path.insert(0, w); import m", "ModuleNotFoundError"),
    ],
)
async def test_checks_that_fail_at_what_they_find_are_worth_0(
    tmp_path: Path, body: str, failed: str
) -> None:
    checks = f"def grade(t, w):\n    {body}"

    result = await graded(tmp_path, task(checks=checks), {"m.py": "import not_there"})

    assert result.reward == 0.0
    assert failed in result.scoring_details["failed"]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("checks", "message"),
    [
        ("import not_installed\ndef grade(t, w): return {'x': 1}", "No module named"),
        ("def grade(t, w):\n    import not_installed", "No module named"),
        ("def score(t, w): return {'x': 1}", "KeyError: 'grade'"),
        ("def grade(t, w): return {}", "they said nothing"),
        ("def grade(t, w): return {'x': 2}", "they said 'x': 2"),
        ("def grade(t, w): return {'x': 10**400}", "they said 'x': 1000"),
        ("def grade(t, w): return {'x': float('nan')}", "they said 'x': nan"),
        ("def grade(t, w): return {'x': '1'}", "they said 'x': '1'"),
    ],
)
async def test_checks_that_are_to_blame_themselves_leave_the_attempt_unscored(
    tmp_path: Path, checks: str, message: str
) -> None:
    with pytest.raises(ScorerError, match=message):
        await graded(tmp_path, task(checks=checks), MILK)


@pytest.mark.asyncio
async def test_a_sandbox_that_fails_or_has_no_python_is_not_the_answers_fault(
    tmp_path: Path,
) -> None:
    made = PinchBench(source_url=str(tree(tmp_path / "data", note=task())))
    facts = (await made.seed(0)).metadata
    bare: Any = FolderSandbox(tmp_path)
    bare.env = {"PATH": "/nowhere"}
    full: Any = FolderSandbox(tmp_path, "disk is full")

    with pytest.raises(SandboxError, match="disk is full"):
        await made.verify("x", "", full, **facts)
    with pytest.raises(SandboxError, match="has no sandbox"):
        await made.verify("x", "", None, **facts)
    with pytest.raises(SandboxError, match="Python 3 in the sandbox"):
        await made.verify("x", "", bare, **facts)


@pytest.mark.asyncio
@pytest.mark.parametrize("reply", RUBRICS)
async def test_a_judge_grades_by_the_rubric_and_sees_the_work(
    tmp_path: Path, judged: Judge, recorded: RunningEndpoint, reply: str
) -> None:
    made = Boxed(source_url=str(tree(tmp_path / "data", note=task("llm_judge", checks=None))))
    made.box = workspace(tmp_path, MILK)

    record = await judged(f"reply={reply}", metric(), benchmark=made)

    assert record.scored.reward == SHARES[reply]
    asked = recorded.bodies()[-1]
    assert "Dear all, we need milk." in asked
    assert "Criterion 1: Tone" in asked
    assert "The agent writes a friendly note." in asked


@pytest.mark.asyncio
@pytest.mark.parametrize("reply", NO_RUBRICS)
async def test_a_judge_without_a_score_leaves_the_attempt_unscored(
    tmp_path: Path, judged: Judge, reply: str
) -> None:
    made = Boxed(source_url=str(tree(tmp_path / "data", note=task("hybrid"))))
    made.box = workspace(tmp_path, MILK)

    record = await judged(f"reply={reply}", metric(max_retries=0), benchmark=made)

    assert (record.scored.outcome, record.scored.failure) == ("unscored", "judge_error")


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("front", "note", "reply", "reward"),
    [
        (WEIGHTS, "milk", "r1", 1.0),
        (WEIGHTS, "milk", "r6", 0.6),
        (WEIGHTS, "bread", "r1", 0.7),
        (WEIGHTS, "bread", "r7", 0.4),
        ("", "bread", "r1", 0.75),
        ("grading_weights: {automated: 1, llm_judge: 3}\n", "bread", "r1", 0.875),
        ("grading_weights: {automated: 0, llm_judge: 1}\n", "bread", "r1", 1.0),
    ],
)
async def test_checks_and_judge_are_weighted_as_the_task_says(
    tmp_path: Path, judged: Judge, front: str, note: str, reply: str, reward: float
) -> None:
    made = Boxed(source_url=str(tree(tmp_path / "data", note=task("hybrid", front=front))))
    made.box = workspace(tmp_path, {"note.txt": note})

    record = await judged(f"reply={reply}", metric(), benchmark=made)

    assert record.scored.reward == pytest.approx(reward)
    assert record.scored.scorer_rewards == {"j": SHARES[reply]}
    assert said(record)["preset"] == "rubric"
    assert record.scored.details["checks"] == {"there": 1.0, "says": float(note == "milk")}


@pytest.mark.asyncio
async def test_work_without_a_last_word_is_judged_too_and_no_work_by_nobody(
    tmp_path: Path, judged: Judge, recorded: RunningEndpoint
) -> None:
    made = Boxed(source_url=str(tree(tmp_path / "data", note=task("hybrid"))))
    made.box = workspace(tmp_path, {})
    blank = await judged("", metric(), benchmark=made)
    unasked = recorded.stats()["requests"]
    made.box = workspace(tmp_path / "other", {"note.txt": "milk reply=r1"})

    worked = await judged("", metric(), benchmark=made)

    assert (blank.scored.outcome, blank.scored.reward, unasked) == ("unparsed", 0.0, 0)
    assert (worked.scored.outcome, worked.scored.reward) == ("correct", 1.0)


@pytest.mark.asyncio
async def test_each_attempt_gets_the_tasks_files_in_a_sandbox_of_its_own(tmp_path: Path) -> None:
    made = PinchBench(source_url=str(tree(tmp_path, note=task(front=FILES, checks=CHECKS))))
    seed = await made.seed(0)

    assert "## Shopping" in seed.prompt
    assert not seed.prompt.endswith("---")
    assert seed.metadata["category"] == "writing"
    assert seed.sandbox_spec is not None
    files = seed.sandbox_spec.files
    found = {
        target: await asyncio.to_thread(Path(path).read_bytes) for path, target in files.items()
    }
    assert found == {
        "/workspace/list.txt": b"eggs\n",
        "/workspace/data/prices.csv": b"day,price\n1,2.50\n",
    }
    assert seed.verify_sandbox_spec == seed.sandbox_spec
    assert made.judge_preset is None


@pytest.mark.asyncio
async def test_the_order_is_that_of_the_manifest_and_a_zip_is_as_good_as_a_folder(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    names = ("alpha", "beta", "gamma", "delta")
    folder = tree(tmp_path / "skill-47e", **dict.fromkeys(names, task(front=FILES)))
    (folder / "tasks" / "manifest.yaml").write_text(
        "run_first: [task_gamma]\ncategories:\n  office: [task_delta, task_gamma]\n"
    )
    archive = tmp_path / "data" / "skill.zip"
    archive.parent.mkdir()
    with zipfile.ZipFile(archive, "w") as file:
        for path in sorted(folder.rglob("*.*")):
            file.write(path, path.relative_to(tmp_path))
    (archive.parent / "datasets.yaml").write_text(f"{SOURCE}: skill.zip\n")
    monkeypatch.setenv("NEL_DATA_DIR", str(archive.parent))

    here, zipped, few = PinchBench(str(folder)), PinchBench(), PinchBench(num_examples=2)
    less = PinchBench(skip=["task_alpha"])

    ids = [here.problem_id(at) for at in range(len(here))]
    assert ids == ["task_gamma", "task_delta", "task_alpha", "task_beta"]
    assert here.fingerprint()["content_hash"] == zipped.fingerprint()["content_hash"]
    assert zipped.judging() == few.judging() != less.judging()
    assert (len(few), len(less)) == (2, 3)


@pytest.mark.parametrize("number", [0, -1])
def test_a_number_of_tasks_below_one_is_refused(tmp_path: Path, number: int) -> None:
    folder = tree(tmp_path / "data", note=task(front=FILES))

    with pytest.raises(ConfigError, match="num_examples: expected 1 or more"):
        PinchBench(str(folder), num_examples=number)


def test_tasks_that_cannot_be_measured_are_named_and_never_left_out_unasked(
    tmp_path: Path,
) -> None:
    several = "multi_session: true\nsessions:\n  - prompt: one\n"
    source = tree(
        tmp_path,
        good=task(),
        bare=task().removeprefix("---"),
        code=task(checks="def grade(:"),
        kind=task("by_hand"),
        many=task(front=several),
        none=task(checks=None),
        outside=task(front="workspace_files: [{path: ../x, content: y}]\n"),
        secret=task(checks=SIMPLE.replace("called", "_PINCHBENCH_PRIVATE_KEY")),
        source=task(front="workspace_files: [{source: no.csv, dest: x}]\n"),
        weights=task("hybrid", front="grading_weights: {automated: -1}\n"),
        yaml=task(front="name: [\n"),
    )
    (source / "tasks" / "manifest.yaml").write_text("tasks: [task_gone]\n")

    with pytest.raises(DataError) as caught:
        PinchBench(str(source))

    text = str(caught.value)
    assert "11 of 12 tasks cannot be measured" in text
    for part in (
        "task_gone.md: is not there",
        "task_bare.md: does not begin with a block",
        "task_code.md: its checks are no Python",
        "grading_type: expected one of automated, llm_judge, hybrid, got 'by_hand'",
        "task_many.md: several sessions",
        "task_none.md: no block of Python",
        "'../x' does not lie in the workspace",
        "task_secret.md: its checks want a private key",
        "no content, or no such file",
        "grading_weights: expected two numbers",
    ):
        assert part in text
    wrong = [line.split(".md")[0].split("/")[1] for line in text.splitlines() if "tasks/" in line]
    assert len(PinchBench(str(source), skip=[*wrong, "task_yaml"])) == 1
    with pytest.raises(DataError, match="skip: task_else: no such task"):
        PinchBench(str(source), skip=["task_else"])


def test_where_the_tasks_come_from(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("NEL_DATA_DIR", raising=False)
    monkeypatch.setenv("HF_HUB_OFFLINE", "1")

    with pytest.raises(DataError, match=r"pinchbench/skill at 47efe9bf.*HF_HUB_OFFLINE forbids"):
        PinchBench()
    with pytest.raises(ConfigError, match="expected a commit, 40 hex digits, got '47efe9bf'"):
        PinchBench(source_ref="47efe9bf")
    with pytest.raises(ConfigError, match="drop one"):
        PinchBench(source_url="x", source_ref="0" * 40)
    with pytest.raises(DataError, match=f"skill at {'0' * 40}.*HF_HUB_OFFLINE forbids"):
        PinchBench(source_ref="0" * 40)
    with pytest.raises(DataError, match="expected a folder or a zip"):
        PinchBench(str(tmp_path / "none"))
    with pytest.raises(DataError, match="there is no task in it"):
        PinchBench(str(tmp_path))
