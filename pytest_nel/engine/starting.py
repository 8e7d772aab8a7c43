"""A start that takes minutes ends as soon as nobody wants it any more."""

import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

_LOOK = 0.2
"""Seconds between two looks, and between two tries to end what is being started."""


@contextmanager
def while_wanted(over: Callable[[], bool], stop: Callable[[], None]) -> Iterator[None]:
    """Around a start that blocks: end it from a thread once it is over.

    A signal handler may do no more than say so: what ends a server takes locks.

    Args:
        over: Whether nobody waits for it any more.
        stop: Ends what is being started; called until the start has returned.
    """
    done = threading.Event()

    def watch() -> None:
        while not done.wait(_LOOK):
            if over():
                stop()

    watcher = threading.Thread(target=watch, name="nel-start-watch", daemon=True)
    watcher.start()
    try:
        yield
    finally:
        done.set()
        watcher.join()
