"""Merging: what holds for any values."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_nel.config._document import Place
from pytest_nel.config.tree import Node, composed_of, merge, planted, pruned

KEYS = st.sampled_from(["a", "b", "c"])


def shaped(depth: int, leaves: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    """Trees in which a mapping stands only at the same places, so that kinds never conflict."""
    if depth == 0:
        return leaves
    inner = {"a": leaves, "b": shaped(depth - 1, leaves), "c": shaped(depth - 1, leaves)}
    return st.fixed_dictionaries({}, optional=inner)


LEAVES = st.none() | st.integers(0, 3) | st.lists(st.integers(0, 2) | st.none(), max_size=2)
LAYERS = shaped(2, LEAVES)


def node(value: Any) -> Node:
    return planted(value, Place("s", 1))


def plain(tree: Node) -> Any:
    return composed_of(pruned(tree)).value


@pytest.mark.parametrize(
    ("lower", "upper", "merged"),
    [
        ({"x": {"a": 1, "b": 2}}, {"x": {"b": 3, "c": 4}}, {"x": {"a": 1, "b": 3, "c": 4}}),
        ({"i": [1, 2, 3]}, {"i": [4, 5]}, {"i": [4, 5]}),
        ({"i": {"a": 1}}, {"i": 5}, {"i": 5}),
        ({"i": 5}, {"i": {"a": 1}}, {"i": {"a": 1}}),
        ({"a": {"b": 1, "c": 2}}, {"a": {"b": None}}, {"a": {"c": 2}}),
        ({"a": {"b": 1}}, {"a": None}, {}),
        ({"a": 1}, {"b": None}, {"a": 1, "b": None}),
        ({"l": 0}, {"l": [1, None]}, {"l": [1, None]}),
    ],
)
def test_mappings_are_merged_and_anything_else_replaces(
    lower: Any, upper: Any, merged: Any
) -> None:
    assert plain(merge(node(lower), node(upper))) == merged


@given(LAYERS, LAYERS, LAYERS)
def test_merging_is_associative_where_kinds_do_not_conflict(a: Any, b: Any, c: Any) -> None:
    left = merge(merge(node(a), node(b)), node(c))
    right = merge(node(a), merge(node(b), node(c)))

    assert plain(left) == plain(right)


def test_it_is_not_where_a_mapping_is_replaced_in_between() -> None:
    a, b, c = node({"x": {"k": 1}}), node({"x": 5}), node({"x": {"j": 2}})

    assert plain(merge(merge(a, b), c)) == {"x": {"j": 2}}
    assert plain(merge(a, merge(b, c))) == {"x": {"k": 1, "j": 2}}


@given(LAYERS, LAYERS)
def test_the_order_of_keys_never_matters(a: Any, b: Any) -> None:
    backwards = {key: b[key] for key in reversed(b)}

    assert plain(merge(node(a), node(b))) == plain(merge(node(a), node(backwards)))


@given(LAYERS)
def test_nothing_and_itself_change_nothing(a: Any) -> None:
    assert plain(merge(node({}), node(a))) == a
    assert plain(merge(node(a), node({}))) == a
