"""Terminal-Bench 1: tasks at a terminal, from compiling kernels to servers, judged by tests.

The Terminal-Bench Team, *Terminal-Bench: A Benchmark for AI Agents in Terminal Environments*,
2025, https://www.tbench.ai (Apache-2.0). Some 240 tasks, ``original-tasks`` of its git repository
at a pinned commit; ``params: {source_ref: COMMIT}`` says another, ``params: {source_dir: FOLDER}``
or ``TERMINAL_BENCH_DIR`` name a checkout. Scores of ``terminal-bench-core==0.1.1`` are of 80 tasks
at commit 91e10457b5410f16c44364da1a34cb6de8c488a5: name these by ``task_names`` to compare.

Each task is mapped to the Harbor format: one container, the agent in it, then the task's own
tests, of which all must pass, as pytest itself says in its last line; an attempt whose tests come
to no such line is unscored. Tasks of several containers, those whose docker-compose.yaml asks for
what has no place here, and those whose tests are no pytest are refused by name where they are to
be run: the whole set has some, and published scores count them. The agent's
container is the one that is judged (``stateful``), as there; what it has left running goes on,
since some tasks are about servers. Its tests install packages, so the sandbox needs a network.
"""

from typing import Any

from pytest_nel import HarborEnvironment, terminal_bench

_OF_THE_SOURCE = ("source_dir", "source_ref", "source_url")


class TerminalBenchV1(HarborEnvironment):
    """All tasks of a checkout, or those of ``task_names``."""

    name = "terminal-bench-v1"

    def __init__(
        self,
        num_examples: int | None = None,
        **params: Any,  # Any: a suite's values, checked below
    ) -> None:
        source = {key: params.pop(key) for key in _OF_THE_SOURCE if key in params}
        names = params.get("task_names")
        tasks = terminal_bench(self.name, task_names=names, **source)
        super().__init__(
            tasks,
            {"stateful": True, "keep_processes": True, "num_examples": num_examples, **params},
        )
