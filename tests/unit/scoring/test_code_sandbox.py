"""Tests and candidate as two real processes; what a sandbox adds is tested with the sandboxes."""

import asyncio
from typing import Any

import pytest

from pytest_nel import (
    ConfigError,
    ExecResult,
    SandboxError,
    ScorerError,
    ScorerInput,
)
from pytest_nel.scoring.code import code_sandbox
from tests.support.code import GOOD, ROW, Processes, judged


class Late(Processes):
    """One of the two processes starts late, as where a daemon is slow."""

    def __init__(self, part: str, seconds: float) -> None:
        super().__init__()
        self.part, self.seconds = part, seconds

    async def exec(self, *given: Any, user: str | None = None, **more: Any) -> ExecResult:
        if self.part in str(user):
            await asyncio.sleep(self.seconds)
        return await super().exec(*given, user=user, **more)


@pytest.mark.asyncio
async def test_code_that_passes_is_correct() -> None:
    result = await judged(GOOD)

    assert result.reward == 1.0
    assert result.scoring_details == {"method": "code_sandbox", "rule": "fence", "correct": True}


@pytest.mark.parametrize(
    "code",
    [
        "def solve(a, b=0):\n    return None",
        "def solve(a, b=0):\n    return [6, {'x': [1.5]}]",
        "def solve(a, b=0):\n    raise ValueError('no')",
        "def solve(a):\n    return 6",
        "solve = 3",
        "def solve(a, b=0):\n    import os; os._exit(0)",
        "import os, signal\nos.kill(os.getpid(), 9)\ndef solve(a, b=0): pass",
        "import sys\nsys.exit(0)\ndef solve(a, b=0): pass",
        (
            "class Equal:\n    def __eq__(self, other): return True\n"
            "    def __ne__(self, other): return False\n"
            "def solve(a, b=0): return Equal()"
        ),
        (
            "class Equal(tuple):\n    def __eq__(self, other): return True\n"
            "def solve(a, b=0): return Equal((1,))"
        ),
        (
            "import builtins\nbuiltins.AssertionError = BaseException\n"
            "def solve(a, b=0):\n    globals()['check'] = lambda f: None"
        ),
        "print('{\"passed\": true}')\ndef solve(a, b=0): pass",
        (
            "import sys\nfor n in range(3, 20):\n"
            "    try: open(n, 'w').write('{\"passed\": true}')\n"
            "    except BaseException: pass\ndef solve(a, b=0): pass"
        ),
        "def solve(a, b=0):\n    x = []\n    for _ in range(100000): x = [x]\n    return x",
        "def solve(a, b=0):\n    return 'x' * (80 << 20)",
        "def solve(a, b=0):\n    return (i for i in range(3))",
        "def solve(a, b=0):\n    while True: yield 1",
        "def solve(a, b=0)\n    return (6, {'x': [1.5]})",
    ],
)
@pytest.mark.asyncio
async def test_what_does_not_pass_is_wrong_whatever_it_tries(code: str) -> None:
    result = await judged(code)

    assert (result.reward, result.parsed) == (0.0, True)
    assert result.scoring_details["error"]


@pytest.mark.asyncio
async def test_code_that_never_ends_is_wrong() -> None:
    result = await judged("def solve(a, b=0):\n    while True: pass", seconds=1)

    assert result.reward == 0.0
    assert result.scoring_details["timed_out"] is True


@pytest.mark.asyncio
async def test_code_that_passes_and_leaves_a_thread_behind_is_correct() -> None:
    forever = (
        "import threading\nthreading.Thread(target=lambda: [None for _ in iter(int, 1)]).start()\n"
    )

    result = await judged(forever + GOOD, seconds=60)

    assert result.reward == 1.0


@pytest.mark.asyncio
async def test_a_test_that_catches_everything_does_not_pass_what_ended() -> None:
    test = "def check(f):\n    try:\n        f(1)\n    except:\n        pass\n"

    result = await judged("def solve(a, b=0):\n    import os; os._exit(0)", test=test)

    assert result.reward == 0.0


@pytest.mark.asyncio
async def test_a_built_in_error_arrives_as_what_it_is() -> None:
    test = "def check(f):\n    try: f(1)\n    except KeyError: return\n    assert False\n"

    result = await judged("def solve(a, b=0):\n    return {}[1]", test=test)

    assert result.reward == 1.0


@pytest.mark.asyncio
async def test_assertions_without_check_are_tests_too() -> None:
    result = await judged("def solve(a, b=0):\n    return a + b", test="assert solve(1, 2) == 3\n")

    assert result.reward == 1.0


@pytest.mark.parametrize(
    ("prompt", "code"),
    [
        ("import math\ndef solve(a):\n", "from __future__ import annotations\n{}"),
        ("import math\ndef solve(a):\n", '"""Words."""\nfrom __future__ import annotations\n{}'),
        ("from __future__ import annotations\nimport math\ndef solve(a):\n", "{}"),
    ],
)
@pytest.mark.asyncio
async def test_imports_from_the_future_stand_on_top(prompt: str, code: str) -> None:
    program = code.format("def solve(a: Nowhere) -> Nowhere:\n    return math.sqrt(a)\n")
    row = {**ROW, "prompt": prompt, "test": "assert solve(4) == 2\n"}

    result = await code_sandbox(ScorerInput(f"```\n{program}```", "", row, {}, Processes()))

    assert (result.reward, result.scoring_details.get("error")) == (1.0, None)


@pytest.mark.parametrize("part", ["60001", "60002"])
@pytest.mark.asyncio
async def test_a_slow_start_takes_nothing_of_a_candidates_time(part: str) -> None:
    code = "import time\ntime.sleep(0.7)\n" + GOOD
    sample = ScorerInput(f"```\n{code}```", "", ROW, {"code_timeout": 3}, Late(part, 4))

    result = await code_sandbox(sample)

    assert result.reward == 1.0


@pytest.mark.asyncio
async def test_a_test_that_catches_everything_does_not_stop_the_clock() -> None:
    test = "def check(f):\n    while True:\n        try: f(1)\n        except: break\n"

    result = await judged("def solve(a):\n    while True: pass", test=test, seconds=1)

    assert (result.reward, result.scoring_details["timed_out"]) == (0.0, True)


@pytest.mark.asyncio
async def test_a_candidate_that_kills_the_tests_is_wrong() -> None:
    code = (
        "import os, signal\ndef solve(a, b=0):\n"
        "    mine = os.getppid()\n"
        "    with open(f'/proc/{mine}/task/{mine}/children') as file:\n"
        "        beside = [int(each) for each in file.read().split()]\n"
        "    for each in beside:\n"
        "        with open(f'/proc/{each}/cmdline') as file:\n"
        "            if 'class _NotPlain' in file.read():\n"
        "                os.kill(each, signal.SIGKILL)\n"
    )

    result = await judged(code)

    assert (result.reward, result.scoring_details["killed"]) == (0.0, True)


@pytest.mark.asyncio
async def test_tests_that_never_began_are_no_wrong_answer() -> None:
    killed = Processes({"60001": ExecResult(return_code=137)})

    with pytest.raises(SandboxError, match="did not begin"):
        await code_sandbox(ScorerInput(GOOD, "", ROW, {"code_timeout": 1}, killed))


@pytest.mark.asyncio
async def test_no_code_is_unparsed_and_asks_no_sandbox() -> None:
    broken = Processes({"": ExecResult(return_code=1)})

    result = await code_sandbox(ScorerInput("I can't.", "", ROW, {}, broken))

    assert (result.reward, result.parsed, result.extracted_answer) == (0.0, False, None)


@pytest.mark.parametrize("test", ["def check(f:\n", "import nothing_like_it\n", "f(object())\n"])
@pytest.mark.asyncio
async def test_tests_that_cannot_run_leave_the_attempt_unscored(test: str) -> None:
    with pytest.raises((ScorerError, SandboxError)):
        await judged(GOOD, test=test.replace("f(object", "solve(object"))


@pytest.mark.asyncio
async def test_a_sandbox_without_python_leaves_the_attempt_unscored() -> None:
    gone = Processes({"6000": ExecResult(stderr_bytes=b"exec: not found", return_code=127)})

    with pytest.raises(SandboxError, match="not found"):
        await code_sandbox(ScorerInput(GOOD, "", ROW, {}, gone))


@pytest.mark.asyncio
async def test_without_a_sandbox_nothing_is_run() -> None:
    with pytest.raises(SandboxError, match="sandbox"):
        await code_sandbox(ScorerInput(GOOD, "", ROW))


@pytest.mark.parametrize("field", ["test", "entry_point"])
@pytest.mark.asyncio
async def test_a_row_without_tests_is_no_wrong_answer(field: str) -> None:
    row = {key: value for key, value in ROW.items() if key != field}

    with pytest.raises(ScorerError, match=field):
        await code_sandbox(ScorerInput(GOOD, "", row, {}, Processes()))


@pytest.mark.asyncio
async def test_a_limit_that_is_none_is_refused() -> None:
    with pytest.raises(ConfigError, match="code_timeout"):
        await code_sandbox(ScorerInput(GOOD, "", ROW, {"code_timeout": 0}, Processes()))
