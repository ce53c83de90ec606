"""From values as functions return them to columns, and from rows to the leaves of a batch.

The value rules: Python ints are int64, floats float64, bools bool; str stays str and bytes bytes; a list is a stacked
array; anything with `__array__` (tensors, Pillow images) is its array; None and unknown objects are errors.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from penstock.block.columns import (
    Array,
    ArrayColumn,
    BytesColumn,
    Column,
    DatasetsColumn,
    Nested,
    RaggedColumn,
    RowsColumn,
    column_of_array,
    kept_apart,
    object_array,
)
from penstock.block.ragged import Ragged
from penstock.block.spec import BYTES, STR, DatasetSpec, RaggedSpec, Spec, text_dtype
from penstock.errors import PenstockError, StackError, StructureError, UnsupportedValueError

# Rows at least this large are kept apart until a batch is written, so that each byte is copied once.
LARGE_ROW_BYTES = 2048

_SCALARS = {int: np.dtype(np.int64), float: np.dtype(np.float64), bool: np.dtype(np.bool_), complex: np.dtype(complex)}
_EXACT: dict[type, Callable[[Any], Any]] = {float: float, complex: complex, bytes: bytes, str: str.__str__}

Allocate = Callable[[tuple[int, ...], np.dtype[Any]], Array]


def as_leaf(value: Any) -> Any:
    """`value` as a leaf: a Python number, bytes, str, a NumPy scalar or array. Raises: UnsupportedValueError."""
    if isinstance(value, np.ndarray | np.generic | Nested | Ragged):
        leaf: Any = value
    elif isinstance(value, int | float | complex | bytes | str):
        return _plain(value)
    elif value is None:
        raise UnsupportedValueError(
            "a leaf is None",
            expected="arrays, numbers, bytes or str",
            remedy="did a function forget to return? Else leave it out, or use a sentinel value",
        )
    elif isinstance(value, bytearray | memoryview):
        return bytes(value)
    elif isinstance(value, list):
        try:
            leaf = np.asarray(value) if value else np.empty(0)
            if leaf.dtype.kind in "SU":  # as objects: NumPy cuts NUL bytes off the end, and makes text of numbers
                leaf = np.array(value, dtype=object)
        except ValueError as error:
            raise StackError("a list whose items cannot be stacked", got=str(error)) from None
    elif hasattr(value, "__array__") or hasattr(value, "__array_interface__"):
        leaf = np.asarray(value)
    else:
        raise UnsupportedValueError(
            "a leaf is of an unknown type",
            got=f"{type(value).__module__}.{type(value).__qualname__}: {_short(value)}",
            expected="arrays, numbers, bytes, str, or tuples and dicts of them",
        )
    if isinstance(leaf, np.ndarray):
        if leaf.dtype.kind == "O" and not leaf.ndim:  # what np.asarray makes of one text
            return as_leaf(leaf.item())
        if leaf.dtype.kind == "O":
            kinds = {type(item) for item in leaf.ravel().tolist()}
            if kinds in ({np.str_}, {np.bytes_}):
                return leaf.astype("U" if np.str_ in kinds else "S").astype(object)
            if not (kinds <= {bytes} or kinds <= {str}):
                raise UnsupportedValueError(
                    "an array of objects",
                    got=f"items of {sorted(k.__name__ for k in kinds)}",
                    expected="bytes or str only",
                )
        elif leaf.dtype.kind in "SU":
            return leaf.astype(object) if leaf.ndim else leaf.item()
    elif isinstance(leaf, np.str_):
        return str(leaf)
    elif isinstance(leaf, np.bytes_):
        return bytes(leaf)
    return leaf


def _plain(value: Any) -> Any:
    """A Python number or text as its own built-in type: a member of an enumeration is its value."""
    if isinstance(value, bool):
        return value
    if isinstance(value, int):
        if -(2**63) <= value < 2**63:
            return int(value)
        raise UnsupportedValueError("an integer beyond int64", got=int(value), remedy="return a NumPy array or a float")
    kind = next(kind for kind in _EXACT if isinstance(value, kind))
    return value if type(value) is kind else _EXACT[kind](value)


def leaf_spec(leaf: Any) -> Spec:
    """Shape and dtype of one leaf, as returned by `as_leaf`."""
    if isinstance(leaf, Nested):
        return DatasetSpec()
    if isinstance(leaf, Ragged):
        return RaggedSpec(leaf.shape, leaf.dtype, leaf.ragged_rank)
    if isinstance(leaf, np.ndarray):
        if leaf.dtype.kind == "O":
            return Spec(leaf.shape, text_dtype(leaf))
        return Spec(leaf.shape, leaf.dtype)
    if isinstance(leaf, str):
        return Spec((), STR)
    if isinstance(leaf, bytes):
        return Spec((), BYTES)
    dtype = _SCALARS.get(type(leaf))
    return Spec((), leaf.dtype if dtype is None else dtype)


def detached(value: Any) -> Any:
    """`value` as it is now: arrays, lists and what looks like an array are copied, nests are built anew.

    For what user code may hand out again and fill anew (a generator's buffer, a dict it updates): without this, the
    elements of one block would all be its last state. Cost: one copy, about 1 us a leaf.
    """
    if isinstance(value, np.ndarray | Ragged):
        return value.copy()
    if isinstance(value, dict):
        return {key: detached(part) for key, part in value.items()}
    if isinstance(value, tuple):
        parts = [detached(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    if isinstance(value, list):
        return [detached(part) for part in value]
    if isinstance(value, np.generic | bytes | str) or not (
        hasattr(value, "__array__") or isinstance(value, bytearray | memoryview)
    ):
        return value
    return as_leaf(value).copy() if hasattr(value, "__array__") else bytes(value)


def shielded(value: Any, references: int = 3) -> Any:
    """`value`, its arrays read-only where something else may hold them: a view, or an array that is not fresh.

    A pure function may return a captured array, or part of one, as it is; who receives it must not write into it.
    `references`: those to a fresh array here, with CPython's own; fewer than counted never makes an error, only a view.
    """
    if type(value) is np.ndarray:
        if value.flags.owndata and sys.getrefcount(value) <= references:
            return value
        view = value.view()
        view.flags.writeable = False
        return view
    if type(value) is tuple:
        return tuple([shielded(part, references + 1) for part in value])
    if type(value) is dict:
        return {key: shielded(part, references + 1) for key, part in value.items()}
    return value


def as_promised(value: Any, dtype: np.dtype[Any]) -> Any:
    """A Python number or list as the dtype a signature promises, where that loses nothing; else `value` itself."""
    if dtype.kind not in "biufc" or not isinstance(value, int | float | list) or isinstance(value, np.generic):
        return value
    try:
        array = np.asarray(value)
        if array.dtype.kind not in "biuf" or not (
            np.can_cast(array.dtype, dtype, "same_kind") or (array.dtype.kind == "i" and dtype.kind in "uf")
        ):
            return value
        cast = array.astype(dtype)
        exact = array.dtype.kind == "f" or bool((cast == array).all())
        return cast[()] if exact else value
    except (ValueError, OverflowError):
        return value


class RowError(Exception):
    """A row of a column does not fit: the row's number, and the error to raise for it."""

    def __init__(self, row: int, error: PenstockError) -> None:
        super().__init__(row, error)
        self.row = row
        self.error = error


def column_of(values: Sequence[Any]) -> Column:
    """The column of one leaf's values, in order.

    Cost: one pass over types, one copy of small leaves, none of large ones.
    Raises: RowError at the first row that is no value, or whose dtype or rank differs from the first row's.
    """
    types = set(map(type, values))
    if len(types) == 1:
        kind = next(iter(types))
        if kind in _SCALARS:
            try:
                return ArrayColumn(np.array(values, dtype=_SCALARS[kind]))
            except OverflowError:
                pass  # the row is found below
        if issubclass(kind, np.generic) and kind not in (np.str_, np.bytes_, np.void, np.object_):
            return ArrayColumn(np.array(values, dtype=values[0].dtype))
        if kind is bytes or kind is str:
            return BytesColumn(object_array(values), BYTES if kind is bytes else STR)
    leaves = []
    for row, value in enumerate(values):
        try:
            leaves.append(as_leaf(value))
        except PenstockError as error:
            raise RowError(row, error) from None
    return _column_of_leaves(leaves)


def _column_of_leaves(leaves: list[Any]) -> Column:
    specs = [leaf_spec(leaf) for leaf in leaves]
    first = specs[0]
    same_shape = True
    for row, spec in enumerate(specs):
        is_like = spec.dtype == first.dtype and spec.ragged_rank == first.ragged_rank
        if not is_like or len(spec.shape or ()) != len(first.shape or ()):
            raise RowError(row, StructureError("another dtype or rank", got=str(spec), expected=f"{first}, as before"))
        same_shape &= spec.shape == first.shape
    if first.ragged_rank:
        return RaggedColumn(leaves)
    if first.dtype.kind == "O":
        return DatasetsColumn(leaves, DatasetSpec())
    if first.dtype.kind in "SU":
        if not same_shape:
            return RowsColumn(leaves, first.dtype)
        if not first.shape:
            return BytesColumn(object_array(leaves), first.dtype)
        return BytesColumn(np.stack(leaves), first.dtype)
    if not first.shape:
        return ArrayColumn(np.array(leaves, dtype=first.dtype))
    if same_shape and leaves[0].nbytes < LARGE_ROW_BYTES:
        return ArrayColumn(np.stack(leaves))
    return RowsColumn(leaves, first.dtype)


def fill(name: str, column: Column, out: Array, start: int, describe: Callable[[int], str]) -> None:
    """Write the rows of `column` into `out[start:]`.

    Shapes: out [batch, *shape]. Raises: StackError at a row of another shape; names leaf, element and both shapes.
    """
    if isinstance(column, RowsColumn):
        expected = out.shape[1:]
        for row, value in enumerate(column.values):
            if value.shape != expected:
                raise stack_error(name, value.shape, describe(row), expected)
            out[start + row] = value
        return
    assert not isinstance(column, RaggedColumn), "ragged rows have no slots"
    if column.values.shape[1:] != out.shape[1:]:
        raise stack_error(name, column.values.shape[1:], describe(0), out.shape[1:])
    out[start : start + len(column)] = column.values


def stack_error(name: str, shape: tuple[int, ...], origin: str, expected: tuple[int, ...]) -> StackError:
    """The error for a leaf that cannot be stacked."""
    return StackError(
        f'leaf "{name}" has shape {shape} at {origin}',
        expected=f"{expected} as before",
        remedy="resize or pad it first, so that all rows of a batch have one shape",
    )


def stack(name: str, column: Column, allocate: Allocate, describe: Callable[[int], str]) -> Array:
    """The rows of `column` as one new array [n, *shape]; text gives an object array. Raises: StackError."""
    if isinstance(column, BytesColumn):
        return column.values.copy()
    if isinstance(column, RowsColumn) and column.dtype.kind in "SU":
        shapes = [row.shape for row in column.values]
        odd = next((row for row, shape in enumerate(shapes) if shape != shapes[0]), None)
        if odd is not None:
            raise stack_error(name, shapes[odd], describe(odd), shapes[0])
        return np.stack(column.values)
    row_shape = column.values[0].shape
    out = allocate((len(column), *row_shape), column.spec.dtype)
    fill(name, column, out, 0, describe)
    return out


def source_column(value: Any) -> Column:
    """A user's array, list or text sequence as a column of its rows. Raises: UnsupportedValueError."""
    leaf = as_leaf(value)
    if isinstance(leaf, Ragged):
        return kept_apart(list(leaf), leaf.dtype)
    if not isinstance(leaf, np.ndarray) or leaf.ndim == 0:
        raise UnsupportedValueError(
            "cannot be sliced", got=repr(leaf_spec(leaf).shape), expected="arrays with at least one dimension"
        )
    return column_of_array(leaf)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 80 else text[:77] + "..."
