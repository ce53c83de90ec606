"""The value rules: what a user's value becomes, and which row an error names."""

from __future__ import annotations

import enum
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

from penstock.block.collate import RowError, as_leaf, column_of, detached, fill, leaf_spec, source_column, stack
from penstock.block.columns import ArrayColumn, BytesColumn, RowsColumn
from penstock.block.spec import BYTES, STR, Spec
from penstock.errors import PenstockError, StackError, StructureError, UnsupportedValueError


class Colour(enum.IntEnum):
    RED = 3


class Breed(str, enum.Enum):  # noqa: UP042  # its str() differs from its value
    HUSKY = "husky"


class Tensor:
    """Something with `__array__`, as frameworks' tensors and Pillow images have."""

    def __init__(self, values: Any) -> None:
        self.values = np.asarray(values)

    def __array__(self, dtype: Any = None, copy: Any = None) -> np.ndarray[Any, Any]:
        return self.values


def _describe(row: int) -> str:
    return f"element {row}"


def _allocate(shape: tuple[int, ...], dtype: np.dtype[Any]) -> np.ndarray[Any, Any]:
    return np.empty(shape, dtype)


VALUES: dict[str, tuple[Any, Spec]] = {
    "int": (3, Spec((), "int64")),
    "float": (3.0, Spec((), "float64")),
    "bool": (True, Spec((), "bool")),
    "complex": (1j, Spec((), "complex128")),
    "str": ("a", Spec((), str)),
    "bytes": (b"a", Spec((), bytes)),
    "bytearray": (bytearray(b"a"), Spec((), bytes)),
    "memoryview": (memoryview(b"a"), Spec((), bytes)),
    "numpy scalar": (np.float32(1), Spec((), "float32")),
    "numpy str": (np.str_("a"), Spec((), str)),
    "numpy bytes": (np.bytes_(b"a"), Spec((), bytes)),
    "integer enumeration": (Colour.RED, Spec((), "int64")),
    "text enumeration": (Breed.HUSKY, Spec((), str)),
    "list": ([1, 2, 3], Spec((3,), "int64")),
    "nested list": ([[1.0, 2.0]], Spec((1, 2), "float64")),
    "list of arrays": ([np.zeros(2, np.float32)] * 3, Spec((3, 2), "float32")),
    "list of text": (["a", "bc"], Spec((2,), str)),
    "list of bytes": ([b"a", b"bc"], Spec((2,), bytes)),
    "empty list": ([], Spec((0,), "float64")),
    "array": (np.zeros((2, 3), np.uint8), Spec((2, 3), "uint8")),
    "0-d array": (np.array(5, np.int16), Spec((), "int16")),
    "text array": (np.array(["a", "bc"]), Spec((2,), str)),
    "0-d text array": (np.array("a"), Spec((), str)),
    "object array of bytes": (np.array([b"a", b"bc"], dtype=object), Spec((2,), bytes)),
    "object array of str": (np.array(["a"], dtype=object), Spec((1,), str)),
    "0-d object array": (np.array(b"a", dtype=object), Spec((), bytes)),
    "__array__": (Tensor([1, 2]), Spec((2,), "int64")),
    "__array__ of one text": (Tensor(np.array(b"a", dtype=object)), Spec((), bytes)),
    "datetime": (np.datetime64("2020-01-01"), Spec((), "datetime64[D]")),
}


@pytest.mark.parametrize("name", VALUES)
def test_as_leaf_follows_the_value_rules(name: str) -> None:
    value, spec = VALUES[name]
    assert leaf_spec(as_leaf(value)) == spec


@pytest.mark.parametrize("name", VALUES)
def test_column_of_gives_the_spec_of_its_values(name: str) -> None:
    value, spec = VALUES[name]
    assert column_of([value, value]).spec == spec


@pytest.mark.parametrize("value", ["é\x00a", b"a\x00\x00", "", b""])
def test_column_of_keeps_text_to_the_last_byte(value: Any) -> None:
    (row,) = column_of([value]).rows()
    assert row == value
    assert type(row) is type(value)


@pytest.mark.parametrize("value", [Colour.RED, Breed.HUSKY, np.str_("a"), np.bytes_(b"a")])
def test_column_of_gives_built_in_values_for_subclasses(value: Any) -> None:
    (row,) = column_of([value]).rows()
    assert type(row) in (np.int64, str, bytes)
    assert row == value


BAD: dict[str, tuple[Any, str, str]] = {
    "none": (None, "a leaf is None", "None"),
    "object": (object(), "a leaf is of an unknown type", "builtins.object"),
    "set": ({1, 2}, "a leaf is of an unknown type", "builtins.set"),
    "array of objects": (np.array([1, "a"], dtype=object), "an array of objects", "['int', 'str']"),
    "array of none": (np.array(None, dtype=object), "a leaf is None", "None"),
    "list of mixed text": ([b"a", None], "an array of objects", "NoneType"),
    "big int": (2**63, "an integer beyond int64", str(2**63)),
    "small int": (-(2**63) - 1, "an integer beyond int64", str(-(2**63) - 1)),
    "list of big ints": ([2**70], "an array of objects", "int"),
}


@pytest.mark.parametrize("name", BAD)
def test_as_leaf_refuses(name: str) -> None:
    value, what, got = BAD[name]
    with pytest.raises(UnsupportedValueError) as caught:
        as_leaf(value)
    assert caught.value.what == what
    assert got in str(caught.value)


def test_as_leaf_refuses_a_list_that_cannot_be_stacked() -> None:
    with pytest.raises(StackError, match="a list whose items cannot be stacked"):
        as_leaf([[1, 2], [3]])


@pytest.mark.parametrize("edge", [-(2**63), 2**63 - 1])
def test_as_leaf_takes_the_edges_of_int64(edge: int) -> None:
    assert column_of([edge]).row(0) == edge


def test_detached_copies_whatever_may_be_filled_anew() -> None:
    array = np.zeros(2)
    copy = detached({"a": (array, [array]), "b": "text"})
    array += 1
    assert copy["a"][0].tolist() == [0, 0]
    assert copy["a"][1][0].tolist() == [0, 0]
    assert copy["b"] == "text"


ROW_ERRORS: dict[str, tuple[list[Any], int, type[PenstockError]]] = {
    "none": ([1, 2, None], 2, UnsupportedValueError),
    "another dtype": ([1, 2.0, 3], 1, StructureError),
    "bool among ints": ([1, True], 1, StructureError),
    "text among numbers": ([1.0, "a"], 1, StructureError),
    "str among bytes": ([b"a", "a"], 1, StructureError),
    "another rank": ([np.zeros(2), np.zeros((2, 2))], 1, StructureError),
    "array among scalars": ([1.0, np.zeros(2)], 1, StructureError),
    "big int among ints": ([1, 2, 2**63], 2, UnsupportedValueError),
    "big int among numpy ints": ([np.int64(1), 2**63], 1, UnsupportedValueError),
    "unknown type": ([1, object()], 1, UnsupportedValueError),
}


@pytest.mark.parametrize("name", ROW_ERRORS)
def test_column_of_names_the_first_row_that_does_not_fit(name: str) -> None:
    values, row, kind = ROW_ERRORS[name]
    with pytest.raises(RowError) as caught:
        column_of(values)
    assert caught.value.row == row
    assert isinstance(caught.value.error, kind)


def test_column_of_gives_both_specs_when_they_differ() -> None:
    with pytest.raises(RowError) as caught:
        column_of([np.zeros(2, np.float32), np.zeros(2)])
    assert caught.value.error.got == "float64[2]"
    assert caught.value.error.expected == "float32[2], as before"


KINDS: dict[str, tuple[list[Any], type]] = {
    "numbers": ([1, 2], ArrayColumn),
    "numpy and python numbers of one dtype": ([1, np.int64(2)], ArrayColumn),
    "small arrays": ([np.zeros(3), np.ones(3)], ArrayColumn),
    "arrays of several shapes": ([np.zeros(3), np.ones(4)], RowsColumn),
    "large arrays": ([np.zeros(1000), np.ones(1000)], RowsColumn),
    "text": (["a", "bb"], BytesColumn),
    "text arrays": ([["a", "b"], ["c", "d"]], BytesColumn),
    "text arrays of several shapes": ([["a"], ["c", "d"]], RowsColumn),
}


@pytest.mark.parametrize("name", KINDS)
def test_column_of_chooses_the_kind_of_column(name: str) -> None:
    values, kind = KINDS[name]
    column = column_of(values)
    assert type(column) is kind
    assert len(column) == len(values)
    for row, value in zip(column.rows(), values, strict=True):
        np.testing.assert_array_equal(row, value)


def test_column_of_does_not_copy_large_arrays() -> None:
    large = np.zeros(1000)
    assert np.shares_memory(column_of([large, large.copy()]).row(0), large)


def test_leaf_of_text_array_is_an_object_array() -> None:
    assert as_leaf(np.array(["a"])).dtype == object


@pytest.mark.parametrize("dtype", [BYTES, STR])
def test_leaf_spec_of_empty_object_array_is_bytes(dtype: Any) -> None:
    assert leaf_spec(np.empty(0, dtype=object)).dtype == BYTES


STACKS: list[Callable[[Any], Any]] = [
    lambda column: stack("image", column, _allocate, _describe),
    lambda column: fill("image", column, np.empty((5, 2, 2)), 1, _describe),
]


@pytest.mark.parametrize("work", STACKS)
def test_stack_error_names_leaf_element_and_both_shapes(work: Callable[[Any], Any]) -> None:
    column = RowsColumn([np.zeros((2, 2)), np.zeros((2, 2)), np.zeros((3, 2))], np.dtype(float))
    with pytest.raises(StackError) as caught:
        work(column)
    text = str(caught.value)
    assert 'leaf "image" has shape (3, 2) at element 2' in text
    assert "expected (2, 2) as before" in text
    assert "resize or pad it first" in text


def test_stack_error_of_text_rows() -> None:
    with pytest.raises(StackError, match=r'leaf "words" has shape \(2,\) at element 1'):
        stack("words", column_of([["a"], ["b", "c"]]), _allocate, _describe)


def test_stack_joins_rows() -> None:
    rows = [np.full((2, 2), i) for i in range(3)]
    np.testing.assert_array_equal(stack("x", RowsColumn(rows, rows[0].dtype), _allocate, _describe), np.stack(rows))


def test_stack_of_text_is_an_object_array() -> None:
    stacked = stack("x", column_of(["a", "b"]), _allocate, _describe)
    assert stacked.dtype == object
    assert stacked.tolist() == ["a", "b"]


@pytest.mark.parametrize("value", [3, "text", np.array(3)])
def test_source_column_of_a_scalar_is_an_error(value: Any) -> None:
    with pytest.raises(UnsupportedValueError, match="cannot be sliced"):
        source_column(value)


def test_source_column_aliases_and_protects_the_array() -> None:
    array = np.zeros((4, 2))
    column = source_column(array)
    assert np.shares_memory(column.row(0), array)
    assert not column.row(0).flags.writeable
    assert array.flags.writeable
