"""Terminal-Bench Hard: 47 of the harder tasks of Terminal-Bench 1.

As Artificial Analysis measures it (https://artificialanalysis.ai/methodology); the tasks are those
of Terminal-Bench (Apache-2.0, https://www.tbench.ai). Which 47 they are is not written here, for
want of a list that we could vouch for: name them, either by a dataset of Harbor tasks
(``params: {dataset: FOLDER-OR-NAME}``, by default ``terminal-bench-hard`` of
``HARBOR_DATASETS_DIR`` or of a registry), or by ``params: {task_names: [...]}`` together with
``source_ref`` or ``source_dir`` of :mod:`terminal_bench_v1`. A run of another number of tasks says
so. Judged as Terminal-Bench 1 is.
"""

from typing import Any

from pytest_nel import ConfigError, HarborEnvironment, terminal_bench

_OF_THE_SOURCE = ("source_dir", "source_ref", "source_url")


class TerminalBenchHard(HarborEnvironment):
    """The tasks that a dataset or a list names."""

    name = "terminal-bench-hard"
    size = 47

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
        names = params.get("task_names")
        if source and not names:
            msg = (
                f"{self.name}: which tasks of Terminal-Bench are meant is not known here: add "
                "params: {task_names: [...]}, or name a dataset that holds them"
            )
            raise ConfigError(msg)
        tasks = terminal_bench(self.name, task_names=names, **source) if source else dataset
        super().__init__(
            tasks,
            {"stateful": True, "keep_processes": True, "num_examples": num_examples, **params},
        )
