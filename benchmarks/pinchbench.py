"""PinchBench: everyday work of an agent, such as files, mail, calendars and reports.

147 tasks of ``github.com/pinchbench/skill`` (MIT) at the commit of v2.0.0, in the order of their
manifest; no paper has been written of them. Others are named by a param, ``source_ref`` (a commit)
or ``source_url`` (a zip of the web with ``#sha256=…``, or a zip or folder of this machine), or by
``https://github.com/pinchbench/skill`` in the ``datasets.yaml`` of ``NEL_DATA_DIR``. Category: that
of the task.

Each attempt has a workspace of its own in a sandbox, whose image needs Python 3 and what the tasks
call prerequisites. A task is graded by checks in Python, which run in a fresh sandbox on what was
left in the workspace; by a model with the task's rubric (preset ``rubric``), which is shown what
was done and the workspace's texts; or by both, weighted as the task says. Checks that fail at what
they find are worth 0, ones that lack a package leave the attempt unscored, as does a judge without
a verdict. Checks that import what the agent wrote have to trust it.

Leaderboards run the agent OpenClaw, whose tools have other names than ours; some checks look for
those. A task's limit of time is told as ``timeout_seconds``; the suite sets its own. Tasks of
several sessions, and ones that cannot be read, are refused by name; ``skip`` leaves them out.
"""

import hashlib
import math
import re
import shutil
import tempfile
import weakref
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path, PurePosixPath
from typing import Any

import yaml

from pytest_nel import (
    Checked,
    ConfigError,
    DataError,
    EvalEnvironment,
    FileTree,
    Sandbox,
    SandboxError,
    SandboxSpec,
    SeedResult,
    VerifyResult,
    file_tree,
    local_files,
    needs_judge,
    register,
    run_checks,
    transcript,
    transcript_text,
)

SOURCE = "https://github.com/pinchbench/skill"
_V2 = "47efe9bf5e14ae52dd9764c5e831317442b054a5"
_WORKSPACE = "/workspace"
_KINDS = ("automated", "llm_judge", "hybrid")
_SECTION = re.compile(r"(?m)^## +(.+?)[ \t]*$")
_CODE = re.compile(r"(?ms)^```(?:python|py)[ \t]*\n(.*?)^```[ \t]*$")
_FENCED = re.compile(r"(?ms)^(```|~~~).*?^\1[ \t]*$")
_FRONT = re.compile(r"(?ms)\A---[ \t]*\n(.*?)^---[ \t]*$\n?")
_PACK = "chmod -R u+rwX . 2>/dev/null; tar -cf /output/workspace.tar . || [ $? -eq 1 ]"
"""Run in the workspace, as the next; what its owner has locked away from itself is work, too."""
_UNPACK = "find . -mindepth 1 -delete && tar -xf /input/workspace.tar --no-same-owner"


@dataclass(frozen=True, slots=True)
class Task:
    """A task as its file says it.

    Attributes:
        id: Its name.
        about: What stands before its sections.
        prompt: What the agent is told.
        kind: ``automated``, ``llm_judge`` or ``hybrid``.
        checks: Python that defines ``grade(transcript, workspace_path)``; None without.
        rubric: What a judge goes by; empty without.
        weight: Of the checks in the reward.
        files: The content of the workspace's files by their paths.
    """

    id: str
    about: Mapping[str, Any]
    prompt: str
    kind: str
    checks: str | None
    rubric: str
    weight: float
    files: Mapping[str, bytes] = field(default_factory=dict)


def tasks_of(files: FileTree, skip: Sequence[str] = ()) -> list[Task]:
    """All tasks in the order of the manifest, those that it does not name at the end.

    Raises:
        DataError: One is missing, or cannot be read or run; nothing is left out unasked.
    """
    there = [name[:-3] for name in files.names("tasks") if re.fullmatch(r"task_.+\.md", name)]
    order = list(dict.fromkeys([*_listed(files), *there]))
    unknown = sorted({*skip} - {*order})
    if unknown:
        msg = f"pinchbench: skip: {', '.join(unknown)}: no such task in {files.path}"
        raise DataError(msg)
    tasks, wrong = [], []
    for name in order:
        if name in skip:
            continue
        try:
            tasks.append(_task(name, files))
        except (DataError, UnicodeDecodeError) as error:
            wrong.append(f"tasks/{name}.md: {error}")
    if wrong:
        listed = "\n  ".join([*wrong[:10], *(["…"] if len(wrong) > 10 else [])])
        msg = (
            f"pinchbench: {files.path}: {len(wrong)} of {len(order)} tasks cannot be measured:\n  "
            f"{listed}\nThe param skip, a list of tasks, leaves them out"
        )
        raise DataError(msg)
    if not tasks:
        msg = f"pinchbench: {files.path}: there is no task in it (no tasks/task_*.md)"
        raise DataError(msg)
    return tasks


def _listed(files: FileTree) -> Iterator[str]:
    """What the manifest names: run_first, then category by category."""
    made = _yaml(files.read("tasks/manifest.yaml") or "{}", "tasks/manifest.yaml")
    groups = made.get("categories") or ()
    listed = list(groups.values()) if isinstance(groups, Mapping) else list(groups)
    for group in (made.get("run_first"), *listed, made.get("tasks")):
        names = group.get("tasks") if isinstance(group, Mapping) else group
        if not isinstance(names, list | None) or not all(isinstance(n, str) for n in names or ()):
            msg = (
                f"pinchbench: tasks/manifest.yaml: expected names of tasks, got {str(group)[:200]}"
            )
            raise DataError(msg)
        yield from (name.removesuffix(".md") for name in names or ())


def _yaml(text: bytes | str, where: str) -> Mapping[str, Any]:
    try:
        made = yaml.safe_load(text)
    except (yaml.YAMLError, UnicodeDecodeError, ValueError) as error:
        msg = f"{where}: cannot be read: {' '.join(str(error).split())[:200]}"
        raise DataError(msg) from error
    if not isinstance(made, Mapping):
        msg = f"{where}: expected a mapping, got {type(made).__name__}"
        raise DataError(msg)
    return made


def _task(name: str, files: FileTree) -> Task:
    if (data := files.read(f"tasks/{name}.md")) is None:
        msg = "is not there, and the manifest names it"
        raise DataError(msg)
    text = data.decode("utf-8-sig").replace("\r\n", "\n")
    if (front := _FRONT.match(text)) is None:
        msg = "does not begin with a block between lines of ---"
        raise DataError(msg)
    about = _yaml(front[1], "what stands between ---")
    return _made(name, about, _sections(text[front.end() :]), _files(about, files))


def _sections(text: str) -> Mapping[str, str]:
    """The text below each heading, without the line that ends it; not in blocks of code."""
    hidden = _FENCED.sub(lambda found: re.sub(r"^#", " ", found[0], flags=re.MULTILINE), text)
    marks = [*_SECTION.finditer(hidden)]
    ends = [*(mark.start() for mark in marks[1:]), len(text)]
    return {
        mark[1].strip().lower(): re.sub(r"\n-{3,}\s*\Z", "", text[mark.end() : end]).strip()
        for mark, end in zip(marks, ends, strict=True)
    }


def _made(
    name: str, about: Mapping[str, Any], sections: Mapping[str, str], files: Mapping[str, bytes]
) -> Task:
    kind, prompt = about.get("grading_type"), sections.get("prompt", "")
    checks = _checks(sections.get("automated checks", ""))
    rubric = sections.get("llm judge rubric") or sections.get("grading criteria", "")
    problems = {
        "there is no section Prompt": not prompt,
        f"grading_type: expected one of {', '.join(_KINDS)}, got {kind!r}": kind not in _KINDS,
        "several sessions, which no solver here can be given": bool(
            about.get("multi_session") or about.get("sessions")
        ),
        "no block of Python in Automated Checks": kind != "llm_judge" and checks is None,
        "neither LLM Judge Rubric nor Grading Criteria": kind != "automated" and not rubric,
        "its checks want a private key, which the data does not have": "_PINCHBENCH_"
        in (checks or ""),
    }
    for problem in (problem for problem, there in problems.items() if there):
        raise DataError(problem)
    expected = sections.get("expected behavior", "")
    rubric = f"What is expected:\n{expected}\n\nRubric:\n{rubric}" if expected else rubric
    return Task(
        name,
        about,
        prompt,
        str(kind),
        None if kind == "llm_judge" else checks,
        "" if kind == "automated" else rubric,
        _weight(str(kind), about.get("grading_weights") or {}),
        files,
    )


def _checks(section: str) -> str | None:
    found = _CODE.search(section)
    if found is None:
        return None
    try:
        compile(found[1], "checks", "exec", dont_inherit=True)  # read, and not run
    except (SyntaxError, ValueError) as error:
        msg = f"its checks are no Python: {error}"
        raise DataError(msg) from error
    return found[1]


def _weight(kind: str, weights: object) -> float:
    """The share of the checks."""
    if kind != "hybrid":
        return float(kind == "automated")
    known = weights if isinstance(weights, Mapping) else {"automated": None}
    given = [known.get(name, 0.5) for name in ("automated", "llm_judge")]
    good = [each for each in given if isinstance(each, int | float) and 0 <= each < math.inf]
    if len(good) < len(given) or not sum(good):
        msg = f"grading_weights: expected two numbers from 0, got {weights!r}"
        raise DataError(msg)
    return float(good[0] / sum(good))


def _files(about: Mapping[str, Any], files: FileTree) -> Mapping[str, bytes]:
    """What lies in the workspace at the beginning."""
    found = {}
    for entry in about.get("workspace_files") or ():
        named = entry if isinstance(entry, Mapping) else {}
        place, source = named.get("path", named.get("dest")), named.get("source")
        data = _content(files, source, named.get("content"))
        if not isinstance(place, str) or data is None:
            msg = f"workspace_files: {str(entry)[:200]}: no content, or no such file"
            raise DataError(msg)
        path = PurePosixPath(place)
        if path.is_absolute() or ".." in path.parts or not path.parts:
            msg = f"workspace_files: {place!r} does not lie in the workspace"
            raise DataError(msg)
        found[str(path)] = data
    return found


def _content(files: FileTree, source: object, content: object) -> bytes | None:
    if isinstance(content, str):
        return content.encode()
    places = [f"{folder}{source}" for folder in ("assets/", "", "tasks/")]
    found = (files.read(place) for place in places if isinstance(source, str))
    return next((data for data in found if data is not None), None)


@register("pinchbench")
class PinchBench(EvalEnvironment):
    """The tasks, each in a sandbox of its own.

    Args:
        source_url: The data: a zip of the web with ``#sha256=…``, or a zip or folder here.
        source_ref: The commit (40 hex digits) to fetch, in place of that of v2.0.0.
        skip: Tasks to leave out.
        num_examples: Take the first so many.

    Raises:
        ConfigError: source_url and source_ref are both given, or num_examples is less than 1.
        DataError: It cannot be had, or a task in it cannot be measured.
    """

    needs_sandbox = True
    judges_workspace = True

    def __init__(
        self,
        source_url: str = "",
        source_ref: str = "",
        skip: Sequence[str] = (),
        num_examples: int | None = None,
    ) -> None:
        self.source, files = _source(source_url, source_ref)
        tasks = tasks_of(files, [skip] if isinstance(skip, str) else skip)
        self._digest = f"sha256:{hashlib.sha256(repr(tasks).encode()).hexdigest()}"
        if num_examples is not None and num_examples < 1:
            msg = f"pinchbench: num_examples: expected 1 or more, got {num_examples}"
            raise ConfigError(msg)
        self._tasks = tasks[:num_examples]
        if any(task.weight < 1 for task in self._tasks):
            self.judge_preset = "rubric"
        folder = Path(tempfile.mkdtemp(prefix="nel-pinchbench-"))
        weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
        self._specs = [_sandbox(task, folder) for task in self._tasks]

    def __len__(self) -> int:
        return len(self._tasks)

    def problem_id(self, idx: int) -> str:
        """The task's own name."""
        return self._tasks[idx].id

    async def seed(self, idx: int) -> SeedResult:
        """The prompt, and a sandbox with the task's files in it."""
        task = self._tasks[idx]
        known = ("name", "category", "timeout_seconds", "prerequisites")
        about = {name: task.about[name] for name in known if name in task.about}
        return SeedResult(
            task.prompt,
            metadata={**about, "task": task.id, "grading_type": task.kind, "trajectory": None},
            sandbox_spec=self._specs[idx],
            verify_sandbox_spec=self._specs[idx],
            capture_cmd=_PACK,
            apply_cmd=_UNPACK,
        )

    async def sandbox_specs(self) -> Sequence[SandboxSpec]:
        """One for all: they differ in their files only."""
        return [SandboxSpec(workdir=_WORKSPACE)]

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        """Look at the workspace, by checks and for the judge.

        Raises:
            SandboxError: There is no sandbox, or it failed.
            ScorerError: The checks cannot be run.
        """
        del expected
        task = next(each for each in self._tasks if each.id == metadata["task"])
        if sandbox is None:
            msg = "pinchbench looks at a workspace and has no sandbox: give its entry one"
            raise SandboxError(msg, retryable=False)
        events = transcript(metadata.get("trajectory") or (), response)
        found = await run_checks(sandbox, task.checks, transcript=events, given=task.files)
        facts: dict[str, Any] = {"method": "pinchbench", "grading_type": task.kind}
        acted = any(event["message"].get("role") == "assistant" for event in events)
        if not (response.strip() or found.changed or acted):
            return VerifyResult(0.0, None, {**facts, "empty": True}, parsed=False)
        if task.checks is not None:
            facts |= {"automated": found.reward, "checks": dict(found.scores)}
            facts |= {"failed": found.failed} if found.failed else {}
        said = response.strip()[-200:] or None
        if task.weight == 1:
            return VerifyResult(found.reward, said, facts)
        beside, work = (found.reward, task.weight), _shown(events, found)
        return needs_judge(
            response=work, rubric=task.rubric, beside=beside, extracted=said, **facts
        )

    def fingerprint(self) -> Mapping[str, Any]:
        """Where the data is from, and what it is."""
        return {"benchmark": self.name, "dataset": self.source, "content_hash": self._digest}

    def judging(self) -> Mapping[str, Any]:
        """The source of the class, and the tasks for what its objects hold."""
        return {**super().judging(), "state": {"tasks": self._digest}}


def _source(url: str, ref: str) -> tuple[str, FileTree]:
    """What the data is called, and the data."""
    if url and ref:
        msg = "pinchbench: source_url and source_ref are both given: drop one"
        raise ConfigError(msg)
    if ref and not re.fullmatch(r"[0-9a-f]{40}", ref):
        msg = f"pinchbench: source_ref: expected a commit, 40 hex digits, got {ref!r}"
        raise ConfigError(msg)
    if not url and not ref and (local := local_files(SOURCE)) is not None:
        return SOURCE, local
    source = url or f"git+{SOURCE}@{ref or _V2}"
    return source, file_tree(source)


def _sandbox(task: Task, folder: Path) -> SandboxSpec:
    """The workspace as it is at the beginning."""
    files = {}
    for name, data in task.files.items():
        path = folder / task.id / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data)
        files[str(path)] = f"{_WORKSPACE}/{name}"
    return SandboxSpec(workdir=_WORKSPACE, files=files)


def _shown(events: Sequence[Mapping[str, Any]], found: Checked) -> str:
    """What a judge sees: what was done, and the texts that are in the workspace now."""
    texts = "\n\n".join(f"File {name}:\n{text}" for name, text in found.texts) or "none"
    return f"What was done:\n{transcript_text(events)}\n\nText files afterwards:\n{texts}"
