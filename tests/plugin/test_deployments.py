"""A server that a suite starts: once per run, for all workers, gone with the run."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from tests.plugin.running import Nel, rows, sums
from tests.support.processes import alive, command_lines, gone, until

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")

SERVED = Path(__file__).parents[1] / "support" / "served.py"
XDIST = ("-p", "xdist", "-n2")
SUITE = """services:
  mine: {{type: command, protocol: chat_completions, command: "{command}"{more}}}
benchmarks:
  - {{name: bench_sums.py, solver: {{type: simple, service: mine}}}}
output: {{dir: run, timestamped: false}}
"""
PLANTED = "planted-8f21c07be3d94a55"  # nobody's
SLOWLY = '''
import asyncio

from pytest_nel import ScorerInput, benchmark, scorer

ROWS = [{{"say": str(i), "target": str(i)}} for i in range({count})]


@benchmark(name="sums", dataset=ROWS, prompt="{{say}}")
@scorer
async def measured(sample: ScorerInput) -> object:
    """Judge without haste, so that the run is long enough to be disturbed."""
    await asyncio.sleep(0.05)
    return sample.response == sample.target
'''


@pytest.fixture
def served(nel: Nel) -> Nel:
    """A folder without a model on the command line."""
    nel.url = None
    return nel


def suite(nel: Nel, fault: str = "", more: str = "", *, slowly: int = 0) -> None:
    """A suite that serves its model; ``slowly`` is how many attempts take a while."""
    command = f"exec {sys.executable} {SERVED} {{port}} {fault}"
    nel.write("my.nel.yaml", SUITE.format(command=command, more=f", {more}" if more else ""))
    if slowly:
        nel.write("bench_sums.py", SLOWLY.format(count=slowly))


def log(nel: Nel) -> str:
    """The server's log; empty before there is one."""
    path = nel.folder / "run" / "logs" / "server-mine.log"
    return path.read_text() if path.exists() else ""


def named(nel: Nel) -> list[int]:
    """The processes that have named themselves in the log: the server's starts, its family."""
    return [int(pid) for pid in re.findall(r"^(?:started|family) (\d+)$", log(nel), re.MULTILINE)]


def scored(nel: Nel) -> int:
    """Attempts in the journals."""
    journals = (nel.folder / "run" / "sums" / "journal").glob("*.jsonl")
    return sum(path.read_bytes().count(b'"_type":"scored"') for path in journals)


def begun(nel: Nel, process: "subprocess.Popen[str]") -> bool:
    """Wait until attempts are being scored."""
    return until(lambda: scored(nel) > 5 or process.poll() is not None) and process.poll() is None


def test_a_server_is_started_once_and_gone_afterwards(served: Nel, how: list[str]) -> None:
    served.bench(sums(30))
    suite(served, "family")

    ended = served.run("my.nel.yaml", *how)

    assert ended.code == 0, ended.text
    assert "20 passed, 10 wrong" in ended.out
    assert log(served).count("started") == 1
    assert len(named(served)) == 3
    assert not any(alive(pid) for pid in named(served))


def test_a_server_that_does_not_come_up_is_one_message(served: Nel, how: list[str]) -> None:
    served.bench(sums(3))
    suite(served, "early")

    ended = served.run("my.nel.yaml", *how)

    assert ended.code == 7, ended.text
    assert "ended before it was ready (status 3)" in ended.text
    assert "out of memory" in ended.text
    assert "Traceback" not in ended.text


def test_when_one_server_does_not_come_up_the_others_end(served: Nel, how: list[str]) -> None:
    served.bench(sums(3))
    suite(served)
    text = (served.folder / "my.nel.yaml").read_text()
    other = "  other: {type: command, protocol: chat_completions, command: 'exit 5; : {port}'}\n"
    entry = "  - {name: bench_sums.py, solver: {type: simple, service: other}}\n"
    text = text.replace("benchmarks:\n", other + "benchmarks:\n").replace(
        "output", entry + "output"
    )
    served.write("my.nel.yaml", text)

    ended = served.run("my.nel.yaml", *how)

    assert "services.other: the model server ended before it was ready (status 5)" in ended.text
    assert len(named(served)) == 1
    assert not any(alive(pid) for pid in named(served))


def test_every_attempt_is_scored_though_the_server_dies(served: Nel, how: list[str]) -> None:
    suite(served, slowly=120)
    process = served.start("my.nel.yaml", *how, "--nel-max-concurrent", "4")
    going = begun(served, process)

    os.kill(named(served)[0], signal.SIGKILL)

    out, _ = process.communicate(timeout=60)
    assert going
    assert process.returncode == 0, out
    assert "120 passed" in out
    assert "the server is ready again" in log(served)
    assert log(served).count("started") == 2


def test_a_server_that_is_gone_for_good_stops_the_run_at_once(served: Nel, how: list[str]) -> None:
    suite(served, more="max_restarts: 0", slowly=500)
    process = served.start("my.nel.yaml", *how, "--nel-max-concurrent", "4", "--nel-window", "4")
    going = begun(served, process)

    os.kill(named(served)[0], signal.SIGKILL)

    out, _ = process.communicate(timeout=20)
    reason = "services.mine: the server ended with status 137 and max_restarts is 0, so it is gone"
    assert going
    assert process.returncode == 7, out
    assert out.count(f"{reason}; see ") == 1, out
    assert "attempts in a row have no score" not in out
    assert 5 < scored(served) < 100


def test_ctrl_c_ends_the_server(served: Nel, how: list[str]) -> None:
    suite(served, "family", slowly=2000)
    process = served.start("my.nel.yaml", *how, "--nel-max-concurrent", "4")
    going = begun(served, process)

    os.killpg(process.pid, signal.SIGINT)

    out, _ = process.communicate(timeout=60)
    assert going
    assert process.returncode == 2, out
    assert len(named(served)) == 3
    assert not any(alive(pid) for pid in named(served))
    assert "restart" not in log(served)


def test_kill_9_leaves_no_process(served: Nel, how: list[str]) -> None:
    suite(served, "family", slowly=2000)
    process = served.start("my.nel.yaml", *how, "--nel-max-concurrent", "4")
    going = begun(served, process)
    family = named(served)

    process.kill()

    process.communicate(timeout=60)
    assert going
    assert len(family) == 3
    assert gone(family)
    here = str(served.folder)
    assert until(lambda: not any(here in line for line in command_lines().values()), 15)


def test_kill_9_while_it_comes_up_leaves_no_process(served: Nel) -> None:
    suite(served, "never", slowly=10)
    process = served.start("my.nel.yaml")
    began = until(lambda: bool(named(served)))

    process.kill()

    process.communicate(timeout=60)
    assert began
    assert gone(named(served))


def test_a_server_survives_the_worker_that_dies(served: Nel) -> None:
    served.untested()
    bench = served.bench(sums(40))
    text = bench.read_text(encoding="utf-8").replace(
        '    if sample.response == "crash":',
        '    if sample.target == "31":\n'
        "        import os, signal\n"
        "        os.kill(os.getpid(), signal.SIGKILL)\n"
        '    if sample.response == "crash":',
    )
    bench.write_text(text, encoding="utf-8")
    suite(served)

    ended = served.run("my.nel.yaml", *XDIST, timeout=90)

    assert "the process that judged this answer died (SIGKILL)" in ended.out
    results = (served.folder / "run" / "sums" / "results.jsonl").read_text()
    assert results.count("\n") == 40
    assert results.count('"outcome":"unscored"') == 1
    assert log(served).count("started") == 1
    assert gone(named(served))


def test_secrets_are_nowhere_but_in_the_server(served: Nel, how: list[str]) -> None:
    more = 'api_key: "${MY_KEY}", env: {SERVED_KEY: "${MY_KEY}", OTHER: "x${MY_KEY}"}'
    suite(served, more=more, slowly=60)
    served.env = {"MY_KEY": PLANTED}
    process = served.start("my.nel.yaml", *how, "-v", "--nel-max-concurrent", "4")
    going = begun(served, process)
    lines = command_lines().values()

    out, _ = process.communicate(timeout=60)

    assert going
    assert process.returncode == 0, out
    assert "60 passed" in out
    assert [line for line in lines if PLANTED in line] == []
    assert PLANTED not in out
    files = [path for path in served.folder.rglob("*") if path.is_file()]
    assert [path for path in files if PLANTED.encode() in path.read_bytes()] == []
    assert "x${MY_KEY}" in (served.folder / "run" / "suite.nel.yaml").read_text()


def test_a_missing_variable_of_a_server_is_said_with_its_line(served: Nel, how: list[str]) -> None:
    served.bench(sums(3))
    suite(served, more='env: {TOKEN: "${NOT_THERE}"}')

    ended = served.run("my.nel.yaml", *how)

    assert ended.code == 4, ended.text
    assert "my.nel.yaml:2: services.mine.env.TOKEN: environment variable NOT_THERE" in ended.text


ASKING = """
import urllib.request

import pytest


def test_a_service_is_there(nel_services):
    endpoint = nel_services["mine"]
    base = endpoint.url.partition("/v1")[0]
    with urllib.request.urlopen(base + "/health") as reply:
        assert reply.status == 200
    assert list(nel_services) == ["mine"]
    assert len(nel_services) == 1
    assert "other" not in nel_services
    with pytest.raises(KeyError, match="unknown service 'other'"):
        nel_services["other"]


def test_it_is_the_same_one(nel_services):
    assert nel_services["mine"] is nel_services["mine"]
"""


@pytest.mark.parametrize(
    "files", [["my.nel.yaml", "test_it.py"], ["test_it.py", "my.nel.yaml"]], ids=["after", "before"]
)
def test_tests_may_ask_the_services_too(served: Nel, how: list[str], files: list[str]) -> None:
    served.bench(rows("7", "8"))
    suite(served)
    served.write("test_it.py", ASKING)

    ended = served.run(*files, *how)

    assert ended.code == 0, ended.text
    assert "3 passed, 1 wrong" in ended.out
    assert log(served).count("started") == 1
    assert not any(alive(pid) for pid in named(served))


def test_a_service_that_only_tests_ask_ends_with_them(served: Nel) -> None:
    served.bench(rows("7"))
    suite(served)
    served.write("test_it.py", ASKING)

    ended = served.run("test_it.py", "my.nel.yaml", "-k", "service")

    assert "1 passed" in ended.out, ended.text
    assert log(served).count("started") == 1
    assert not any(alive(pid) for pid in named(served))


def test_services_may_be_overridden(served: Nel) -> None:
    served.bench(rows("7"))
    suite(served)
    served.write(
        "conftest.py",
        "import pytest\n\n@pytest.fixture(scope='session')\ndef nel_services():\n"
        "    return {'mine': 'theirs'}\n",
    )
    served.write(
        "test_it.py", "def test_a(nel_services):\n    assert nel_services['mine'] == 'theirs'\n"
    )

    ended = served.run("my.nel.yaml", "test_it.py")

    assert ended.code == 0, ended.text
    assert "2 passed" in ended.out


def test_under_workers_a_deployment_that_does_not_start_is_told_once(nel: Nel) -> None:
    nel.bench(sums(2))
    nel.write(
        "my.nel.yaml",
        "services:\n"
        "  model: {type: command, protocol: chat_completions, model: m,\n"
        '          command: "echo last words; exit 3; : {port}"}\n'
        "benchmarks: [{name: bench_sums.py, solver: {type: simple, service: model}}]\n",
    )

    ended = nel.run("my.nel.yaml", *XDIST, model=False)

    assert ended.code == 7, ended.text
    assert ended.text.count("last words") == 1
    assert "ended before it was ready (status 3)" in ended.out
    assert "Exit" not in ended.text
