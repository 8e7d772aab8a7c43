"""Terminal-Bench Hard as Artificial Analysis splits it: 44 tasks, four of them known as unsolvable.

See https://artificialanalysis.ai/methodology. The tasks are those of Terminal-Bench (Apache-2.0,
https://www.tbench.ai) that NVIDIA's NeMo Evaluator takes under this name, at the commit of
:mod:`terminal_bench_v1`, whose ``source_ref``, ``source_dir`` and ``task_names`` name others; so
does ``params: {dataset: FOLDER-OR-NAME}``, a dataset of Harbor tasks. ``params: {unsolvable:
[...]}`` names others than the four as unsolvable, each one of those tasks. The breakdown by
category is ``solvable`` and ``unsolvable``; published scores are of all 44. Judged as
Terminal-Bench 1 is.
"""

from dataclasses import replace
from typing import Any

from pytest_nel import ConfigError, HarborEnvironment, SeedResult, terminal_bench

_TASKS = [
    "aimo-airline-departures",
    "blind-maze-explorer-5x5",
    "cartpole-rl-training",
    "chem-property-targeting",
    "chem-rf",
    "circuit-fibsqrt",
    "cobol-modernization",
    "configure-git-webserver",
    "cross-entropy-method",
    "extract-moves-from-video",
    "feal-differential-cryptanalysis",
    "feal-linear-cryptanalysis",
    "form-filling",
    "git-multibranch",
    "gpt2-codegolf",
    "install-windows-xp",
    "make-doom-for-mips",
    "make-mips-interpreter",
    "model-extraction-relu-logits",
    "movie-helper",
    "neuron-to-jaxley-conversion",
    "oom",
    "organization-json-generator",
    "parallel-particle-simulator",
    "parallelize-graph",
    "password-recovery",
    "path-tracing",
    "path-tracing-reverse",
    "play-zork",
    "play-zork-easy",
    "polyglot-rust-c",
    "prove-plus-comm",
    "pytorch-model-cli",
    "rare-mineral-allocation",
    "recover-obfuscated-files",
    "reverse-engineering",
    "run-pdp11-code",
    "stable-parallel-kmeans",
    "super-benchmark-upet",
    "swe-bench-astropy-1",
    "swe-bench-astropy-2",
    "train-fasttext",
    "word2vec-from-scratch",
    "write-compressor",
]
_UNSOLVABLE = [
    "feal-differential-cryptanalysis",
    "install-windows-xp",
    "make-doom-for-mips",
    "run-pdp11-code",
]
_OF_THE_SOURCE = ("source_dir", "source_ref", "source_url")


class TerminalBenchHardAaSplit(HarborEnvironment):
    """The 44 tasks, or those that a dataset or a list names, in two categories."""

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
        tasks = params.pop("dataset", None)
        named = "unsolvable" in params
        self.unsolvable = params.pop("unsolvable", _UNSOLVABLE)
        if not isinstance(self.unsolvable, list):
            msg = f"{self.name}: params.unsolvable: expected a list of tasks' names"
            raise ConfigError(msg)
        if tasks is None:
            names = params.get("task_names") or _TASKS
            tasks = terminal_bench(self.name, task_names=names, **source)
        super().__init__(
            tasks,
            {"stateful": True, "keep_processes": True, "num_examples": num_examples, **params},
        )
        wrong = sorted(set(map(str, self.unsolvable)) - {*self.named})
        if named and wrong:
            msg = f"{self.name}: params.unsolvable names no tasks of it: {', '.join(wrong)}"
            raise ConfigError(msg)

    async def seed(self, idx: int) -> SeedResult:
        """The task; its category says whether anybody can solve it."""
        made = await super().seed(idx)
        category = "unsolvable" if self.problem_id(idx) in self.unsolvable else "solvable"
        return replace(made, metadata={**made.metadata, "category": category})
