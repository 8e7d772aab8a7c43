"""Several servers of one service: alike, apart, and together."""

import asyncio
import os
import signal
from pathlib import Path

import httpx
import pytest
from pydantic import ValidationError

from pytest_nel.core.errors import InfraError
from pytest_nel.http.client import ModelClient
from tests.support.processes import gone, until
from tests.unit.services.commands import LINUX, Make, line

MESSAGES = [{"role": "user", "content": "word"}]


def fact(url: str, page: str) -> object:
    base = url.partition("/v1/")[0]
    return httpx.get(f"{base}/{page}", trust_env=False).json()


@LINUX
def test_each_has_its_port_its_log_and_its_part_of_the_gpus(make: Make, tmp_path: Path) -> None:
    service = make(replicas=3, gpus=[4, 5, 6, 7, 8, 9])

    endpoint = service.start()

    assert endpoint.url == endpoint.replicas[0]
    assert len({httpx.URL(url).port for url in endpoint.replicas}) == 3
    seen = [fact(url, "variable/CUDA_VISIBLE_DEVICES") for url in endpoint.replicas]
    assert seen == ["4,5", "6,7", "8,9"]
    pids = [fact(url, "pid") for url in endpoint.replicas]
    logs = [tmp_path / "logs" / f"server-mine-{index}.log" for index in range(3)]
    assert [f"started {pid}\n" for pid in pids] == [log.read_text() for log in logs]
    service.stop()
    assert gone(pid for pid in pids if isinstance(pid, int))


def test_no_gpus_are_none(make: Make) -> None:
    endpoint = make(gpus=0).start()

    assert endpoint.replicas == ()
    assert fact(endpoint.url, "variable/CUDA_VISIBLE_DEVICES") == ""


@LINUX
def test_when_one_does_not_come_up_the_others_end(make: Make, tmp_path: Path) -> None:
    service = make("once", replicas=2, cwd=str(tmp_path))
    (tmp_path / "served.once").touch()  # both die
    with pytest.raises(InfraError) as both:
        service.start()
    lonely = make(
        command=f"if [ {{port}} = 17873 ]; then exit 5; fi; {line()}", replicas=2, port=17872
    )
    with pytest.raises(InfraError) as one:
        lonely.start()

    assert "services.mine[" in str(both.value)
    assert "services.mine[1]: the model server ended before it was ready (status 5)" in str(
        one.value
    )
    log = (tmp_path / "logs" / "server-mine-0.log").read_text()
    pids = [int(said.split()[1]) for said in log.splitlines() if said.startswith("started ")]
    assert gone(pids)


@LINUX
@pytest.mark.asyncio
async def test_no_call_fails_while_one_dies_and_comes_again(make: Make, tmp_path: Path) -> None:
    service = make(replicas=2, max_retries=0, max_concurrent=4)
    endpoint = await asyncio.to_thread(service.start)
    model = ModelClient(endpoint)
    log = tmp_path / "logs" / "server-mine-1.log"

    pid = await asyncio.to_thread(fact, endpoint.replicas[1], "pid")
    before = await asyncio.gather(*[model.chat(MESSAGES) for _ in range(20)])
    assert isinstance(pid, int)
    os.kill(pid, signal.SIGKILL)
    during = await asyncio.gather(*[model.chat(MESSAGES) for _ in range(40)])
    back = await asyncio.to_thread(until, lambda: "ready again" in log.read_text())
    await asyncio.sleep(0.3)
    after = await asyncio.gather(*[model.chat(MESSAGES) for _ in range(40)])
    await model.close()

    assert back
    assert {reply.content for reply in [*before, *during, *after]} == {"word"}
    assert service.trouble is None


def test_a_server_that_does_not_learn_its_port_has_no_replicas(make: Make) -> None:
    with pytest.raises(ValidationError, match="each has a port of its own"):
        make(command="serve --port 8000", port=8000, replicas=2)


@LINUX
def test_one_that_is_gone_for_good_is_said_by_its_number(make: Make) -> None:
    service = make(replicas=2, max_restarts=0)
    endpoint = service.start()
    pid = fact(endpoint.replicas[1], "pid")
    assert isinstance(pid, int)

    os.kill(pid, signal.SIGKILL)

    assert until(lambda: service.trouble is not None)
    assert str(service.trouble).startswith("services.mine[1]: the server ended with status 137")
