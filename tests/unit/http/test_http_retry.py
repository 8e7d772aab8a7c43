"""Retry policies and the Retry-After header."""

import email.utils
import random

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.core.errors import FailureKind
from pytest_nel.http.retry import Exponential, Fault, Jittered, Retry, parse_retry_after

NOW = 1_700_000_000.25


def fault(*, retry_after: float | None = None, retryable: bool = True) -> Fault:
    return Fault(FailureKind.RATE_LIMIT, "HTTP 429", "", 429, retry_after, retryable)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("2", 2.0),
        (" 2 ", 2.0),
        ("0", 0.0),
        ("1.2", 2.0),
        ("-1", None),
        ("soon", None),
        ("", None),
        (None, None),
        ("nan", None),
        ("inf", None),
        ("1e9", None),
        ("Fri, 99 Foo 2023 25:00:00 GMT", None),
    ],
)
def test_seconds_are_read_and_rounded_up(value: str | None, seconds: float | None) -> None:
    assert parse_retry_after(value, NOW) == seconds


def test_a_date_is_rounded_up_to_whole_seconds() -> None:
    date = email.utils.formatdate(1_700_000_002, usegmt=True)

    assert parse_retry_after(date, NOW) == 2.0


def test_a_date_in_the_past_means_now() -> None:
    date = email.utils.formatdate(1_600_000_000, usegmt=True)

    assert parse_retry_after(date, NOW) == 0.0


@settings(deadline=None)
@given(st.text(max_size=60))
def test_any_text_is_seconds_or_nothing(value: str) -> None:
    seconds = parse_retry_after(value, NOW)

    assert seconds is None or (seconds >= 0 and seconds == int(seconds))


def test_waits_double_up_to_the_cap() -> None:
    wait = Exponential()

    assert [wait.seconds(n) for n in (1, 2, 3, 7, 5000)] == [1, 2, 4, 60, 60]


@settings(deadline=None)
@given(st.integers(1, 200), st.integers(0, 10**6))
def test_jitter_stays_within_half_and_one_and_a_half(failures: int, seed: int) -> None:
    plain = Exponential()
    wait = Jittered(plain, rng=random.Random(seed))

    assert 0.5 <= wait.seconds(failures) / plain.seconds(failures) <= 1.5


@settings(deadline=None)
@given(st.floats(0, 120), st.integers(1, 5))
def test_no_wait_is_shorter_than_told(told: float, made: int) -> None:
    pause = Retry(attempts=6).pause(fault(retry_after=told), made)

    assert pause is not None
    assert pause >= told


def test_the_last_attempt_is_not_followed_by_another() -> None:
    retry = Retry(attempts=3, wait=Exponential())

    assert [retry.pause(fault(), made) for made in (1, 2, 3)] == [1, 2, None]


def test_what_a_retry_cannot_cure_is_not_retried() -> None:
    assert Retry().pause(fault(retryable=False), 1) is None


def test_too_long_a_wait_is_refused() -> None:
    assert Retry().pause(fault(retry_after=121), 1) is None
    assert Retry().pause(fault(retry_after=120), 1) is not None
