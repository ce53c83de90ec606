from __future__ import annotations

from collections import OrderedDict, namedtuple
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.tree import LEAF, Structure, structure_of, tuple_of
from penstock.errors import StructureError, UnsupportedValueError

Point = namedtuple("Point", "x y")

LEAVES = st.one_of(st.integers(), st.floats(allow_nan=False), st.text(), st.binary(), st.booleans())
NESTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.lists(inner, min_size=1, max_size=3).map(tuple),
        st.dictionaries(st.text(max_size=3), inner, min_size=1, max_size=3),
        st.tuples(inner, inner).map(lambda pair: Point(*pair)),
    ),
    max_leaves=8,
)


@given(NESTS)
def test_unflatten_undoes_flatten(nest: Any) -> None:
    structure = structure_of(nest)
    back = structure.unflatten(structure.flatten(nest))
    assert back == nest
    assert type(back) is type(nest)


@given(NESTS)
def test_flatten_gives_one_leaf_for_each_name(nest: Any) -> None:
    structure = structure_of(nest)
    assert len(structure.flatten(nest)) == structure.leaf_count == len(structure.names())


@given(NESTS)
def test_structure_of_equal_nests_is_equal_and_hashable(nest: Any) -> None:
    assert {structure_of(nest), structure_of(nest)} == {structure_of(nest)}


@given(NESTS)
def test_unflatten_keeps_the_order_of_dict_keys(nest: Any) -> None:
    structure = structure_of(nest)
    assert repr(structure.unflatten(structure.flatten(nest))) == repr(nest)


def test_flatten_follows_the_keys_of_the_structure_not_of_the_value() -> None:
    structure = structure_of({"b": 0, "a": 1})
    assert structure.flatten({"a": "A", "b": "B"}) == ["B", "A"]


def test_flatten_takes_other_mappings_that_are_dicts() -> None:
    structure = structure_of(OrderedDict(b=0, a=1))
    assert structure.flatten(OrderedDict(a=1, b=2)) == [2, 1]
    assert structure.unflatten([1, 2]) == {"b": 1, "a": 2}


def test_structure_of_namedtuple_keeps_its_class() -> None:
    structure = structure_of(Point(1, (2, 3)))
    assert structure.unflatten([4, 5, 6]) == Point(4, (5, 6))
    assert structure.names() == ["x", "y.0", "y.1"]


def test_structure_of_list_is_a_leaf() -> None:
    assert structure_of([1, (2, 3)]) is LEAF


def test_structure_of_array_is_a_leaf() -> None:
    assert structure_of(np.zeros((2, 2))) is LEAF


def test_names_are_dotted() -> None:
    structure = structure_of({"image": 0, "meta": {"size": (1, 2), "id": 3}})
    assert structure.names() == ["image", "meta.size.0", "meta.size.1", "meta.id"]


def test_names_of_a_lone_leaf() -> None:
    assert LEAF.names() == ["element"]


def test_tuple_of_joins_structures() -> None:
    assert tuple_of(LEAF, structure_of({"a": 1})) == structure_of((1, {"a": 1}))


@pytest.mark.parametrize("nest", [(), {}, {"a": ()}, (1, {})])
def test_structure_of_empty_structure_is_an_error(nest: Any) -> None:
    with pytest.raises(UnsupportedValueError, match="an empty structure") as caught:
        structure_of(nest)
    assert caught.value.expected == "at least one leaf"


@pytest.mark.parametrize("nest", [None, (1, None), {"a": None}, Point(None, 1)])
def test_structure_of_none_leaf_is_an_error(nest: Any) -> None:
    with pytest.raises(UnsupportedValueError, match="a leaf is None"):
        structure_of(nest)


@pytest.mark.parametrize(
    ("first", "later", "got", "expected"),
    [
        ((1, 2), (1, 2, 3), "(leaf, leaf, leaf)", "(leaf, leaf)"),
        ((1, 2), 1, "int", "(leaf, leaf)"),
        ((1, 2), {"a": 1}, "{'a': leaf}", "(leaf, leaf)"),
        ({"a": 1}, {"b": 1}, "{'b': leaf}", "{'a': leaf}"),
        ({"a": 1}, {"a": 1, "b": 2}, "{'a': leaf, 'b': leaf}", "{'a': leaf}"),
        ({"a": 1}, 3, "int", "{'a': leaf}"),
        (1, (1,), "(leaf,)", "leaf"),
        ((1, 2), (1, (2, 3)), "(leaf, leaf)", "leaf"),
    ],
)
def test_flatten_of_another_structure_is_an_error(first: Any, later: Any, got: str, expected: str) -> None:
    with pytest.raises(StructureError) as caught:
        structure_of(first).flatten(later)
    assert caught.value.got == got
    assert caught.value.expected == f"{expected}, as before"


def test_structure_prints_as_the_nest_it_describes() -> None:
    assert str(structure_of({"a": (1,), "b": (1, 2)})) == "{'a': (leaf,), 'b': (leaf, leaf)}"


def test_structure_with_a_leaf_test_stops_there() -> None:
    assert structure_of((1, 2), is_leaf=lambda value: True) == Structure()
