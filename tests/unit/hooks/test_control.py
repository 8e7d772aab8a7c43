"""What the controller says reaches its workers, whole, and only when it is new."""

from pathlib import Path

from pytest_nel.hooks.control import CONTROL, Adoption, Control, Listener

SAID = Control(stop=False, live=["gw1"], adopt={"gw1": Adoption(3, [0, 2])})


def test_a_worker_hears_what_was_said(tmp_path: Path) -> None:
    SAID.write(tmp_path)

    heard = Listener(tmp_path).news()

    assert heard == SAID


def test_nothing_is_heard_twice(tmp_path: Path) -> None:
    listener = Listener(tmp_path)
    SAID.write(tmp_path)

    heard = [listener.news(now=True) for _ in range(3)]

    assert heard == [SAID, None, None]


def test_what_is_said_in_the_same_moment_is_heard_too(tmp_path: Path) -> None:
    listener = Listener(tmp_path)
    SAID.write(tmp_path)
    listener.news(now=True)
    Control(stop=True).write(tmp_path)

    heard = listener.news(now=True)

    assert heard == Control(stop=True)


def test_a_worker_looks_a_few_times_a_second_and_at_once_when_it_must(tmp_path: Path) -> None:
    listener = Listener(tmp_path)
    silent = listener.news()
    SAID.write(tmp_path)

    heard = [listener.news(), listener.news(now=True)]

    assert silent is None
    assert heard == [None, SAID]


def test_a_file_that_is_gone_says_nothing(tmp_path: Path) -> None:
    listener = Listener(tmp_path)
    SAID.write(tmp_path)
    listener.news(now=True)
    (tmp_path / CONTROL).unlink()

    heard = listener.news(now=True)

    assert heard is None
