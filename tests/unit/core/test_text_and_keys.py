"""Names, digests, shards and text that can be stored and shown."""

import json
import re
from xml.etree import ElementTree as ET

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.core.errors import (
    ConfigError,
    EndpointRefused,
    FailureKind,
    InfraError,
    JournalError,
    NelError,
    RunStopped,
    ScorerError,
    UnknownName,
)
from pytest_nel.core.keys import digest, item_name, safe_name, shard_range
from pytest_nel.core.registry import Registry
from pytest_nel.core.text import showable, storable

ANY = st.text(st.characters(exclude_categories=[]), max_size=80)


@given(ANY, ANY)
def test_distinct_names_stay_distinct_and_short(one: str, two: str) -> None:
    safe = [safe_name(one), safe_name(two)]

    assert all(re.fullmatch(r"[A-Za-z0-9_.-]{0,60}", name) for name in safe)
    assert (safe[0] == safe[1]) == (one == two)


@given(ANY, st.integers(0, 10**9), st.integers(0, 10**6))
def test_an_items_name_is_ascii_and_at_most_a_hundred_characters(
    name: str, problem: int, repeat: int
) -> None:
    item = item_name(name, problem, repeat)

    assert item.isascii()
    assert len(item) <= 100
    assert item.endswith(f"[{problem}-r{repeat}]")


@given(total=st.integers(0, 500), count=st.integers(1, 40))
def test_shards_cover_everything_once_and_fairly(total: int, count: int) -> None:
    ranges = [shard_range(total, index, count) for index in range(count)]

    covered = [position for start, stop in ranges for position in range(start, stop)]
    sizes = [stop - start for start, stop in ranges]
    assert covered == list(range(total))
    assert max(sizes) - min(sizes) <= 1


@pytest.mark.parametrize("index", [-1, 3])
def test_a_shard_that_does_not_exist_is_refused(index: int) -> None:
    with pytest.raises(ValueError, match=r"out of range \[0, 3\)"):
        shard_range(10, index, 3)


@given(st.dictionaries(st.text(max_size=5), st.integers() | st.text(max_size=5), max_size=6))
def test_a_digest_does_not_depend_on_the_order_of_keys(value: dict[str, object]) -> None:
    backwards = dict(reversed(list(value.items())))

    assert digest(value) == digest(backwards)
    assert re.fullmatch("sha256:[0-9a-f]{64}", digest(value))


def test_what_differs_has_another_digest() -> None:
    values = [None, 0, 0.5, "", "0", [], [0], {}, {"a": 0}, {"a": None}]

    assert len({digest(value) for value in values}) == len(values)


@given(ANY)
def test_stored_text_is_utf8_and_untouched_where_it_was(text: str) -> None:
    stored = storable(text)

    assert stored.encode("utf-8").decode("utf-8") == stored
    try:
        text.encode("utf-8")
    except UnicodeEncodeError:
        assert "\ufffd" in stored or len(stored) < len(text)
    else:
        assert stored == text


def test_a_pair_of_surrogates_becomes_its_character() -> None:
    assert storable("\ud835\udfd2") == "\U0001d7d2"


@given(ANY, st.integers(10, 200))
def test_shown_text_can_stand_in_xml_and_is_short(text: str, limit: int) -> None:
    shown = showable(text * 3, limit)

    element = ET.Element("x")
    element.text = shown
    ET.fromstring(ET.tostring(element))  # noqa: S314  # made a line above
    assert len(shown) <= limit + 30
    assert "\x1b" not in shown


def test_what_is_cut_is_the_middle() -> None:
    shown = showable("topic " + "x" * 5000 + " answer", 60)

    assert shown.startswith("topic")
    assert shown.endswith("answer")
    assert "4953 characters" in shown


@pytest.mark.parametrize(
    ("error", "kind", "retryable"),
    [
        (InfraError("x"), FailureKind.INFRA, True),
        (EndpointRefused("x"), FailureKind.AUTH, False),
        (ScorerError("x"), FailureKind.SCORER, False),
    ],
)
def test_failures_of_the_machinery_know_their_kind(
    error: InfraError, kind: FailureKind, *, retryable: bool
) -> None:
    assert (error.kind, error.retryable) == (kind, retryable)
    assert json.dumps(error.kind) == f'"{kind}"'


def test_the_tree_of_errors_has_one_root_and_infra_is_no_config() -> None:
    assert all(issubclass(kind, NelError) for kind in (ConfigError, InfraError, RunStopped))
    assert issubclass(JournalError, RunStopped)
    assert not issubclass(InfraError, ConfigError)


def test_an_unknown_name_is_told_its_neighbour() -> None:
    registry: Registry[object] = Registry("colours", {"red": "m:R", "green": "m:G"})

    with pytest.raises(UnknownName, match=r"unknown colours 'gren'\. Did you mean 'green'"):
        registry.load("gren")

    assert list(registry) == ["green", "red"]
