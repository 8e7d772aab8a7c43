"""Benchmarks of a large gate spread over processes: for commands only, never inside pytest."""

import gc
import os
import signal
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from contextlib import contextmanager
from multiprocessing import get_context
from typing import Any, TypeVar

_T = TypeVar("_T")
_PAYS_FROM = 200_000_000  # bytes of rows: 1.5 s of one process, three times what starting two costs
_MOST = 4  # each takes about 100 MB before its first row


def processes_for(weight: int, benchmarks: int) -> int:
    """How many processes are worth it; 1 for the one that asks.

    Args:
        weight: Bytes of rows to be read.
        benchmarks: None is split.
    """
    return min(_cores(), _MOST, benchmarks) if weight >= _PAYS_FROM else 1


def _cores() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_processes(count: int) -> Callable[[Callable[[str], _T], Sequence[str]], Iterator[_T]]:
    """A ``map`` over that many processes, in order; where they die, over this one.

    What is called goes to each of them once, pickled.
    """

    def spread(function: Callable[[str], _T], names: Sequence[str]) -> Iterator[_T]:
        pool = ProcessPoolExecutor(
            count, mp_context=get_context("spawn"), initializer=_take, initargs=(function,)
        )
        given = 0
        try:
            with _deaf():
                results = pool.map(_call, names)
            for result in results:
                yield result
                given += 1
        except BrokenProcessPool:  # out of memory, or a script without a __main__ guard
            yield from map(function, names[given:])
        finally:
            pool.shutdown(cancel_futures=True)

    return spread


@contextmanager
def _deaf() -> Iterator[None]:
    """Ctrl-C is held back, and never heard by what is started meanwhile: it inherits the mask."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


_TAKEN: list[Callable[[str], Any]] = []


def _take(function: Callable[[str], Any]) -> None:
    gc.disable()  # rows are many and hold no cycles: looking for some costs a tenth
    _TAKEN[:] = [function]


def _call(name: str) -> Any:
    return _TAKEN[0](name)
