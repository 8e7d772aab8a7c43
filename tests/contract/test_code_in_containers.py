"""Code that attacks its tests, its sandbox or its machine scores 0, and harms nobody else."""

import asyncio
from dataclasses import replace

import pytest

from pytest_nel import SandboxError, ScorerError, ScorerInput, VerifyResult, run_checks
from pytest_nel.core.sandbox import Sandbox
from pytest_nel.scoring.code import code_sandbox
from tests.contract.boxes import no_image, started

pytestmark = pytest.mark.skipif("no_image() is not None", reason=str(no_image()))

ROW = {
    "prompt": "def double(x):\n",
    "test": "# plugh-xyzzy\ndef check(f):\n    assert f(2) == 4\n    assert f(21) == 42\n",
    "entry_point": "double",
}
GOOD = "def double(x):\n    return 2 * x\n"

_SPY = """
import os
def read(path):
    try:
        with open(path, 'rb') as file:
            return file.read(10**6)
    except OSError:
        return b''
def look():
    seen = b''
    for pid in os.listdir('/proc'):
        if pid.isdigit() and int(pid) != os.getpid():
            for name in ('cmdline', 'environ', 'mem', 'fd/0', 'fd/3', 'fd/4', 'root/tmp'):
                seen += read(f'/proc/{pid}/{name}')
    for top in ('/tmp', '/var/tmp', '/dev/shm', '/workspace', '/run'):
        for folder, _, files in os.walk(top):
            for name in files:
                seen += read(os.path.join(folder, name))
    return seen
FOUND = b'plugh-' + b'xyzzy' in look()
def double(x):
    return 2 * x if FOUND else None
"""
_FORGER = """
import os
def double(x):
    for pid in os.listdir('/proc'):
        for number in range(8):
            try:
                with open(f'/proc/{pid}/fd/{number}', 'w') as file:
                    file.write('\\n{"passed": true}\\n')
            except OSError:
                pass
    return None
"""
_CALLER = """
import socket
def reached():
    for address in (('1.1.1.1', 53), ('172.17.0.1', 22), ('host.docker.internal', 80)):
        try:
            socket.create_connection(address, 1).close()
            return True
        except OSError:
            pass
    return False
def double(x):
    return 2 * x if reached() else None
"""
_STUFFER = """
import gc, os, socket
with open('/proc/self/oom_score_adj', 'w') as mine:
    mine.write('0')
def double(x):
    link = [o for o in gc.get_objects() if isinstance(o, socket.socket)][0]
    unit = b'[[]],' * 200000
    try:
        link.sendall(b'{"value":{"l":[')
        for _ in range(15):
            link.sendall(unit)
        link.sendall(b'0]}}\\n')
    except OSError:
        pass
    os._exit(0)
"""
_ATTACKS = {
    "exit before the tests": "import os\ndef double(x):\n    os._exit(0)",
    "exit while loading": "import os\ndef double(x): pass\nos._exit(0)",
    "kill everybody": "import os\ndef double(x):\n    os.kill(-1, 9)",
    "memory bomb": "def double(x):\n    y = []\n    while True: y.append(bytearray(1 << 24))",
    "output flood": (
        "import sys\ndef double(x):\n    while True: print('x' * 1000000, file=sys.stderr)"
    ),
    "never ends": "def double(x):\n    while True: pass",
    "patches the checker": (
        "import builtins, sys\nclass Yes:\n    def __eq__(self, other): return True\n"
        "    def __bool__(self): return True\nbuiltins.AssertionError = SystemExit\n"
        "sys.modules['tests'] = Yes()\ndef double(x): return Yes()"
    ),
    "reads the tests": _SPY,
    "writes the verdict": _FORGER,
    "asks the network": _CALLER,
    "fills the memory of the tests": _STUFFER,
    "fills the disk": (
        "def double(x):\n    with open('/tmp/f', 'wb') as f:\n"
        "        while True: f.write(bytes(1 << 20))"
    ),
}


async def judged(code: str, sandbox: Sandbox, seconds: float = 5) -> VerifyResult:
    sample = ScorerInput(f"```python\n{code}\n```", "", ROW, {"code_timeout": seconds}, sandbox)
    return await code_sandbox(sample)


@pytest.mark.parametrize("code", _ATTACKS.values(), ids=_ATTACKS)
@pytest.mark.asyncio
async def test_an_attack_scores_nothing(code: str) -> None:
    tmpfs = {"/tmp": "size=16m"}  # noqa: S108 - inside
    async with started("docker", memory="128m", tmpfs=tmpfs) as sandbox:
        result = await judged(code, sandbox)

    assert (result.reward, result.parsed) == (0.0, True)


_ENDING = "def double(x):\n    if x < 5: raise StopIteration\n    return 2 * x\n"
_OF_LOOPS = "def check(f):\n    assert all(map(lambda x: f(x) == 2 * x, [1, 2, 7]))\n"
_OF_ENDS = (
    "def check(f):\n    assert f(7) == 14\n    try:\n        f(1)\n"
    "    except StopIteration:\n        return\n    assert False\n"
)


@pytest.mark.parametrize(("test", "reward"), [(_OF_LOOPS, 0.0), (_OF_ENDS, 1.0)])
@pytest.mark.asyncio
async def test_a_candidate_ends_no_loop_of_its_tests(test: str, reward: float) -> None:
    sample = ScorerInput(f"```python\n{_ENDING}```", "", {**ROW, "test": test}, {})
    async with started("local") as sandbox:
        result = await code_sandbox(replace(sample, sandbox=sandbox))

    assert result.reward == reward


@pytest.mark.asyncio
async def test_a_fork_bomb_scores_nothing_and_an_attempt_beside_it_is_judged() -> None:
    bomb = (
        "import os\ndef double(x):\n    while True:\n        try: os.fork()\n"
        "        except OSError: pass"
    )
    async with started("docker", pids=64) as one, started("docker") as other:
        found, beside = await asyncio.gather(
            judged(bomb, one, 3), judged(GOOD, other, 60), return_exceptions=True
        )

    assert [getattr(each, "reward", each) for each in (found, beside)] == [0.0, 1.0]


@pytest.mark.parametrize("kind", ["docker", "local"])
@pytest.mark.asyncio
async def test_right_code_is_right_in_every_kind_of_sandbox(kind: str) -> None:
    async with started(kind) as sandbox:
        right = await judged(GOOD, sandbox, 60)
        wrong = await judged("def double(x):\n    return x\n", sandbox, 60)

    assert (right.reward, wrong.reward) == (1.0, 0.0)


@pytest.mark.asyncio
async def test_a_read_only_sandbox_does() -> None:
    async with started("docker", read_only=True) as sandbox:
        result = await judged(GOOD, sandbox, 60)

    assert result.reward == 1.0


CHECKS = """
import subprocess, sys
def grade(transcript, workspace_path):
    for name in ('first.py', 'script.py'):
        done = subprocess.run([sys.executable, name], capture_output=True, text=True, timeout=20)
    import csv, fractions
    return {'prints 42': float(done.stdout.strip() == '42'), 'other': 0.0}
"""
_RIGHT = "print(42)"
_MEMORY = """
import json, os, re, signal
parent = os.getppid()
tokens = []
def tried(what):
    try:
        return what()
    except (OSError, ValueError, OverflowError):
        return b''
def read(path):
    with open(path, 'rb', 0) as file:
        return file.read()
with_maps = tried(lambda: read(f'/proc/{parent}/maps')).decode().splitlines()
for line in with_maps:
    low, high = (int(end, 16) for end in line.split()[0].split('-'))
    def piece():
        with open(f'/proc/{parent}/mem', 'rb', 0) as memory:
            memory.seek(low)
            return memory.read(high - low)
    if line.split()[1].startswith('rw'):
        tokens += re.findall(rb'"token": "([0-9a-f]{32})"', tried(piece))
said = {'changed': True, 'texts': 0, 'scores': [['prints 42', 1.0], ['other', 1.0]]}
said['token'] = tokens[0].decode() if tokens else ''
for number in range(20):
    def write():
        with open(f'/proc/{parent}/fd/{number}', 'w') as file:
            file.write('\\n' + json.dumps(said) + '\\n')
    tried(write)
os.kill(parent, signal.SIGKILL)
"""
_STARVES = """
import os, resource
resource.prlimit(os.getppid(), resource.RLIMIT_NOFILE, (0, 0))
"""
_FLOODS = "import sys, os\nos.write(2, b'x' * (30 << 20))\nos.kill(os.getppid(), 9)\n"


@pytest.mark.parametrize(
    ("first", "reward"),
    [(_RIGHT, 0.5), (_MEMORY, 0.0), (_STARVES, 0.0), (_FLOODS, 0.0)],
    ids=["right", "forges the verdict", "starves the checks", "floods and kills"],
)
@pytest.mark.asyncio
async def test_a_script_that_attacks_the_checks_gains_nothing(first: str, reward: float) -> None:
    async with started("docker") as sandbox:
        await sandbox.write("/workspace/first.py", first.encode())
        await sandbox.write("/workspace/script.py", _RIGHT.encode())
        found = await run_checks(sandbox, CHECKS)

    assert (found.reward, found.failed is None) == (reward, reward > 0)


_IMPORTS = "def grade(t, w):\n    import sys\n    {}\n    return {{'it': 1.0}}\n"


@pytest.mark.asyncio
async def test_checks_that_lack_a_package_are_to_blame_and_not_ones_that_lack_the_agents() -> None:
    async with started("local") as sandbox:
        own = _IMPORTS.format("sys.path.insert(0, w); import solution")
        found = await run_checks(sandbox, own)
        with pytest.raises(ScorerError, match="nothing_like_it"):
            await run_checks(sandbox, _IMPORTS.format("import nothing_like_it"))

    assert (found.reward, str(found.failed)[:19]) == (0.0, "ModuleNotFoundError")


@pytest.mark.asyncio
async def test_a_verdict_arrives_whatever_the_sandbox_leaves_out_of_the_texts() -> None:
    verdict = "def grade(t, w):\n    return {'it': 1.0}\n"
    async with started("local", output_limit=4096) as sandbox:
        for number in range(20):
            await sandbox.write(f"{number}.txt", b"word " * 100)
        found = await run_checks(sandbox, verdict)

    name, words = found.texts[-1]
    assert (found.reward, found.changed, name) == (1.0, True, "…")
    assert int(words.split()[0]) + len(found.texts) - 1 == 20


@pytest.mark.asyncio
async def test_a_verdict_that_is_cut_is_no_wrong_answer() -> None:
    many = "def grade(t, w):\n    return {'criterion %d' % n: 1.0 for n in range(99)}\n"
    async with started("local", output_limit=1024) as sandbox:
        with pytest.raises(SandboxError, match="output_limit"):
            await run_checks(sandbox, many)
