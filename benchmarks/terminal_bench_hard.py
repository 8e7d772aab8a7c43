"""Terminal-Bench Hard: 47 of the harder tasks of Terminal-Bench 1.

The tasks are those of Terminal-Bench (Apache-2.0, https://www.tbench.ai) that NVIDIA's NeMo
Evaluator takes under this name, at the commit of :mod:`terminal_bench_v1`, whose ``source_ref``,
``source_dir`` and ``task_names`` name others; so does ``params: {dataset: FOLDER-OR-NAME}``, a
dataset of Harbor tasks. Artificial Analysis (https://artificialanalysis.ai/methodology) publishes
scores of a set with this name. A run of another number of tasks says so. Judged as Terminal-Bench 1
is.
"""

from typing import Any

from pytest_nel import ConfigError, HarborEnvironment, terminal_bench

_TASKS = [
    "aimo-airline-departures",
    "blind-maze-explorer-5x5",
    "cartpole-rl-training",
    "causal-inference-r",
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
    "install-windows-3.11",
    "install-windows-xp",
    "lean4-proof",
    "make-doom-for-mips",
    "make-mips-interpreter",
    "mcmc-sampling-stan",
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
    "swe-bench-astropy-1",
    "swe-bench-astropy-2",
    "train-fasttext",
    "word2vec-from-scratch",
    "write-compressor",
]
_OF_THE_SOURCE = ("source_dir", "source_ref", "source_url")


class TerminalBenchHard(HarborEnvironment):
    """The 47 tasks, or those that a dataset or a list names."""

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
        tasks = params.pop("dataset", None)
        if tasks is None:
            names = params.get("task_names") or _TASKS
            tasks = terminal_bench(self.name, task_names=names, **source)
        super().__init__(
            tasks,
            {"stateful": True, "keep_processes": True, "num_examples": num_examples, **params},
        )
