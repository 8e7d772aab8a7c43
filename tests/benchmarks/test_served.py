"""Every built-in benchmark is judged the same directly and through a server, whatever is answered.

A benchmark is found by its name in the catalog, its rows among those that the tests of benchmarks
have written down.
"""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from benchmarks.pinchbench import PinchBench
from pytest_nel.authoring.benchmark import Benchmark
from pytest_nel.authoring.catalog import builtin_names, find
from pytest_nel.core.errors import InfraError
from pytest_nel.core.types import JsonObject
from pytest_nel.environments.builtin import BenchmarkEnvironment
from pytest_nel.scoring.judging.request import NEEDS_JUDGE
from tests.benchmarks import test_healthbench, test_math500, test_mgsm
from tests.benchmarks.pinch_tasks import task, tree
from tests.support.endpoint import RunningEndpoint
from tests.support.gym import exported, hosted, records, rows_for
from tests.unit.engine.judging import metric

LOCAL = {"type": "local", "concurrency": 2}
CODE = [
    {
        "task_id": "own/0",
        "prompt": 'import math\n\n\ndef f(x):\n    """The square root of x."""\n',
        "entry_point": "f",
        "canonical_solution": "    return math.sqrt(x)\n",
        "test": "def check(candidate):\n    assert candidate(2.25) == 1.5\n",
    },
]
ROWS: dict[str, list[JsonObject]] = {
    "humaneval": CODE,
    "math500": [test_math500.row("\\frac{1}{2}"), test_math500.row("x^2+1")],
    "mgsm": [test_mgsm.row("de", 60), test_mgsm.row("te", 2125)],
}
"""Of benchmarks whose tests make their rows, or that are to have no others."""

FORMS = (
    "{}",
    "Answer: {}",
    "The answer is {}.",
    "So it is \\boxed{{}}",
    "<think>It may be 3.</think>\n  Answer: {}\n",
    "Answer: 98765",
    "Answer: A",
    "Answer: B",
    "The answer is Z.",
    "I'm sorry, but I can't help with that.",
    "",
    " \n",
    "<think>It may be {}",
    "Answer:",
    '{"answer": "{}"',
    "\ud800 \x00 Answer: {} or 12",
    "word " * 400 + "{}",
)
OF_CODE = (
    "```python\ndef f(x):\n{}```",
    "<think>A root?</think>Here it is:\n```py\nimport math\n\ndef f(x):\n{}```\nDone.",
    "```python\ndef f(x):\n    return None\n```",
    "```python\ndef f(x:\n{}```",
    "```python\ndef f(x):\n    raise ValueError(x)\n```",
    "```python\nimport os\n\nos._exit(0)\n\ndef f(x):\n{}```",
    "```python\ndef g(x):\n{}```",
    "{}",
    "I'm sorry, but I can't help with that.",
    "",
)
OF_GRADES = (
    "{} reply=c1",
    "reply=i1",
    "reply=n1",
    "reply=g3",
    "<think>reply=i1</think>reply=c4",
    "",
)
OF_CRITERIA = (*(answer for answer, _ in test_healthbench.ANSWERS), "reply=broken", " \n")


class Case(NamedTuple):
    """What is measured: by which answers, and with which fields of a suite's entry."""

    environment: BenchmarkEnvironment
    forms: Sequence[str] = FORMS
    settings: JsonObject = {}  # noqa: RUF012 - nobody changes it


def measurable(name: str, judge: str) -> Case:
    found = find(name, base=Path())
    if not isinstance(found, Benchmark):
        pytest.skip(f"{name} is judged by what is left in a workspace: see the test below")
    rows = rows_for(found, ROWS.get(name, ()))
    assert rows, f"{name}: no test of benchmarks has a row of it"
    environment = BenchmarkEnvironment(replace(found, dataset=rows))
    if environment.needs_sandbox:
        return Case(environment, OF_CODE, {"sandbox": LOCAL})
    if found.judge is None:
        return Case(environment)
    spec = {"type": "api", "url": f"{judge}/chat/completions", "model": "g", "max_retries": 0}
    settings = {
        "services": {"grader": {**spec, "protocol": "chat_completions"}},
        "scoring": {"metrics": [metric(service="grader", max_retries=0)]},
    }
    return Case(environment, OF_CRITERIA if name == "healthbench" else OF_GRADES, settings)


@pytest.mark.parametrize("name", builtin_names())
@pytest.mark.asyncio
async def test_a_server_gives_the_scores_of_a_direct_run(
    name: str, tmp_path: Path, recorded: RunningEndpoint
) -> None:
    environment, forms, settings = measurable(name, recorded.url)

    direct = await records(environment, forms, tmp_path / "direct", **settings)
    with hosted(environment, **settings) as server:
        rows = exported(server.served, tmp_path)
        evaluator = await records(server.asked(), forms, tmp_path / "evaluator")
        asked = server.asked(protocol="native", data=str(rows))
        gym = await records(asked, forms, tmp_path / "native")

    for one, *others in zip(direct, evaluator, gym, strict=True):
        assert [judged(other) for other in others] == [judged(one)] * 2
    outcomes = {one["outcome"] for one in direct}
    assert {"correct", "wrong"} <= outcomes, "the script is to have right and wrong answers"
    assert ("unscored" in outcomes) == ("scoring" in settings), "only of judges without a verdict"


def judged(record: JsonObject) -> Any:  # Any: JSON
    """What must be equal: of a failure, that it is one; its text says who has seen it."""
    if record["outcome"] == "unscored":
        return {**record, "details": None, "error": None}
    details = {key: value for key, value in record["details"].items() if key != NEEDS_JUDGE}
    return {**record, "details": timeless(details)}


def timeless(value: Any) -> Any:  # Any: JSON
    if isinstance(value, list):
        return [timeless(each) for each in value]
    if not isinstance(value, dict):
        return value
    return {key: timeless(inner) for key, inner in value.items() if key != "latency_ms"}


def test_a_benchmark_that_looks_at_a_workspace_is_not_served(tmp_path: Path) -> None:
    environment = PinchBench(str(tree(tmp_path, note=task())))

    with pytest.raises(InfraError) as caught, hosted(environment, sandbox=LOCAL):
        pass

    assert "which no request can bring" in str(caught.value)
