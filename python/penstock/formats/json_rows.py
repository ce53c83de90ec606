"""Lines of JSON as columns: an object a line, its values as a function's would be.

Integers are int64, other numbers float64, text str, a list an array, null none. Where a signature promises a float an
integer may stand, and a whole float where it promises an integer.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.block.collate import RowError, as_leaf, as_promised, column_of, leaf_spec
from penstock.block.columns import ArrayColumn, BytesColumn, Column, object_array
from penstock.block.spec import STR, Spec
from penstock.block.tree import Structure
from penstock.errors import DecodeError, PenstockError

_PLAIN = {int: np.dtype(np.int64), float: np.dtype(np.float64), bool: np.dtype(np.bool_), str: STR}


@dataclass(frozen=True, slots=True)
class JsonForm:
    """What a line holds. `chosen`: it was said, so other keys may be there, which are passed over."""

    structure: Structure
    specs: tuple[Spec, ...]
    chosen: bool


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that is no element: its place among those given, the byte in it, and why (without a place)."""

    row: int
    byte: int
    error: PenstockError


Rows = tuple[tuple[Column, ...], int, BadLine | None]
"""Columns, how many elements, and what ended them."""


def rows_of(lines: Sequence[bytes], form: JsonForm) -> Rows:
    """The lines as columns, up to the first that is no element. Cost: of json.loads, and 0.1 us a value."""
    leaves: list[list[Any]] = []
    bad: BadLine | None = None
    for row, line in enumerate(lines):
        try:
            value = parsed(line)
            leaves.append(form.structure.flatten(_only(value, form.structure) if form.chosen else value))
        except JsonError as error:
            bad = BadLine(row, error.byte, error.error)
        except PenstockError as error:
            bad = BadLine(row, 0, error)
        if bad is not None:
            break
    columns: list[Column] = []
    count = len(leaves)
    for index, (name, spec) in enumerate(zip(form.structure.names(), form.specs, strict=True)):
        column, fault = _column([row[index] for row in leaves[:count]], name, spec)
        if fault is not None:
            bad, count = fault, fault.row
        if column is None:
            return (), 0, bad
        columns.append(column)
    return tuple(column.slice(0, count) for column in columns), count, bad


class JsonError(Exception):
    """A line that is not JSON, or no object: at which byte, and the error."""

    def __init__(self, byte: int, error: DecodeError) -> None:
        super().__init__(str(error))
        self.byte = byte
        self.error = error


def parsed(line: bytes) -> dict[str, Any]:
    """The object of a line. Raises: JsonError."""
    line = line.removesuffix(b"\r")
    try:
        value = json.loads(line.decode("utf-8"))
    except UnicodeDecodeError as error:
        bad = error.object[error.start : error.start + 4].hex(" ")
        raise JsonError(error.start, DecodeError(f"invalid utf-8: {error.reason}", got=bad)) from None
    except json.JSONDecodeError as error:
        byte = len(error.doc[: error.pos].encode())
        raise JsonError(byte, DecodeError(f"not JSON: {error.msg}", got=_short(line[byte : byte + 40]))) from None
    except (RecursionError, ValueError) as error:  # nested too deep; a number of too many digits
        raise JsonError(0, DecodeError("not JSON that can be read", got=str(error)[:80])) from None
    if not isinstance(value, dict):
        raise JsonError(0, DecodeError("not an object", got=_short(value), expected='{"key": value, ...}'))
    return value


def _only(value: Any, structure: Structure) -> Any:
    """What is wanted of an object, in objects within it too."""
    if structure.kind is not dict or not isinstance(value, dict):
        return value
    pairs = zip(structure.keys, structure.children, strict=True)
    return {key: _only(value[key], child) for key, child in pairs if key in value}


def _column(values: list[Any], name: str, spec: Spec) -> tuple[Column | None, BadLine | None]:
    """The values of one leaf, up to the first that is none of `spec`; None for no values."""
    fast = _of_one_type(values, spec)
    if fast is not None:
        return fast, None
    leaves: list[Any] = []
    bad: BadLine | None = None
    for row, value in enumerate(values):
        try:
            if value is None:
                raise DecodeError(f"{name!r} is null", expected=str(spec))
            leaf = as_leaf(_promised(value, spec))
            if not spec.is_compatible_with(leaf_spec(leaf)):
                raise DecodeError(f"{name!r} is no such value", got=_short(value), expected=str(spec))
        except PenstockError as error:
            bad = BadLine(row, 0, error if isinstance(error, DecodeError) else error.at(repr(name)))
            break
        leaves.append(leaf)
    if not leaves:
        return None, bad
    try:
        return column_of(leaves), bad
    except RowError as error:  # a rank that was not promised
        return column_of(leaves[: error.row]), BadLine(error.row, 0, error.error.at(repr(name)))


def _of_one_type(values: list[Any], spec: Spec) -> Column | None:
    """Plain numbers or texts that are as promised, at once; None: to be looked at one by one."""
    kinds = set(map(type, values))
    if len(kinds) != 1 or spec.shape != () or _PLAIN.get(kinds.pop()) != spec.dtype:
        return None
    if spec.dtype == STR:
        return BytesColumn(object_array(values), STR)
    try:
        return ArrayColumn(np.array(values, dtype=spec.dtype))
    except OverflowError:
        return None


def _promised(value: Any, spec: Spec) -> Any:
    if isinstance(value, list) and not value and spec.shape is not None and len(spec.shape) == 1:
        return np.empty(0, dtype=object if spec.dtype.kind in "SU" else spec.dtype)
    if isinstance(value, float) and spec.dtype.kind in "iu" and value.is_integer() and abs(value) < 2**53:
        return as_promised(int(value), spec.dtype)
    return as_promised(value, spec.dtype)


def _short(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
