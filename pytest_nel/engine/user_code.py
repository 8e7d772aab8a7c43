"""Calling what users have written: whatever it does, the loop and its workers live on."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any, TypeVar

T = TypeVar("T")


class UserCodeEnded(Exception):
    """A user's code tried to end the process, or was cancelled by something of its own."""


async def of_user(call: Callable[..., Awaitable[T]], *args: Any, **named: Any) -> T:
    """Await a user's code; what would end the worker or the loop becomes an ordinary error.

    Any: whatever the user's function takes.
    """
    try:
        return await call(*args, **named)
    except (Exception, GeneratorExit):  # the latter: our own coroutine is being closed
        raise
    except asyncio.CancelledError as error:
        task = asyncio.current_task()
        if task is not None and task.cancelling():
            raise  # we cancel it: a deadline, or the end of the run
        msg = "it was cancelled, and not by pytest-nel"
        raise UserCodeEnded(msg) from error
    except SystemExit as error:
        msg = f"it called sys.exit({error.code!r})"
        raise UserCodeEnded(msg) from error
    except BaseException as error:  # pytest.skip(), a BaseExceptionGroup
        raise UserCodeEnded(says(error)) from error


def still_wanted() -> None:
    """Go on, unless the run is being ended: somebody's code may have kept that to itself.

    What it has done then is no answer and no judgement. Limits of time in force must be over:
    they, too, cancel.

    Raises:
        CancelledError: The run is being ended.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


def says(error: BaseException) -> str:
    """``ValueError: what it says``, on one line."""
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text}" if text else type(error).__name__
