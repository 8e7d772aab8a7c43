"""HumanEval: the function that a response writes, as its tests find it."""

import pytest

from benchmarks.humaneval import humaneval
from tests.benchmarks.judging import Row, problem
from tests.support.code import Processes

ROW: Row = {
    "task_id": "Own/0",
    "prompt": (
        "from typing import List\n\n\n"
        "def running_max(numbers: List[int]) -> List[int]:\n"
        '    """The largest number so far, at each place.\n'
        "    >>> running_max([1, 3, 2])\n"
        "    [1, 3, 3]\n"
        '    """\n'
    ),
    "canonical_solution": (
        "    found = []\n    for number in numbers:\n"
        "        found.append(max([number, *found[-1:]]))\n    return found\n"
    ),
    "test": (
        "def check(candidate):\n    assert candidate([]) == []\n"
        "    assert candidate([1, 3, 2]) == [1, 3, 3]\n    assert candidate([-2, -5]) == [-2, -2]\n"
    ),
    "entry_point": "running_max",
}
BODY = ROW["canonical_solution"]
RIGHT = ROW["prompt"] + BODY
SHORT = (
    "def running_max(numbers):\n    return [max(numbers[: i + 1]) for i in range(len(numbers))]\n"
)
FIRST = "def running_max(numbers):\n    return numbers\n"


def fenced(code: str) -> str:
    return f"```python\n{code}```"


IMPORTS = """from itertools import accumulate


def running_max(numbers):
    return list(accumulate(numbers, max))
"""
POSITIVE = """def running_max(numbers):
    best, found = 0, []
    for number in numbers:
        best = max(best, number)
        found.append(best)
    return found
"""
RESPONSES = [
    ("the whole function", fenced(RIGHT), 1),
    ("with words around", f"Here it is:\n\n{fenced(RIGHT)}\n\nIt keeps the best.", 1),
    ("a fence that names no language", f"```\n{RIGHT}```", 1),
    ("a fence that says py", f"```py\n{RIGHT}```", 1),
    ("without a fence", RIGHT, 1),
    ("without the import that the stub has", fenced(RIGHT.split("\n", 3)[3]), 1),
    ("written anew, without hints", fenced(SHORT), 1),
    ("only its body, as the paper asks", fenced(BODY), 1),
    ("a helper beside it", fenced(f"def top(x):\n    return max(x)\n\n\n{RIGHT}"), 1),
    ("an import of its own", fenced(IMPORTS), 1),
    ("a lambda", fenced("running_max = lambda n: [max(n[: i + 1]) for i in range(len(n))]\n"), 1),
    ("a first try, then a better one", f"{fenced(FIRST)}\nNo:\n{fenced(SHORT)}", 1),
    ("an example of its use", f"{fenced(SHORT)}\n{fenced('print(running_max([1]))')}", 1),
    ("a shell command before it", f"```bash\npip install numpy\n```\n{fenced(SHORT)}", 1),
    ("it prints", fenced(f"{SHORT}\nprint('done')\n"), 1),
    ("thinking before it", f"<think>max of a slice</think>\n{fenced(SHORT)}", 1),
    ("an unclosed fence", f"```python\n{SHORT}", 1),
    ("Windows line ends", fenced(SHORT).replace("\n", "\r\n"), 1),
    ("wrong for negative numbers", fenced(POSITIVE), 0),
    ("it gives back what it got", fenced(FIRST), 0),
    ("a better first try, then a worse one", f"{fenced(SHORT)}\n{fenced(FIRST)}", 0),
    ("it does not compile", fenced("def running_max(numbers)\n    return numbers\n"), 0),
    ("it raises", fenced("def running_max(numbers):\n    raise NotImplementedError\n"), 0),
    ("it gives nothing back", fenced("def running_max(numbers):\n    numbers.sort()\n"), 0),
    ("a tuple is no list", fenced(SHORT.replace("return", "return *(),")), 0),
    ("it ends the process well", fenced(f"import os\nos._exit(0)\n{SHORT}"), 0),
]
NO_FUNCTION = ["", " \n", "I cannot help with that.", fenced("def running(numbers): pass\n")]


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("response", "reward"), [each[1:] for each in RESPONSES], ids=[each[0] for each in RESPONSES]
)
async def test_a_response_is_worth_what_its_function_does(response: str, reward: int) -> None:
    asked = problem(humaneval, ROW)

    result = await asked.environment.verify(
        response, asked.seed.expected_answer, Processes(), **asked.seed.metadata
    )

    assert (result.reward, result.parsed) == (reward, True)


@pytest.mark.asyncio
@pytest.mark.parametrize("response", NO_FUNCTION)
async def test_without_the_function_there_is_nothing_to_run(response: str) -> None:
    asked = problem(humaneval, ROW)

    result = await asked.environment.verify(
        response, asked.seed.expected_answer, Processes(), **asked.seed.metadata
    )

    assert (result.reward, result.parsed) == (0, False)


def test_the_solver_sees_the_stub_and_neither_tests_nor_solution() -> None:
    prompt = problem(humaneval, ROW).seed.prompt

    assert ROW["prompt"] in prompt
    assert "check(" not in prompt
    assert "found.append" not in prompt
