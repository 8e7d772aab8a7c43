"""The process behind a container: makes it, passes its output on, ends as it ends, removes it.

Run by file name, so it needs nothing of this package. Its one argument is JSON (see
``_container.py``); values of variables come by its own environment. When a signal ends it, it ends
the container. Should it be killed itself, the next one of this machine removes what it has left:
containers carry a label with the process that they are for.
"""

import contextlib
import json
import os
import platform
import re
import secrets
import signal
import sys
from pathlib import Path
from typing import Any

import docker
from docker.errors import APIError, DockerException, ImageNotFound, NotFound
from docker.models.containers import Container
from docker.types import DeviceRequest, LogConfig

_OWNER = "pytest-nel.owner"
_SERVICE = "pytest-nel.service"
_CANNOT = 125  # as `docker run` says it
_GRACE = 5
"""Seconds between SIGTERM and SIGKILL for the container."""
_SIGNALS = {signal.SIGTERM, signal.SIGINT, signal.SIGHUP}


class Ended(BaseException):
    """A signal has asked for the end."""


class NoImage(Exception):
    """The image is not here and cannot be had."""


def main() -> None:
    """Run the container until it ends or is no longer wanted."""
    order = json.loads(sys.argv[1])
    for number in _SIGNALS:
        signal.signal(number, _end)
    name = f"nel-{re.sub('[^A-Za-z0-9_.-]', '-', order['service'])}-{secrets.token_hex(4)}"
    client = None
    try:
        client = docker.from_env()
        client.ping()
        _sweep(client)
        _fetch(client, order["image"])
        status = _run(client, order, name)
    except Ended:
        status = 128 + signal.SIGTERM
    except NoImage as error:
        _say(f"docker: {error}")
        status = _CANNOT
    except (DockerException, OSError) as error:
        _say(f"docker: {_explained(error)}")
        status = _CANNOT
    finally:
        signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # once is enough
        if client is not None:
            _remove(client, name)
    sys.stdout.flush()
    os._exit(status)


def _end(*_: object) -> None:
    raise Ended


def _say(text: str) -> None:
    sys.stdout.write(f"[pytest-nel] {text}\n")
    sys.stdout.flush()


def _explained(error: Exception) -> str:
    if isinstance(error, APIError):
        return str(error.explanation or error)
    return f"no daemon answers: {error}; start it, or set DOCKER_HOST"


def _fetch(client: docker.DockerClient, image: str) -> None:
    """Have the image here."""
    try:
        client.images.get(image)
    except ImageNotFound:
        _say(f"pulling {image}")
        repository, tag = docker.utils.parse_repository_tag(image)
        try:
            client.images.pull(repository, tag=tag or "latest")
        except APIError as error:
            text = error.explanation or error
            msg = f"the image {image!r} is not here and cannot be pulled: {text}"
            raise NoImage(msg) from error


def _run(client: docker.DockerClient, order: dict[str, Any], name: str) -> int:
    """Make it, start it, pass its output on; its status."""
    signal.pthread_sigmask(signal.SIG_BLOCK, _SIGNALS)  # so that none exists without its name
    try:
        container = client.containers.create(**_settings(client, order), name=name)
        container.start()
    finally:
        signal.pthread_sigmask(signal.SIG_UNBLOCK, _SIGNALS)
    for piece in container.logs(stream=True, follow=True):
        sys.stdout.buffer.write(piece)
        sys.stdout.buffer.flush()
    status: int = container.wait()["StatusCode"]
    return status


def _settings(client: docker.DockerClient, order: dict[str, Any]) -> dict[str, Any]:
    host, port = order["publish"]
    settings: dict[str, Any] = {
        "image": order["image"],
        "environment": {name: os.environ[order["prefix"] + name] for name in order["env"]},
        "ports": {f"{order['port']}/tcp": (host, port)},
        "volumes": order["mounts"],
        "shm_size": order["shm_size"],
        "labels": {_OWNER: json.dumps(order["owner"]), _SERVICE: order["service"]},
        "log_config": LogConfig(type="json-file", config={"max-size": "64m", "max-file": "2"}),
        **_words(client, order),
    }
    gpus = order["gpus"]
    if gpus is None:
        settings["device_requests"] = [DeviceRequest(count=-1, capabilities=[["gpu"]])]
    elif gpus:
        settings["device_requests"] = [DeviceRequest(device_ids=gpus, capabilities=[["gpu"]])]
    return settings


def _words(client: docker.DockerClient, order: dict[str, Any]) -> dict[str, Any]:
    """Entry point and command; what comes before wraps both, the image's own included."""
    entrypoint, command, script = order["entrypoint"], order["command"], order["script"]
    if script is not None:
        said = client.images.get(order["image"]).attrs["Config"]
        first = (said.get("Entrypoint") or []) if entrypoint is None else entrypoint
        # An entry point of one's own leaves the image's command out, as docker has it.
        usual = (said.get("Cmd") or []) if entrypoint is None else []
        words = [*first, *(usual if command is None else command)]
        return {"entrypoint": ["sh", "-c", script, "sh"], "command": words}
    given = {"entrypoint": entrypoint, "command": command}
    return {key: words for key, words in given.items() if words is not None}


def _remove(client: docker.DockerClient, name: str) -> None:
    """End it and remove it with its anonymous volumes; it may be gone."""
    try:
        container: Container = client.containers.get(name)
        if container.status == "running":
            with contextlib.suppress(APIError):
                container.stop(timeout=_GRACE)
        container.remove(force=True, v=True)
    except NotFound:
        return
    except (DockerException, OSError) as error:
        _say(f"docker: cannot remove the container {name}: {error}")


def _sweep(client: docker.DockerClient) -> None:
    """Remove what services of killed processes of this machine have left."""
    # As they are listed: to inspect each would wait for any on which the daemon hangs.
    for one in client.api.containers(all=True, filters={"label": [_OWNER, _SERVICE]}):
        try:
            owner = json.loads(one["Labels"][_OWNER])
        except (KeyError, ValueError):
            continue
        if _is_gone(owner):
            with contextlib.suppress(APIError):  # another does the same
                client.api.remove_container(one["Id"], force=True, v=True)


def _is_gone(owner: dict[str, str]) -> bool:
    """Whether a process of this machine, told from any other, has ended."""
    try:
        here = {
            "host": platform.node(),
            "boot": Path("/proc/sys/kernel/random/boot_id").read_text("ascii").strip(),
            "pids": str(Path("/proc/self/ns/pid").readlink()),
        }
    except OSError:
        return False
    if any(owner.get(key) != value for key, value in here.items()) or "began" not in owner:
        return False
    try:
        stat = Path(f"/proc/{owner['pid']}/stat").read_text("latin-1")
    except FileNotFoundError:
        return True
    except OSError:
        return False
    state, *rest = stat.rpartition(")")[2].split()
    return state in "ZX" or rest[18] != owner["began"]


if __name__ == "__main__":
    main()
