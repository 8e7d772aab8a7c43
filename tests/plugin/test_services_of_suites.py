"""Which services a suite starts, in which order, how often, and with which secrets."""

import os
import re
import signal
import sys

import pytest

from tests.plugin.running import Nel, sums
from tests.plugin.test_deployments import PLANTED, SERVED, SLOWLY, XDIST, begun, served
from tests.support.containers import IMAGE, MOUNTS, PYTHON, containers, make_image, no_docker
from tests.support.processes import command_lines, gone, until

__all__ = ["served"]  # a fixture
pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="looks for processes in /proc")
RUN = f"{sys.executable} {SERVED} {{port}}"


def suite(nel: Nel, services: str, *, asks: str = "mine") -> None:
    """A suite of one benchmark with these services."""
    nel.write(
        "my.nel.yaml",
        f"services:\n{services}benchmarks:\n"
        f"  - {{name: bench_sums.py, solver: {{type: simple, service: {asks}}}}}\n"
        "output: {dir: run, timestamped: false}\n",
    )


def service(name: str, more: str = "", command: str = RUN) -> str:
    """A line that declares a server."""
    return (
        f"  {name}: {{type: command, protocol: chat_completions, "
        f'command: "echo {name} >>order; exec {command}"{more}}}\n'
    )


def logs(nel: Nel) -> dict[str, str]:
    """The servers' logs by file name."""
    return {path.name: path.read_text() for path in (nel.folder / "run" / "logs").glob("*.log")}


def pids(text: str) -> list[int]:
    """Those that have named themselves."""
    return [int(pid) for pid in re.findall(r"^started (\d+)$", text, re.MULTILINE)]


def test_only_what_is_asked_starts_and_what_it_depends_on_before_it(
    served: Nel, how: list[str]
) -> None:
    served.bench(sums(6))
    lines = [
        service("unused"),
        service("mine", ", depends_on: [second, first]"),
        service("first"),
        service("second", ", depends_on: [first]"),
    ]
    suite(served, "".join(lines))

    ended = served.run("my.nel.yaml", *how)

    assert ended.code == 0, ended.text
    assert (served.folder / "order").read_text().split() == ["first", "second", "mine"]
    assert gone(pid for text in logs(served).values() for pid in pids(text))


def test_one_service_of_replicas_is_started_once_and_loses_nothing_when_one_dies(
    served: Nel, how: list[str]
) -> None:
    served.write("bench_sums.py", SLOWLY.format(count=120))
    suite(served, service("mine", ", replicas: 2, max_retries: 0, max_restarts: 5"))
    process = served.start("my.nel.yaml", *how, "--nel-max-concurrent", "4")
    going = begun(served, process)

    os.kill(pids(logs(served)["server-mine-1.log"])[-1], signal.SIGKILL)

    out, _ = process.communicate(timeout=90)
    assert going
    assert process.returncode == 0, out
    assert "120 passed" in out
    assert sorted(logs(served)) == ["server-mine-0.log", "server-mine-1.log"]
    starts = {name: len(pids(text)) for name, text in logs(served).items()}
    assert starts == {"server-mine-0.log": 1, "server-mine-1.log": 2}
    assert gone(pid for text in logs(served).values() for pid in pids(text))


def test_what_fails_before_a_server_stops_the_run_with_its_name(
    served: Nel, how: list[str]
) -> None:
    served.bench(sums(3))
    suite(served, service("mine", ", setup_commands: ['true', 'echo no weights >&2; false']"))

    ended = served.run("my.nel.yaml", *how)

    assert ended.code == 7, ended.text
    assert "no weights" in ended.text
    assert "setup_commands[1] failed with status 1: echo no weights" in ended.text
    assert not (served.folder / "order").exists()


@pytest.mark.parametrize(
    ("declared", "said"),
    [
        (
            "  mine: {type: dynamo, model: m}\n",
            "my.nel.yaml:2: services.mine.type: 'dynamo' is NATS",
        ),
        (
            "  mine: {type: vllm, model: m, protocol: chat_completions, num_nodes: 2}\n",
            "services.mine: num_nodes: a server over several machines needs a cluster",
        ),
        ("  mine: {type: gym, url: 'http://127.0.0.1:9'}\n", "services.mine: this is no model"),
        (service("mine", ", depends_on: [mine]"), "my.nel.yaml:2: services.mine.depends_on: "),
    ],
    ids=["dynamo", "num_nodes", "no model", "itself"],
)
def test_what_cannot_be_served_is_one_line(served: Nel, declared: str, said: str) -> None:
    served.bench(sums(3))
    suite(served, declared)

    ended = served.run("my.nel.yaml")

    assert ended.code == 4, ended.text
    assert said in ended.text
    assert "Traceback" not in ended.text


ASKS_ANOTHER = """
def test_it(nel_services):
    assert nel_services["other"]
"""


def test_what_only_a_test_of_a_worker_asks_for_is_started_by_the_controller(served: Nel) -> None:
    served.untested()
    served.bench(sums(6))
    suite(served, service("mine") + service("other"))
    served.write("test_it.py", ASKS_ANOTHER)

    ended = served.run("my.nel.yaml", "test_it.py", *XDIST)

    assert ended.code == 0, ended.text
    assert (served.folder / "order").read_text().split() == ["mine", "other"]


def test_gpus_of_two_services_are_a_note(served: Nel) -> None:
    served.bench(sums(3))
    suite(served, service("mine", ", gpus: [0], depends_on: [b]") + service("b", ", gpus: [0]"))

    ended = served.run("my.nel.yaml")

    assert ended.code == 0, ended.text
    assert "GPU 0 is named by services b, mine" in ended.text


def test_a_secret_of_an_engine_is_in_no_file_and_on_no_command_line(
    served: Nel, monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.unit.services.standins import stand_in

    stand_in(served.folder / "bin", "vllm")
    monkeypatch.setenv("PATH", f"{served.folder / 'bin'}:{os.environ['PATH']}")
    served.write("bench_sums.py", SLOWLY.format(count=40))
    env = "extra_env: {HF_TOKEN: 'host:MY_KEY', SERVED_SECRET: 'runtime:MY_KEY'}"
    suite(
        served,
        f"  mine: {{type: vllm, model: org/m, protocol: chat_completions, replicas: 2, {env}}}\n",
    )
    served.env = {"MY_KEY": PLANTED}
    process = served.start("my.nel.yaml", "-v", *XDIST, "--nel-max-concurrent", "4")
    going = begun(served, process)
    lines = command_lines().values()

    out, _ = process.communicate(timeout=60)

    assert going
    assert process.returncode == 0, out
    assert [line for line in lines if PLANTED in line] == []
    assert PLANTED not in out
    files = [path for path in served.folder.rglob("*") if path.is_file()]
    assert [path for path in files if PLANTED.encode() in path.read_bytes()] == []
    assert len(logs(served)) == 2


@pytest.mark.skipif(bool(no_docker()), reason=str(no_docker()))
def test_a_container_serves_all_workers_and_goes_with_a_killed_run(served: Nel) -> None:
    make_image([str(PYTHON), "/nel-tests/served.py", "8000"])
    served.write("bench_sums.py", SLOWLY.format(count=2000))
    name = f"box{os.getpid()}"
    mounts = [*MOUNTS, f"{SERVED.parent}:/nel-tests:ro"]
    suite(
        served,
        f"  {name}: {{type: docker_model, image: '{IMAGE}', protocol: chat_completions, "
        f"container_mounts: {mounts}, extra_env: {{SERVED_HOST: 'lit:0.0.0.0'}}}}\n",
        asks=name,
    )
    process = served.start("my.nel.yaml", *XDIST, "--nel-max-concurrent", "4")
    going = begun(served, process)
    were = len(containers(f"services.{name}"))

    process.kill()

    process.communicate(timeout=60)
    assert going
    assert were == 1
    assert until(lambda: not containers(f"services.{name}"))


def test_a_time_out_of_the_command_line_is_for_services_that_have_one(served: Nel) -> None:
    served.bench(sums(3))
    suite(served, service("mine") + "  tools: {type: gym, url: 'http://127.0.0.1:9'}\n")

    ended = served.run("my.nel.yaml", "--nel-timeout", "30", "--nel-dry-run")

    assert ended.code == 0, ended.text


def test_a_plan_says_which_variables_of_a_server_are_not_set(served: Nel) -> None:
    served.bench(sums(3))
    model = "type: vllm, model: org/m, protocol: chat_completions"
    suite(served, f"  mine: {{{model}, extra_env: {{HF_TOKEN: 'host:NOT_SET_7'}}}}\n")

    ended = served.run("my.nel.yaml", "--nel-dry-run")

    assert ended.code == 4, ended.text
    assert "services.mine.extra_env.HF_TOKEN: variable NOT_SET_7 is not set here" in ended.out
