"""Starts that nobody wants any more."""

import threading

from pytest_nel.engine.starting import while_wanted


def test_a_start_that_is_not_wanted_any_more_is_ended_until_it_returns() -> None:
    ended = threading.Event()
    tries = []

    def stop() -> None:
        tries.append(True)
        if len(tries) == 2:  # the first came too early: nothing ran yet
            ended.set()

    with while_wanted(lambda: True, stop):
        assert ended.wait(5)

    assert len(tries) == 2


def test_a_start_that_is_wanted_is_let_be() -> None:
    tries: list[bool] = []

    with while_wanted(lambda: False, lambda: tries.append(True)):
        threading.Event().wait(0.5)

    assert tries == []
