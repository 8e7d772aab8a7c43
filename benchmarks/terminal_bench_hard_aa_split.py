"""Terminal-Bench Hard as Artificial Analysis splits it: 44 tasks, four of them known as unsolvable.

See https://artificialanalysis.ai/methodology; the tasks are those of Terminal-Bench (Apache-2.0,
https://www.tbench.ai). Neither the 44 nor the four are written here, for want of a list that we
could vouch for: the tasks are named by a dataset of Harbor tasks (``params: {dataset: …}``, by
default ``terminal-bench-hard-aa-split`` of ``HARBOR_DATASETS_DIR`` or of a registry), or by
``task_names`` with ``source_ref`` or ``source_dir`` of :mod:`terminal_bench_v1`; the unsolvable
ones by ``params: {unsolvable: [...]}``, each one of those tasks. The breakdown by category is
``solvable`` and ``unsolvable``; published scores are of all 44. Judged as Terminal-Bench 1 is.
"""

from dataclasses import replace
from typing import Any

from pytest_nel import ConfigError, HarborEnvironment, SeedResult, terminal_bench

_OF_THE_SOURCE = ("source_dir", "source_ref", "source_url")


class TerminalBenchHardAaSplit(HarborEnvironment):
    """The tasks that a dataset or a list names, in two categories."""

    name = "terminal-bench-hard-aa-split"
    size = 44

    def __init__(
        self,
        num_examples: int | None = None,
        **params: Any,  # Any: a suite's values, checked below
    ) -> None:
        source = {key: params.pop(key) for key in _OF_THE_SOURCE if key in params}
        if source and "dataset" in params:
            msg = (
                f"{self.name}: params: dataset and {next(iter(source))} both say where the tasks "
                "are: leave one of them out"
            )
            raise ConfigError(msg)
        dataset = params.pop("dataset", self.name)
        self.unsolvable = params.pop("unsolvable", None)
        names = params.get("task_names")
        if not isinstance(self.unsolvable, list) or (source and not names):
            msg = (
                f"{self.name}: which tasks are meant and which of them are unsolvable is not known "
                "here: add params: {unsolvable: [...]}, and task_names: [...] or a dataset that "
                "holds all"
            )
            raise ConfigError(msg)
        tasks = terminal_bench(self.name, task_names=names, **source) if source else dataset
        super().__init__(
            tasks,
            {"stateful": True, "keep_processes": True, "num_examples": num_examples, **params},
        )
        wrong = sorted(set(map(str, self.unsolvable)) - {*self.named})
        if wrong:
            msg = f"{self.name}: params.unsolvable names no tasks of it: {', '.join(wrong)}"
            raise ConfigError(msg)

    async def seed(self, idx: int) -> SeedResult:
        """The task; its category says whether anybody can solve it."""
        made = await super().seed(idx)
        category = "unsolvable" if self.problem_id(idx) in self.unsolvable else "solvable"
        return replace(made, metadata={**made.metadata, "category": category})
