"""What runs inside a worker process: tasks from one pipe, results into another.

Its limits are the operating system's, so that no task can wait them out, and none needs a signal
handler: the one on processor time ends the process.
"""

import json
import os
import resource
import select
import sys
from collections.abc import Callable, Iterator
from importlib import import_module
from typing import Any

from pytest_nel.scoring.bounded import MEMORY_BYTES

_BOUNDS = '{"bounds": '
_LOOK_UP_SECONDS = 5.0  # how often an idle worker looks whether its parent is still there


def serve() -> None:
    """Answer tasks until the pipe ends or the parent is gone."""
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    _, hard = resource.getrlimit(resource.RLIMIT_AS)
    memory = MEMORY_BYTES if hard == resource.RLIM_INFINITY else min(MEMORY_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (memory, hard))
    for line in _lines():
        reply = _reply(line)
        sys.stdout.write(reply + "\n")
        sys.stdout.flush()
        if reply.startswith(_BOUNDS):
            return  # what is left of a process without memory or stack serves nobody


def _lines() -> Iterator[bytes]:
    """Lines of the standard input, read so that a parent killed while others hold the pipe shows.

    A process that was forked from the parent may have inherited the writing end.
    """
    parent = os.getppid()
    poll = select.poll()
    poll.register(0, select.POLLIN)
    waiting = b""
    while os.getppid() == parent:
        if not poll.poll(_LOOK_UP_SECONDS * 1000):
            continue
        piece = os.read(0, 65536)
        if not piece:
            return
        *lines, waiting = (waiting + piece).split(b"\n")
        yield from lines


def _reply(line: bytes) -> str:
    """The reply in JSON; that there was no memory for it, or for the task, is a reply too."""
    try:
        return json.dumps(_answer(line))
    except (MemoryError, RecursionError) as error:
        name = type(error).__name__
    return f'{_BOUNDS}"{name}"}}'


def _answer(line: bytes) -> dict[str, Any]:
    task, arguments, seconds = json.loads(line)
    try:
        function = _function(task)
    except Exception as error:  # noqa: BLE001  # an import may raise anything
        return {"broken": f"{task} cannot be loaded: {type(error).__name__}: {error}"}
    _allow(seconds)
    try:
        return {"result": function(*arguments)}
    except (MemoryError, RecursionError):
        raise
    except Exception as error:  # noqa: BLE001  # a library's; the parent says what it means
        return {"error": f"{type(error).__name__}: {error}"[:2000]}
    finally:
        _allow_all()


def _function(task: str) -> Callable[..., Any]:
    """Load a task and what it will import, before its processor time is counted."""
    name, _, attribute = task.partition(":")
    module = import_module(f"pytest_nel.scoring.{name}")
    for needed in getattr(module, "NEEDS", ()):
        import_module(needed)
    function: Callable[..., Any] = getattr(module, attribute)
    return function


def _allow(seconds: int) -> None:
    """Let the process run that much longer: the limit counts from its start, in whole seconds."""
    used = resource.getrusage(resource.RUSAGE_SELF)
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    limit = int(used.ru_utime + used.ru_stime) + seconds + 1
    soft = limit if hard == resource.RLIM_INFINITY else min(limit, hard)
    resource.setrlimit(resource.RLIMIT_CPU, (soft, hard))


def _allow_all() -> None:
    """What a task has left over must not have to do for what loads the next one."""
    _, hard = resource.getrlimit(resource.RLIMIT_CPU)
    resource.setrlimit(resource.RLIMIT_CPU, (hard, hard))
