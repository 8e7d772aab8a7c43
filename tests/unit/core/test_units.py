"""Sizes and durations as people write them."""

import contextlib
import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.units import seconds_of, size_of, size_text


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("0", 0),
        ("4096", 4096),
        ("7B", 7),
        ("2GB", 2_000_000_000),
        ("2gb", 2_000_000_000),
        (" 1.1 GB ", 1_100_000_000),
        ("512MiB", 512 * 2**20),
        ("0.5KiB", 512),
        ("3kB", 3000),
        ("1TiB", 2**40),
        ("1TB", 10**12),
    ],
)
def test_a_size_is_read_as_bytes(text: str, value: int) -> None:
    assert size_of(text) == value


@pytest.mark.parametrize(
    "text",
    ["", "GB", "2G", "-1GB", "1e9", "2 GB GB", "2PB", "inf", "２GB", "1_000", "9999999999TB"],
)
def test_what_is_no_size_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="such as 2GB or 512MiB") as raised:
        size_of(text)

    assert repr(text) in str(raised.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("45s", 45.0),
        ("90m", 5400.0),
        ("90min", 5400.0),
        ("12h", 43_200.0),
        ("30d", 2_592_000.0),
        ("1.5D", 129_600.0),
        ("2w", 1_209_600.0),
        ("0d", 0.0),
    ],
)
def test_a_duration_is_read_as_seconds(text: str, value: float) -> None:
    assert seconds_of(text) == value


@pytest.mark.parametrize("text", ["", "30", "d", "-1d", "1d12h", "3 months", "1y", "nan", "infd"])
def test_what_is_no_duration_is_refused_with_examples(text: str) -> None:
    with pytest.raises(ValueError, match="such as 30d or 12h") as raised:
        seconds_of(text)

    assert repr(text) in str(raised.value)


@given(st.from_regex(r"\s*[0-9.,٣]{1,20}\s*[kKgGiIbBdDhHmMsſK]{0,3}\s*", fullmatch=True))
def test_any_text_is_a_value_or_a_refusal(text: str) -> None:
    for read in (size_of, seconds_of):
        with contextlib.suppress(ValueError):
            value = read(text)

            assert math.isfinite(value)
            assert value >= 0
            assert text.isascii()


@given(st.integers(0, 10**16))
def test_a_size_that_is_shown_reads_as_nearly_itself(count: int) -> None:
    shown = size_text(count)

    assert size_of(shown) == pytest.approx(count, rel=0.06, abs=0)
    assert shown.endswith("TB") or len(shown) <= len("999.9 MB")


@pytest.mark.parametrize(
    ("count", "text"),
    [(0, "0 B"), (999, "999 B"), (1000, "1.0 kB"), (999_949, "999.9 kB"), (999_950, "1.0 MB")],
)
def test_a_size_is_shown_with_the_unit_that_fits(count: int, text: str) -> None:
    assert size_text(count) == text
