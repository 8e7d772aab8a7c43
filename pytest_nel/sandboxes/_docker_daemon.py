"""The docker daemon: one client, its threads, and what its errors mean."""

import asyncio
import logging
import socket
import threading
from collections.abc import Callable, Mapping
from concurrent.futures import Future, ThreadPoolExecutor
from functools import partial
from importlib import import_module
from typing import Any, NamedTuple, ParamSpec, TypeVar
from urllib.parse import urlsplit

from pytest_nel.config.interpolate import getenv
from pytest_nel.core.errors import ConfigError
from pytest_nel.core.sandbox import SandboxError, WrongPath
from pytest_nel.core.text import showable

P = ParamSpec("P")
T = TypeVar("T")
Api = Any  # the SDK has no annotations

_LOG = logging.getLogger(__name__)

DEFAULT_HOST = "unix:///var/run/docker.sock"
PATIENCE = 120.0
"""Seconds for one answer that is about a container: more is the hanging of the daemon on it."""
_LONG = 300.0
"""Seconds where much is written: a loaded daemon takes its time to make a container."""
_LOOK = 10.0
CONFLICT = 409
"""The status by which a daemon says that a container is not in the state for that."""
_REFUSED, _NOT_FOUND = 400, 404
_NO_IMAGE = "nel-no-image/only-options-are-looked-at"


class Hung(SandboxError):
    """No answer came in time: the daemon hangs, or hangs on what was asked about."""


class Stuck(SandboxError):
    """The daemon hangs on one container, and answers otherwise."""

    def __init__(self, container: str) -> None:
        msg = (
            f"docker: the daemon hangs on the sandbox {container} and answers otherwise; the "
            "sandbox is left where it is: restart the daemon or end its processes, then run `nel "
            "sandbox prune`"
        )
        super().__init__(msg, retryable=False)


class _Pools(NamedTuple):
    """Threads for all that is asked, and others for what is removed."""

    work: ThreadPoolExecutor
    removing: ThreadPoolExecutor


class Daemon:
    """Calls of the SDK, which block, in threads of their own.

    Args:
        concurrency: How many sandboxes there are at a time.
        patience: Seconds for one answer that is about a container.

    Attributes:
        api: The client.
        patient: Another for what takes longer: making containers and images, and files.
        stuck: Containers on which the daemon hangs; nothing more is asked about them.
    """

    def __init__(self, concurrency: int, *, patience: float = PATIENCE) -> None:
        self.api: Api = None
        self.patient: Api = None
        self.stuck: set[str] = set()
        self._patience = patience
        self._concurrency = concurrency
        self._pools: _Pools | None = None
        self._fetching = asyncio.Semaphore(4 * concurrency + 8)
        self._connections = 5 * concurrency + 16

    @property
    def _threads(self) -> "_Pools":
        if self._pools is None:
            msg = "docker: the client of the daemon is not open"
            raise RuntimeError(msg)
        return self._pools

    async def open(self) -> None:
        """Connect; also again, once closed. What fails or is cancelled leaves nothing open.

        No end of ours waits for a daemon that does not answer: the thread that connects is one of
        its own.

        Raises:
            ConfigError: Nobody answers.
        """
        connecting: Future[tuple[Api, Api]] = Future()
        args = (connecting, self._connected)
        threading.Thread(target=_into, args=args, name="nel-docker-connect", daemon=True).start()
        try:
            self.api, self.patient = await asyncio.wrap_future(connecting)
        except BaseException:
            connecting.add_done_callback(_let_go)
            raise
        # Executions block a thread each, so that removing must not wait behind them.
        self._pools = _Pools(
            ThreadPoolExecutor(4 * self._concurrency + 8, "nel-docker"),
            ThreadPoolExecutor(min(self._concurrency, 16), "nel-docker-remove"),
        )

    def _connected(self) -> tuple[Api, Api]:
        api = connect(self._connections, self._patience)
        try:
            return api, connect(self._connections, max(_LONG, self._patience))
        except BaseException:
            api.close()
            raise

    async def call(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """Run it in a thread; what the daemon or the way to it did wrong is a SandboxError."""
        job = partial(_translated, function, *args, **kwargs)
        return await asyncio.wrap_future(self._threads.work.submit(job))

    async def on(
        self, container: str, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs
    ) -> T:
        """:meth:`call` for what is about one container.

        Raises:
            Stuck: The daemon hangs on it, now or earlier.
        """
        if container in self.stuck:
            raise Stuck(container)
        try:
            return await self.call(function, *args, **kwargs)
        except Hung as error:
            if not await self.call(answers, self.api):
                raise
            raise self._stuck(container) from error

    def _stuck(self, container: str) -> Stuck:
        error = Stuck(container)
        if container not in self.stuck:
            self.stuck.add(container)
            _LOG.warning("%s", error)
        return error

    async def fetch(self, function: Callable[P, T], /, *args: P.args, **kwargs: P.kwargs) -> T:
        """:meth:`call` for what may take minutes; whoever is cancelled waits for it no more.

        It has a thread that no end of ours waits for: the connection ends with the process, and
        with that the daemon's work.
        """
        async with self._fetching:
            done: Future[T] = Future()
            job = partial(_translated, function, *args, **kwargs)
            threading.Thread(target=_into, args=(done, job), name="nel-image", daemon=True).start()
            return await asyncio.wrap_future(done)

    async def remove(self, container: str) -> None:
        """Remove a container with all that runs in it; one that is not there is well removed.

        One on which the daemon hangs is left, which is said once.
        """
        if container in self.stuck:
            return
        job = self._threads.removing.submit(_translated, remove, self.api, container)
        try:
            await asyncio.shield(asyncio.wrap_future(job))
        except Hung:
            if not await self.call(answers, self.api):
                raise
            self._stuck(container)

    async def close(self) -> None:
        """End the threads and the connections; may be called twice."""
        for pool in self._pools or ():
            await asyncio.to_thread(pool.shutdown, cancel_futures=True)
        self._pools = None
        for api in (self.api, self.patient):
            if api is not None:
                api.close()
        self.api = self.patient = None


def _let_go(connecting: "Future[tuple[Api, Api]]") -> None:
    """Close clients for which nobody waits any more."""
    if not connecting.cancelled() and connecting.exception() is None:
        for api in connecting.result():
            api.close()


def _into(done: "Future[T]", job: Callable[[], T]) -> None:
    if not done.set_running_or_notify_cancel():
        return
    try:
        result = job()
    except BaseException as error:  # noqa: BLE001 - as an executor: whoever waits gets it
        done.set_exception(error)
    else:
        done.set_result(result)


def connect(connections: int = 10, patience: float = PATIENCE) -> Api:
    """A client of the daemon that the environment names (blocking).

    Args:
        connections: At most so many at a time.
        patience: Seconds for one answer.

    Raises:
        ConfigError: Nobody answers; what was tried, and what to do.
    """
    host = getenv("DOCKER_HOST") or DEFAULT_HOST
    docker: Any = import_module("docker")
    why = _unreachable(host)
    if why is None:
        try:
            found = docker.from_env(timeout=patience, max_pool_size=connections, version="auto")
        except (docker.errors.DockerException, OSError) as error:
            why = showable(str(error), 300)
        else:
            return found.api
    said = "DOCKER_HOST" if getenv("DOCKER_HOST") else "DOCKER_HOST is not set"
    msg = (
        f"sandboxes of type docker want a docker daemon, and none answers at {host} ({said}): "
        f"{why}. Start it, or set DOCKER_HOST to where it listens; for code that you trust, type "
        "local needs none"
    )
    raise ConfigError(msg)


def _unreachable(host: str) -> str | None:
    """Why nobody listens at a socket; the SDK would leave one open that cannot be connected."""
    if not host.startswith("unix://"):
        return None
    with socket.socket(socket.AF_UNIX) as tried:
        tried.settimeout(_LOOK)
        try:
            tried.connect(host.removeprefix("unix://"))
        except OSError as error:
            return error.strerror or str(error)
    return None


def _translated(function: Callable[P, T], *args: P.args, **kwargs: P.kwargs) -> T:
    docker: Any = import_module("docker")
    requests: Any = import_module("requests")
    try:
        return function(*args, **kwargs)
    except docker.errors.DockerException as error:
        msg = f"docker: {explained(error)}"
        raise SandboxError(msg) from error
    except requests.Timeout as error:
        msg = f"docker: the daemon does not answer: {showable(str(error), 300)}"
        raise Hung(msg) from error
    except (requests.RequestException, OSError) as error:
        if isinstance(error, FileNotFoundError | IsADirectoryError | WrongPath):  # of files inside
            raise
        msg = f"docker: the daemon does not answer: {showable(str(error), 300)}"
        raise SandboxError(msg) from error


def explained(error: Exception) -> str:
    """What an error of the SDK says."""
    return showable(str(getattr(error, "explanation", None) or error), 500)


def status_of(error: Exception) -> int | None:
    """The HTTP status of an error of the SDK, where it has one."""
    status: int | None = getattr(error, "status_code", None)
    return status


def remove(api: Api, container: str) -> bool:
    """Remove a container (blocking); whether it was there."""
    docker: Any = import_module("docker")
    try:
        api.remove_container(container, force=True, v=True)
    except docker.errors.APIError as error:
        if status_of(error) not in {_NOT_FOUND, CONFLICT}:  # 409: another is removing it
            raise
        return False
    return True


def answers(api: Api, about: str = "_ping") -> bool:
    """Whether the daemon answers soon (blocking).

    Args:
        api: The daemon.
        about: A path of its API, such as ``containers/NAME/json``.
    """
    requests: Any = import_module("requests")
    try:
        api.get(f"{api.base_url}/v{api.api_version}/{about}", timeout=min(_LOOK, api.timeout))
    except (requests.RequestException, OSError):
        return False
    return True


def processors(api: Api) -> float:
    """How many the daemon has (blocking); it makes no container that may use more."""
    return float(api.info().get("NCPU") or 1)


def refuse_settings(api: Api, settings: Mapping[str, Any]) -> None:
    """Have the daemon look at the options of containers without making one (blocking).

    It looks at them first and at the image afterwards, of which there is none.

    Raises:
        ConfigError: It would make no container with them.
    """
    docker: Any = import_module("docker")
    host = api.create_host_config(**{**settings, "storage_opt": None})  # needs an image: see there
    try:
        api.create_container(_NO_IMAGE, ["true"], host_config=host)
    except docker.errors.APIError as error:
        if status_of(error) == _REFUSED:
            msg = (
                f"sandbox of type docker: the daemon makes no container like that: "
                f"{explained(error)}: change memory, cpus, pids, shm_size, file_size or cap_add"
            )
            raise ConfigError(msg) from error


def is_running(api: Api, container: str) -> bool:
    """Whether a container runs (blocking); one that is not there does not."""
    docker: Any = import_module("docker")
    try:
        return bool(api.inspect_container(container)["State"]["Running"])
    except docker.errors.NotFound:
        return False


def host_of(url: str) -> str | None:
    """The host of a URL, where it has one."""
    return urlsplit(url).hostname
