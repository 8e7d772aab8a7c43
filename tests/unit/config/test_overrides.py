"""Values that a command line puts into a suite."""

import contextlib
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.config._document import Place
from pytest_nel.config.overrides import (
    Override,
    apply_overrides,
    masked_override,
    read_override,
    written_override,
)
from pytest_nel.config.tree import composed_of, planted
from pytest_nel.core.errors import ConfigError

SUITE = {
    "services": {"m": {"url": "http://h", "api_key": "${KEY}"}, "my.m": {"port": 1}},
    "benchmarks": [{"name": "a", "shuffle_seed": 1}, {"name": "b"}],
}


def applied(*overrides: str) -> Any:
    root = planted(SUITE, Place("s.yaml", 1))
    return composed_of(apply_overrides(root, map(read_override, overrides))).value


def complaint(*overrides: str) -> str:
    with pytest.raises(ConfigError) as caught:
        applied(*overrides)
    return str(caught.value)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("1", 1),
        ("1e3", 1000.0),
        ("true", True),
        ("no", "no"),
        ("none", "none"),
        ("", ""),
        ("~", None),
        ("NULL", None),
        ("[1, two, {a: 3}]", [1, "two", {"a": 3}]),
        ("{a: 1, b: [x]}", {"a": 1, "b": ["x"]}),
        ("'1'", "1"),
        ("http://h:1/v1?a=b", "http://h:1/v1?a=b"),
        ("Answer: yes", "Answer: yes"),
        ("*x", "*x"),
        (" spaced  ", "spaced"),
        ("# no comment", "# no comment"),
    ],
)
def test_a_value_has_the_kind_it_looks_like(text: str, value: object) -> None:
    assert read_override(f"a.b={text}") == Override(("a", "b"), value)


@pytest.mark.parametrize(
    ("text", "path"),
    [
        ("a.b[0].c=1", ("a", "b", 0, "c")),
        ("a.b.0.c=1", ("a", "b", "0", "c")),
        ('services."my.model".url=1', ("services", "my.model", "url")),
        ("services.'my model'.url=1", ("services", "my model", "url")),
        ("a-b/c.d_e=1", ("a-b/c", "d_e")),
        ('"a=b"=1', ("a=b",)),
        ("x[0][1]=1", ("x", 0, 1)),
    ],
)
def test_a_path_may_have_indices_and_quoted_names(text: str, path: tuple[str | int, ...]) -> None:
    assert read_override(text).path == path


def test_values_are_set_added_and_deleted() -> None:
    value = applied(
        "benchmarks[1].name=c",
        "benchmarks.0.repeats=3",
        "benchmarks[0].shuffle_seed=null",
        'services."my.m".port=2',
        "services.m.api_key=null",
        "output.deep.er=[1]",
    )

    assert value == {
        "services": {"m": {"url": "http://h"}, "my.m": {"port": 2}},
        "benchmarks": [{"name": "a", "shuffle_seed": None, "repeats": 3}, {"name": "c"}],
        "output": {"deep": {"er": [1]}},
    }


def test_the_last_of_two_counts_and_the_original_stays_as_it_was() -> None:
    root = planted(SUITE, Place("s.yaml", 1))

    changed = apply_overrides(root, map(read_override, ["services.m.url=1", "services.m.url=2"]))

    assert composed_of(changed).value["services"]["m"]["url"] == 2
    assert composed_of(root).value == SUITE


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("services", "override 'services': expected PATH=VALUE such as benchmarks[0].repeats=4"),
        ("=s3cret", "expected a name at the beginning"),
        ("a..b=s3cret", "expected a name after 'a.', got '.'"),
        ("a[x]=s3cret", "there is a '[' where = was expected"),
        ("a.=s3cret", "expected a name after 'a.', got nothing"),
        ("a b=s3cret", "there is a ' ' where = was expected"),
        ("services.m.api_key=[s3cret", "its value cannot be read as YAML"),
        ('a="s3cret" x', "its value cannot be read as YAML: not valid YAML"),
        ("a=" + "9" * 5000, "is no number that can be read"),
        (".".join("a" * 200) + "=s3cret", "more than 100 parts"),
        ("benchmarks[2].name=s3cret", "benchmarks has no entry 2, the indices are 0 to 1"),
        ("benchmarks.gsm8k.name=s3cret", "pick an entry by its index, not by 'gsm8k'"),
        ("services[0].url=s3cret", "services is no list, so it has no entry [0]"),
        ("services.m.url.x=s3cret", "services.m.url is 'http://h', which has nothing inside it"),
        ("services.m.api_key.x=s3cret", "services.m.api_key is a text, which has nothing inside"),
        ("services.m.uri=null", "nothing to delete. Did you mean 'url'?"),
        ("new[0]=s3cret", "new is no list"),
    ],
)
def test_what_leads_nowhere_is_refused_without_showing_the_value(text: str, said: str) -> None:
    message = complaint(text)

    assert said in message
    assert message.startswith("override ")
    assert "s3cret" not in message


def test_a_secret_in_an_override_is_masked() -> None:
    assert masked_override(read_override("services.m.env.HF_TOKEN=s3cret")) == (
        "services.m.env.HF_TOKEN=***"
    )
    assert masked_override(read_override("a.b=[1]")) == "a.b=[1]"


NAMES = st.text(st.characters(codec="utf-8"), max_size=8)
VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | NAMES,
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(NAMES, inner, max_size=3),
    max_leaves=8,
)
PATHS = st.tuples(NAMES, st.lists(NAMES | st.integers(0, 10**9 - 1), max_size=4).map(tuple))


@given(PATHS.map(lambda path: (path[0], *path[1])), VALUES)
def test_an_override_that_is_written_is_read_as_it_was(path: Any, value: Any) -> None:
    override = Override(path, value)

    assert read_override(written_override(override)) == override


@given(st.text(alphabet=st.sampled_from("ab.[]0=\"' {}:,~$\\\n"), max_size=20))
def test_any_text_is_an_override_or_a_config_error(text: str) -> None:
    with contextlib.suppress(ConfigError):
        assert applied(text) is not None
