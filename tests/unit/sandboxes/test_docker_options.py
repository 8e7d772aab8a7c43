"""Options of containers that a daemon refuses; the daemon is a plain HTTP server here."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pytest_nel.core.errors import ConfigError, NelError
from pytest_nel.core.sandbox import SandboxError, SandboxSpec
from pytest_nel.http.secret import Secrets
from pytest_nel.sandboxes.docker import DockerBackend
from pytest_nel.sandboxes.leftovers import BACKEND, OWNER, RUN
from tests.support.fake_daemon import Answer, fake_daemon


@contextmanager
def daemon(*, refuses: str | None = None) -> Iterator[tuple[str, list[Any]]]:
    """One with a single processor that looks at options first, then finds no image."""
    asked: list[Any] = []

    def answer(path: str, body: Any) -> Answer:
        if body is None:
            return 200, [] if path.endswith("/json") else {"NCPU": 1}
        asked.append(body["HostConfig"])
        return (400, {"message": refuses}) if refuses else (404, {"message": "no image"})

    with fake_daemon(answer) as host:
        yield host, asked


def backend(**options: Any) -> DockerBackend:
    return DockerBackend(DockerBackend.Config(**options), run_id="r", secrets=Secrets([]))


@pytest.mark.asyncio
@pytest.mark.parametrize(("options", "cpus"), [({}, 1.0), ({"cpus": 2.0}, 2.0)])
async def test_by_default_containers_may_use_what_the_daemon_has(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], cpus: float
) -> None:
    made = backend(**options)

    with daemon() as (host, asked):
        monkeypatch.setenv("DOCKER_HOST", host)
        await made.open()
        await made.close()

    assert [one["NanoCpus"] for one in asked] == [cpus * 1e9]


@pytest.mark.asyncio
async def test_what_the_daemon_says_of_options_is_said_before_the_run(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    made = backend(memory="1m")

    with daemon(refuses="Minimum memory limit allowed is 6MB") as (host, _):
        monkeypatch.setenv("DOCKER_HOST", host)
        with pytest.raises(ConfigError, match="Minimum memory limit allowed is 6MB: change memory"):
            await made.open()
        await made.close()


@pytest.mark.parametrize("options", ["size=banana", "bogus", "size=1m,mode=9"])
def test_a_tmpfs_that_cannot_be_mounted_is_a_wrong_option(options: str) -> None:
    with pytest.raises(ValidationError, match="expected mount options such as size=64m"):
        DockerBackend.Config(tmpfs={"/scratch": options})


@pytest.mark.parametrize("options", ["", "size=64m", "size=50%,mode=0755,uid=1000", "ro,noexec"])
def test_a_tmpfs_that_can_be_mounted_is_none(options: str) -> None:
    assert DockerBackend.Config(tmpfs={"/scratch/": options}).tmpfs == {"/scratch": options}


@pytest.mark.parametrize("options", [{"memory": "32m", "shm_size": "1g"}, {"shm_size": "4096M"}])
def test_memory_that_processes_share_is_less_than_all(options: dict[str, Any]) -> None:
    with pytest.raises(ValidationError, match=r"expected less than memory, (32m|4g), which"):
        DockerBackend.Config(**options)


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("options", "size"),
    [
        ({}, 64 << 20),
        ({"memory": "64m"}, 32 << 20),
        ({"memory": "64m", "shm_size": "40960k"}, 40 << 20),
        ({"memory": "67108864", "shm_size": "1048576b"}, 1 << 20),
    ],
)
async def test_by_default_half_of_the_memory_can_be_shared_at_most(
    monkeypatch: pytest.MonkeyPatch, options: dict[str, Any], size: int
) -> None:
    made = backend(**options)

    with daemon() as (host, asked):
        monkeypatch.setenv("DOCKER_HOST", host)
        await made.open()
        await made.close()

    assert [one["ShmSize"] for one in asked] == [size]


_OTHER = "image with reference it was found but does not match the specified platform"


@contextmanager
def with_an_image(status: int, said: str) -> Iterator[tuple[str, list[Any]]]:
    """One that has every image, and makes no container of any; what it is to make."""
    asked: list[Any] = []

    def answer(path: str, body: Any) -> Answer:
        if path.startswith("/images/"):
            return 200, {"Id": "sha256:0", "Config": {}}
        if path == "/containers/create" and body["Image"].startswith(("image", "nel-env")):
            asked.append(body)
            return status, {"message": said}
        return 200, [] if path.endswith("/json") else {"NCPU": 1, "Id": "made"}

    with fake_daemon(answer) as host:
        yield host, asked


async def refused(spec: SandboxSpec, status: int, said: str) -> tuple[Exception, list[Any]]:
    """Why an image cannot be had for a platform that is asked for."""
    made = backend(image="image:1", platform="linux/arm64")
    with with_an_image(status, said) as (host, asked), pytest.MonkeyPatch.context() as patch:
        patch.setenv("DOCKER_HOST", host)
        await made.open()
        try:
            with pytest.raises(NelError) as raised:
                await made.prepare([spec])
        finally:
            await made.close()
    return raised.value, asked


@pytest.mark.asyncio
async def test_an_image_of_another_platform_is_refused_with_a_way_out(tmp_path: Path) -> None:
    (tmp_path / "Dockerfile").write_text("FROM scratch\n")

    found, asked = await refused(SandboxSpec(), 404, _OTHER)
    made, _ = await refused(SandboxSpec(environment_dir=str(tmp_path)), 404, _OTHER)

    assert isinstance(found, ConfigError)
    assert "`docker pull --platform linux/arm64 image:1`" in str(found)
    assert isinstance(made, ConfigError)
    assert f"have {tmp_path}/Dockerfile begin FROM an image" in str(made)
    assert "docker pull" not in str(made)
    assert {RUN, OWNER, BACKEND} <= set(asked[0]["Labels"])


@pytest.mark.asyncio
@pytest.mark.parametrize(
    ("status", "said"),
    [(500, "no space left on device"), (500, "platform broken"), (404, "No such image: image:1")],
)
async def test_what_else_keeps_a_container_from_being_made_is_no_matter_of_platforms(
    status: int, said: str
) -> None:
    error, _ = await refused(SandboxSpec(), status, said)

    assert isinstance(error, SandboxError)
    assert said in str(error)
    assert "linux/arm64" not in str(error)


@pytest.mark.parametrize(
    "template",
    [
        "a:{.y}",
        "a:{[0]}",
        "a:{x!z}",
        "a:{x:>{}}",
        "a:{x:{y}}",
        "a:{}",
        "a:{0}",
        "a:{0.x}",
        "a:{x.}",
        "a:{x[]}",
    ],
)
def test_a_template_that_no_field_can_fill_is_a_wrong_option(template: str) -> None:
    with pytest.raises(ValidationError, match=r"expected .*\{field\}"):
        DockerBackend.Config(image_template=template)


@pytest.mark.parametrize(
    "template",
    ["a:{x}", "a:{x-y}", "a:{x.y}", "a:{x[0]}", "a:{_x!r}", "a:{x:>3}", "a:{{no}}{x}", "a:1"],
)
def test_a_template_that_fields_can_fill_is_none(template: str) -> None:
    assert DockerBackend.Config(image_template=template).image_template == template
