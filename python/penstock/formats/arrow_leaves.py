"""Arrow's types as leaves: which are values here, of what shape and dtype, and how a field is found in a table.

Numbers and truths as they are; string is str, binary bytes; a dictionary is decoded; an extension is what it stores. A
list is an array whose length varies from row to row, a list of lists a Ragged, a list of fixed size an array of one
more axis, a struct a nested dict. A timestamp is datetime64 of its unit, in UTC where it has a time zone; a date
datetime64; a duration and a time of day timedelta64. Decimals, maps, unions and structs in lists are none.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.block.spec import BYTES, STR, RaggedSpec, Spec
from penstock.block.tree import LEAF, Structure
from penstock.errors import InvalidArgumentError, StructureError, UnsupportedValueError
from penstock.formats.extras import library

EXTRA = "parquet"


@dataclass(frozen=True, slots=True)
class ArrowLeaf:
    """A leaf of an element: the column and the fields of structs that lead to it, and what stands there.

    fill: what takes the place of a null, if `fills`; else a null is an error.
    """

    path: tuple[str, ...]
    spec: Spec
    fills: bool = False
    fill: Any = None

    @property
    def name(self) -> str:
        return ".".join(self.path)

    @property
    def is_text(self) -> bool:
        """One bytes or str a row."""
        return self.spec.dtype.kind in "SU" and self.spec.shape == ()

    @property
    def is_number(self) -> bool:
        """Numbers, of one shape in all rows."""
        return self.spec.dtype.kind not in "SU" and not self.spec.ragged_rank and None not in (self.spec.shape or ())


def leaves_of_schema(
    schema: Any, columns: Sequence[str] | None, fill_null: dict[str, Any], where: str
) -> tuple[Structure, tuple[ArrowLeaf, ...]]:
    """How an element of these columns is nested, and its leaves; all columns where none are named.

    Raises: InvalidArgumentError: a column that is not there, or a fill that does not fit; UnsupportedValueError: a type
    that is no value.
    """
    names = list(schema.names if columns is None else columns)
    missing = [name for name in names if name not in schema.names]
    if missing or not names:
        raise InvalidArgumentError(
            f"no column {missing[0]!r}" if missing else "no column", expected=f"of {_listed(schema.names)}", where=where
        )
    leaves: list[ArrowLeaf] = []
    structures = []
    for name in names:
        found = list(_leaves(schema.field(name).type, (name,), columns is None, where))
        structures.append(found[0])
        leaves += [_filled(leaf, kind, fill_null, where) for leaf, kind in found[1]]
    unknown = [name for name in fill_null if name not in {leaf.name for leaf in leaves}]
    if unknown:
        expected = f"names of {_listed([leaf.name for leaf in leaves])}"
        raise InvalidArgumentError("fill_null", got=repr(unknown[0]), expected=expected, where=where)
    return Structure(dict, tuple(names), tuple(structures), len(leaves)), tuple(leaves)


def _listed(names: Sequence[str], limit: int = 20) -> str:
    more = f" and {len(names) - limit} more" if len(names) > limit else ""
    return ", ".join(map(repr, names[:limit])) + more


def _leaves(kind: Any, path: tuple[str, ...], takes_all: bool, where: str) -> Iterator[Any]:
    """The structure of a field, then its leaves with their types."""
    pa = library("pyarrow", EXTRA)
    kind = plain_type(kind)
    if pa.types.is_struct(kind) and kind.num_fields:
        children: list[Structure] = []
        leaves: list[tuple[ArrowLeaf, Any]] = []
        keys = tuple(kind.field(number).name for number in range(kind.num_fields))
        for number, key in enumerate(keys):
            structure, found = _leaves(kind.field(number).type, (*path, key), takes_all, where)
            children.append(structure)
            leaves += found
        yield Structure(dict, keys, tuple(children), len(leaves))
        yield leaves
        return
    spec = spec_of(kind)
    if spec is None:
        raise UnsupportedValueError(
            f"column {'.'.join(path)!r} is of a type that no element may hold", got=str(kind),
            expected="numbers, text, bytes, dates and times, lists and structs of them", where=where,
            remedy=f"columns=[...] without {path[0]!r}" if takes_all else "cast it when it is written",
        )  # fmt: skip
    yield LEAF
    yield [(ArrowLeaf(path, spec), kind)]


def plain_type(kind: Any) -> Any:
    """The type of the values: what a dictionary refers to, what an extension stores."""
    pa = library("pyarrow", EXTRA)
    while True:
        if pa.types.is_dictionary(kind):
            kind = kind.value_type
        elif isinstance(kind, pa.BaseExtensionType):
            kind = kind.storage_type
        else:
            return kind


def is_list(kind: Any) -> bool:
    """Whether rows of this type vary in length."""
    types = library("pyarrow", EXTRA).types
    return bool(
        types.is_list(kind) or types.is_large_list(kind) or types.is_list_view(kind) or types.is_large_list_view(kind)
    )


def spec_of(kind: Any) -> Spec | None:
    """What a value of this type looks like, None if there is none."""
    types = library("pyarrow", EXTRA).types
    kind = plain_type(kind)
    if types.is_fixed_size_list(kind):
        inner = spec_of(kind.value_type)
        if inner is None or inner.ragged_rank or None in (inner.shape or ()):
            return None
        return inner.batched(kind.list_size)
    if is_list(kind):
        inner = spec_of(kind.value_type)
        if inner is None:
            return None
        shape = (None, *(inner.shape or ()))
        varies = inner.ragged_rank > 0 or None in (inner.shape or ())
        return RaggedSpec(shape, inner.dtype, inner.ragged_rank + 1) if varies else Spec(shape, inner.dtype)
    dtype = _scalar(kind, types)
    return None if dtype is None else Spec((), dtype)


def _scalar(kind: Any, types: Any) -> np.dtype[Any] | None:
    if types.is_boolean(kind) or types.is_integer(kind) or types.is_floating(kind):
        number: np.dtype[Any] = np.dtype(kind.to_pandas_dtype())
        return number
    if types.is_string(kind) or types.is_large_string(kind) or types.is_string_view(kind):
        return STR
    if types.is_binary(kind) or types.is_large_binary(kind) or types.is_binary_view(kind):
        return BYTES
    if types.is_fixed_size_binary(kind) and not types.is_decimal(kind):
        return BYTES
    if types.is_timestamp(kind):
        return np.dtype(f"M8[{kind.unit}]")
    if types.is_date(kind):
        return np.dtype("M8[D]" if types.is_date32(kind) else "M8[ms]")
    if types.is_duration(kind) or types.is_time(kind):
        return np.dtype(f"m8[{kind.unit}]")
    return None


def _filled(leaf: ArrowLeaf, kind: Any, fill_null: dict[str, Any], where: str) -> ArrowLeaf:
    """The leaf with what is said of its nulls."""
    if leaf.name not in fill_null:
        return leaf
    value = fill_null[leaf.name]
    try:
        scalar_of(value, kind)
    except (TypeError, ValueError, OverflowError) as error:  # pyarrow's own errors are these too
        raise InvalidArgumentError(
            f"fill_null[{leaf.name!r}]", got=repr(value), expected=f"a value of {kind} ({error})", where=where
        ) from None
    return ArrowLeaf(leaf.path, leaf.spec, fills=True, fill=value)


def differing_leaf(here: Sequence[ArrowLeaf], first: Sequence[ArrowLeaf], first_path: str, path: str) -> StructureError:
    """The error for files whose leaves differ."""
    odd, expected = next((a, b) for a, b in zip((*here, *here[:1]), (*first, *first[:1]), strict=False) if a != b)
    return StructureError(
        f"column {expected.name!r} differs from file to file", got=f"{odd.name!r}: {odd.spec}",
        expected=f"{expected.spec}, as in {first_path}", where=path,
    )  # fmt: skip


def scalar_of(value: Any, kind: Any) -> Any:
    """A value as an Arrow scalar of a type; not a list, where the type is a list, is its item.

    Raises: TypeError, ValueError, OverflowError: it is none.
    """
    pa = library("pyarrow", EXTRA)
    while is_list(kind) and not isinstance(value, list | tuple | np.ndarray):
        kind = plain_type(kind.value_type)
    if isinstance(value, np.generic):
        value = value.item() if not isinstance(value, np.datetime64 | np.timedelta64) else value
    scalar = pa.scalar(value, type=kind)
    if not scalar.is_valid:
        raise ValueError("it is null itself")
    return scalar
