"""References to another place of the suite."""

from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from pytest_nel.config._document import Place
from pytest_nel.config.interpolate import dotted
from pytest_nel.config.self_references import resolve_self_references
from pytest_nel.config.tree import composed_of, planted


def resolved(value: Any) -> Any:
    root, problems = resolve_self_references(planted(value, Place("s", 1)))
    assert problems == []
    return composed_of(root).value


def complaints(value: Any) -> list[str]:
    _, problems = resolve_self_references(planted(value, Place("s", 1)))
    return [f"{dotted(path)}: {message}" for path, message in problems]


def test_a_whole_value_keeps_its_kind() -> None:
    value: dict[str, Any] = {"a": {"n": 5, "f": 0.5, "y": True, "z": None, "l": [1, {"x": 2}]}}
    value |= {key: f"${{.a.{key}}}" for key in "nfyzl"}

    found = resolved(value)

    assert [found[key] for key in "nfyzl"] == [5, 0.5, True, None, [1, {"x": 2}]]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("${.a}-world", "hello-world"),
        ("http://localhost:${.port}", "http://localhost:5000"),
        ("${.on} ${.a}", "true hello"),
        ("${.list[1].x}!", "two!"),
        ("${.list.1.x}!", "two!"),
        ("${.my-name}", "dash"),
        ('${."a.b"}', "dot"),
        ("$${.a}", "$${.a}"),
        ("$${.a} ${.a}", "$${.a} hello"),
        ("${KEY}/${.a}", "${KEY}/hello"),
        ("${.key}", "${KEY}"),
        ("${.chain}", "5000!"),
        ("${.whole.x}", "two"),
        ("$.a ${a}", "$.a ${a}"),
    ],
)
def test_a_reference_is_replaced_by_what_it_leads_to(text: str, expected: str) -> None:
    suite = {
        "a": "hello",
        "port": 5000,
        "on": True,
        "list": [1, {"x": "two"}],
        "my-name": "dash",
        "a.b": "dot",
        "key": "${KEY}",
        "chain": "${.next}",
        "next": "${.port}!",
        "whole": "${.list[1]}",
        "it": text,
    }

    assert resolved(suite)["it"] == expected


def test_a_circle_is_named_and_reported_once() -> None:
    assert complaints({"a": {"b": "${.c}"}, "c": "x${.d}", "d": "${.a.b}"}) == [
        "d: refers to itself: a.b → c → d → a.b"
    ]


@pytest.mark.parametrize("value", ["${.a}", "x${.a}", "${.a.b}"])
def test_a_reference_to_what_it_stands_in_is_a_circle(value: str) -> None:
    (message,) = complaints({"a": {"b": value}})

    assert "refers to itself" in message or "cannot stand inside text" in message


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("${.servces.m}", "leads nowhere: the suite has no 'servces'. Did you mean 'services'?"),
        ("${.services.x}", "services has no 'x'"),
        ("${.list[3]}", "list has 1 entries, no 3"),
        ("${.list.x}", "list has 1 entries, no 'x'"),
        ("${.text.x}", "text has nothing inside it"),
        ("x ${.services}", "${.services} is a mapping, which cannot stand inside text"),
        ("x ${.nothing}", "${.nothing} is null, which cannot stand inside text"),
        ("${.}", "is no path such as ${.services.model.url}"),
        ("${.a..b}", "is no path"),
        ("${.text x}", "expected a dot or an index at ' x'"),
    ],
)
def test_what_leads_nowhere_is_a_problem_of_the_place_that_says_it(text: str, said: str) -> None:
    suite = {"services": {"m": 1}, "list": [0], "text": "t", "nothing": None, "it": [text]}

    (message,) = complaints(suite)

    assert message.startswith("it[0]: ")
    assert said in message


def test_references_that_explode_are_refused() -> None:
    values: dict[str, Any] = {"v0": ["x"] * 10}
    values |= {f"v{n}": [f"${{.v{n - 1}}}"] * 10 for n in range(1, 12)}
    texts = {"t0": "x" * 100} | {f"t{n}": f"${{.t{n - 1}}}" * 10 for n in range(1, 12)}

    assert complaints(values) == [": references make this suite too large"]
    assert "references make this text too long" in complaints(texts)[0]


@pytest.mark.parametrize("backwards", [False, True])
def test_a_chain_without_end_is_refused_in_whatever_order(backwards: bool) -> None:  # noqa: FBT001
    chain = {f"v{n}": f"${{.v{n + 1}}}" for n in range(80)} | {"v80": "end"}
    if backwards:
        chain = dict(reversed(chain.items()))

    assert any("leads through more than 50" in message for message in complaints(chain))


KEYS = st.sampled_from(["a", "b", "c", "d"])
TEXTS = st.lists(
    st.sampled_from(["${.a}", "${.b}", "${.c}", "${.a.b}", "${.c[0]}", "${.d.a.b}", "x", "$${.a}"]),
    max_size=3,
).map("".join)
TREES = st.dictionaries(
    KEYS,
    st.recursive(
        TEXTS | st.integers(0, 3) | st.none(),
        lambda inner: st.lists(inner, max_size=2) | st.dictionaries(KEYS, inner, max_size=3),
        max_leaves=8,
    ),
    max_size=4,
)


def turned(value: Any) -> Any:
    """The same with the keys in another order."""
    if isinstance(value, dict):
        return {key: turned(inner) for key, inner in reversed(value.items())}
    return [turned(inner) for inner in value] if isinstance(value, list) else value


@settings(max_examples=300)
@given(TREES)
def test_any_references_end_and_the_order_of_keys_does_not_matter(value: Any) -> None:
    root, problems = resolve_self_references(planted(value, Place("s", 1)))
    other, others = resolve_self_references(planted(turned(value), Place("s", 1)))

    assert bool(problems) == bool(others)
    if not problems:
        assert composed_of(root).value == composed_of(other).value
