"""Tasks of the Harbor format: an agent works in a container, and the task's own tests judge it."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Annotated, Any

from pydantic import Field, ValidationError

from pytest_nel.config.interpolate import getenv
from pytest_nel.config.schema import Model
from pytest_nel.core.errors import ConfigError, DataError
from pytest_nel.core.keys import digest
from pytest_nel.core.protocols import EvalEnvironment
from pytest_nel.core.registry import unknown
from pytest_nel.core.sandbox import ImageFacts, NoSandbox, Sandbox, SandboxSpec
from pytest_nel.core.types import SeedResult, VerifyResult
from pytest_nel.datasets.harbor import Dataset, find_dataset
from pytest_nel.datasets.harbor_task import TASK, Task, digest_of, read_task
from pytest_nel.environments._harbor_commands import Capture, apply_command, capture_command
from pytest_nel.environments._harbor_sandbox import (
    agent_user,
    leave_solution,
    made_of,
    refuse_unsure,
    spec_of,
)
from pytest_nel.environments._harbor_variables import digest_of_told, filled, told
from pytest_nel.environments._harbor_verify import Verifying, judged

_SCHEME = "harbor://"
_HINTS = re.compile(r"\n#+[ \t]*Hints?\b.*\Z", re.DOTALL | re.IGNORECASE)
_ALL_FILES = "/"


class HarborOptions(Model):
    """``params`` of a benchmark of Harbor tasks.

    Attributes:
        task_names: Only these tasks; null: all of the dataset.
        num_examples: Only the first so many.
        stateful: Whether answers are judged in the container where they were made. Needed where
            a task is about more than its working folder.
        keep_processes: Whether the tests need what the agent has left running, such as a server:
            true for all tasks, or the names of those. It takes ``stateful``.
        capture: What is brought from the agent's container into a fresh one: ``tree``, the
            working folder; ``patch``, what git says has changed; ``auto``, the patch only where
            the history is large.
        keep_swebench_multilingual_hints: Whether the section of hints at the end of an
            instruction is shown.
    """

    task_names: list[str] | None = None
    num_examples: Annotated[int, Field(ge=1)] | None = None
    stateful: bool = False
    keep_processes: bool | list[str] = False
    capture: Capture = "auto"
    keep_swebench_multilingual_hints: bool = True


class HarborEnvironment(EvalEnvironment):
    """The tasks of a dataset; for a benchmark of yours, subclass it.

    Args:
        dataset: Its folder or name, as behind ``harbor://``, or where its tasks lie.
        params: As :class:`HarborOptions` has them.
        base: The folder that relative paths are relative to; None: the current one.

    Attributes:
        size: How many tasks the published set has, where there is one.
        named: The tasks that ``task_names`` chooses, also those after ``num_examples``.

    Raises:
        ConfigError: A param is wrong, or the dataset cannot be had.
    """

    needs_sandbox = True
    checks_results = True
    judges_workspace = True
    images_by_problem = True
    size: int | None = None

    def __init__(
        self,
        dataset: str | Dataset,
        params: Mapping[str, Any] | None = None,
        *,
        base: Path | None = None,
    ) -> None:
        self._options = _options(params or {}, self.name or str(dataset))
        names = self._options.task_names
        if isinstance(dataset, str):
            wanted = None if names is None else frozenset(names)
            dataset = find_dataset(dataset, base=base or Path(), env=getenv, names=wanted)
        self.name = self.name or dataset.name
        self._origin = dataset.origin
        self._passed_over = dataset.passed_over
        self._refused: dict[str, str] = {}
        self._digests: dict[str, str] = {}
        self._tasks: dict[str, Task] = {}
        self.named = self._chosen(dataset)
        self._names = self.named[: self._options.num_examples]
        self._read(dataset)
        self._asked = [*self._tasks]
        self._refuse_unmeant()

    @staticmethod
    def variable(name: str) -> str | None:
        """A variable of this process's environment; None: it is not set."""
        return getenv(name)

    @property
    def another_size(self) -> str | None:
        """That these are not the tasks of which scores are published; None where they may be."""
        if self.size is None or len(self) == self.size or self._options.num_examples is not None:
            return None
        return (
            f"{self.name}: {len(self):,} tasks were loaded, and the published set has "
            f"{self.size:,}: its scores compare with no published ones"
        )

    @classmethod
    def from_name(
        cls, name: str, *, base: Path, limit: int | None, params: Mapping[str, Any]
    ) -> EvalEnvironment:
        """Make it of ``harbor://path-or-name[@version]``.

        Raises:
            ConfigError: As the class.
        """
        given = dict(params)
        if limit is not None:
            given["num_examples"] = min(limit, given.get("num_examples") or limit)
        return cls(name.removeprefix(_SCHEME), given, base=base)

    def __len__(self) -> int:
        return len(self._names)

    def problems_chosen(self, problems: Sequence[int]) -> None:
        """Told which tasks the run has: it asks for no more than those need.

        Raises:
            DataError: One of them cannot be run; the message has all of these.
            ConfigError: Processes are to be kept for one that is judged in a fresh container.
        """
        names = [self._names[idx] for idx in problems]
        wrong = [self._refused[name] for name in names if name in self._refused]
        if wrong:
            lines = "\n".join(wrong)
            msg = (
                f"{self.name}: {len(wrong)} of {len(names)} tasks cannot be run; choose others "
                f"with params: task_names\n{lines}"
            )
            raise DataError(msg)
        self._asked = names
        self._refuse_kept()

    def images_known(self, found: Sequence[tuple[SandboxSpec, ImageFacts]]) -> None:
        """Take working folders and users from the images themselves."""
        images = {(spec.image, spec.environment_dir): facts for spec, facts in found}
        for name in self._asked:
            task = self._tasks[name]
            facts = images.get(made_of(task))
            if facts is not None:
                self._tasks[name] = replace(task, image=facts)

    async def prepare(self) -> None:
        """See that the variables are there that tests ask for.

        Raises:
            ConfigError: One is not.
        """
        for task in self._run():
            filled(task)

    async def seed(self, idx: int) -> SeedResult:
        """A task: its instruction, and the container in which it is done.

        Raises:
            IndexError: There is no such task.
            DataError: It cannot be run.
        """
        if not 0 <= idx < len(self):
            msg = f"idx={idx} out of range [0, {len(self)})"
            raise IndexError(msg)
        task = self._task(self._names[idx])
        refuse_unsure(task)
        spec = spec_of(task)
        fresh = not self._stateful(task)
        told_tests = digest_of_told(task)
        return SeedResult(
            prompt=self._instruction(task),
            metadata={
                **task.settings.metadata,
                "source": "harbor",
                "task_name": task.name,
                "task_digest": task.digest,
                **({} if told_tests is None else {"verifier_env": told_tests}),
                "agent_timeout_sec": task.settings.agent_timeout,
                "problem_idx": idx,
            },
            sandbox_spec=spec,
            verify_sandbox_spec=spec if fresh else None,
            capture_cmd=capture_command(task.workdir, self._options.capture) if fresh else None,
            apply_cmd=apply_command(task.workdir) if fresh else None,
        )

    async def verify(
        self, response: str, expected: str, sandbox: Sandbox | None = None, **metadata: Any
    ) -> VerifyResult:
        """Run the task's tests; what the agent has said does not count.

        Raises:
            NotJudged: They say nothing that can be trusted.
            SandboxError: The sandbox failed.
        """
        del response, expected
        task = self._task(metadata["task_name"])
        how = Verifying(task, agent_user(task), filled(task), told(task), self._keeps(task))
        return await judged(how, sandbox or NoSandbox())

    async def leave_solution(
        self, sandbox: Sandbox, metadata: Mapping[str, Any], limit: float
    ) -> bool:
        """Run the task's own solution."""
        return await leave_solution(self._task(metadata["task_name"]), sandbox, limit)

    def problem_id(self, idx: int) -> str:
        """The task's name."""
        return self._names[idx]

    async def sandbox_specs(self) -> Sequence[SandboxSpec]:
        """Those of the tasks that the run has."""
        return [spec_of(task) for task in self._run()]

    def lacks_solution(self) -> list[str]:
        """The tasks that bring no gold solution."""
        return [task.name for task in self._run() if task.solution is None]

    def without_network(self) -> list[str]:
        """The tasks that say that there is to be no network."""
        return [task.name for task in self._run() if not task.settings.internet]

    def sandbox_warnings(self, memory: int | None, cpus: float | None) -> Iterator[str]:
        """Say which tasks ask for more than a sandbox has, and what may be meant as a task.

        Args:
            memory: Bytes; None: it has no such limit.
            cpus: Processors, as above.
        """
        for folder in self._passed_over:
            yield f"{self.name}: {folder} is not in the run: it has no {TASK}, and is no task"
        tasks = self._run()
        for what, has, wants in (
            ("cpus", cpus, {task.name: task.settings.cpus for task in tasks}),
            ("memory (bytes)", memory, {task.name: task.settings.memory for task in tasks}),
        ):
            more = {name: each for name, each in wants.items() if has and each and each > has}
            if more:
                most = max(more, key=lambda name: more[name])
                yield (
                    f"{self.name}: {len(more)} of its tasks ask for more {what} than the sandbox "
                    f"has ({has:g}), {most} for {more[most]:g}: the sandbox's limit holds"
                )

    def judging(self) -> Mapping[str, Any]:
        """What judges beside the task, of which metadata has digests: its files, its variables."""
        return {
            "class": "harbor",
            "pytest-nel": version("pytest-nel"),
            "keep_processes": self._options.keep_processes,
            "stateful": self._options.stateful,
            "capture": self._options.capture,
            "pass_at": self.pass_at,
        }

    def fingerprint(self) -> Mapping[str, Any]:
        """The tasks by what is in them."""
        return {
            "benchmark": self.name,
            "dataset": f"{_SCHEME}{self.name}",
            "origin": self._origin,
            "content_hash": digest(self._digests),
            "prompts": digest([self._instruction(task) for task in self._tasks.values()]),
        }

    def _chosen(self, dataset: Dataset) -> list[str]:
        names = self._options.task_names
        folders = dataset.tasks()
        for name in names or ():
            if name not in folders:
                error = unknown(f"task of {self.name}", name, sorted(folders))
                raise error
        return list(folders) if names is None else list(dict.fromkeys(names))

    def _read(self, dataset: Dataset) -> None:
        """Read the tasks; why one cannot be run is said where it is to be run."""
        folders, self._refused = dataset.tasks(), dict(dataset.refused)
        for name in self._names:
            if name not in self._refused:
                try:
                    self._tasks[name] = read_task(folders[name], name)
                except DataError as error:
                    self._refused[name] = str(error)
            task = self._tasks.get(name)
            self._digests[name] = digest_of(folders[name]) if task is None else task.digest

    def _refuse_unmeant(self) -> None:
        kept = self._options.keep_processes
        for name in kept if isinstance(kept, list) else ():
            if name not in self._names:
                error = unknown(f"task of {self.name} (keep_processes)", name, self._names)
                raise error

    def _refuse_kept(self) -> None:
        fresh = [
            each.name for each in self._run() if self._keeps(each) and not self._stateful(each)
        ]
        if fresh:
            msg = (
                f"{self.name}: keep_processes is for {', '.join(fresh[:5])}, whose answers are "
                "judged in a fresh container, in which nothing of the agent's runs: add stateful: "
                "true"
            )
            raise ConfigError(msg)

    def _run(self) -> list[Task]:
        """The tasks that the run has."""
        return [self._tasks[name] for name in self._asked]

    def _task(self, name: str) -> Task:
        if name in self._refused:
            raise DataError(self._refused[name])
        return self._tasks[name]

    def _stateful(self, task: Task) -> bool:
        said = task.settings.metadata.get("stateful") is True
        return self._options.stateful or said or task.workdir == _ALL_FILES

    def _keeps(self, task: Task) -> bool:
        kept = self._options.keep_processes
        said = task.settings.metadata.get("keep_processes") is True
        return said or (task.name in kept if isinstance(kept, list) else kept)

    def _instruction(self, task: Task) -> str:
        if self._options.keep_swebench_multilingual_hints:
            return task.instruction
        return _HINTS.sub("\n", task.instruction)


def _options(params: Mapping[str, Any], where: str) -> HarborOptions:
    try:
        return HarborOptions(**params)
    except ValidationError as error:
        lines = []
        for problem in error.errors(include_input=False, include_url=False):
            name = str(problem["loc"][0])
            if problem["type"] == "extra_forbidden":
                known = list(HarborOptions.model_fields)
                lines.append(str(unknown(f"param of benchmark {where}", name, known)))
            else:
                lines.append(f"benchmark {where}: params.{name}: {problem['msg']}")
        raise ConfigError("\n".join(dict.fromkeys(lines))) from None
