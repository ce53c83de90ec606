"""Ragged: rows of different lengths as one value: their items end to end, and where each row ends."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.block.spec import text_dtype
from penstock.errors import InvalidArgumentError, StackError

Splits = NDArray[np.integer[Any]]


@dataclass(frozen=True, slots=True, eq=False, repr=False)
class Ragged:
    """Rows of different lengths: row i is `values[row_splits[i]:row_splits[i + 1]]`, as in tf.RaggedTensor. Immutable.

    Shapes: values [n, ...], numbers, bytes or str; or a Ragged, for rows that are ragged themselves. row_splits
    [rows + 1], int32 or int64, from 0 to n, never less than before. Both are held as read-only views, not copied.
    Raises: InvalidArgumentError: they do not fit together.
    """

    values: Any
    row_splits: Splits

    def __post_init__(self) -> None:
        object.__setattr__(self, "values", self.values if isinstance(self.values, Ragged) else _items(self.values))
        splits = np.asarray(self.row_splits)
        if splits.dtype.kind in "iu" and splits.dtype.name not in ("int32", "int64"):
            splits = splits.astype(np.int64)
        is_right = splits.ndim == 1 and len(splits) > 0 and splits.dtype.kind == "i"
        if not is_right or splits[0] != 0 or splits[-1] != len(self.values) or (splits[1:] < splits[:-1]).any():
            raise InvalidArgumentError(
                "Ragged: row_splits", got=f"{splits.tolist()!r:.80}",
                expected=f"integers from 0 to {len(self.values)}, the number of values, never less than before",
            )  # fmt: skip
        object.__setattr__(self, "row_splits", _read_only(splits))

    @classmethod
    def from_rows(cls, rows: Sequence[Any], row_splits_dtype: Any = np.int64) -> Ragged:
        """Of arrays (or Ragged) of one dtype, whose shapes differ in their leading axis alone; at least one.

        Raises: StackError: their inner shapes differ. Cost: one copy.
        """
        if not len(rows):
            raise InvalidArgumentError("Ragged.from_rows", got="no rows", remedy="say values and row_splits")
        parts = [row if isinstance(row, Ragged | np.ndarray) else _items(row) for row in rows]
        lengths = list(map(len, parts))
        return cls(_joined(parts), splits_of(lengths, row_splits_dtype))

    @classmethod
    def concat(cls, parts: Sequence[Ragged]) -> Ragged:
        """The rows of several, one after another; at least one, all of one ragged rank and dtype. Cost: one copy."""
        if len(parts) == 1:
            return parts[0]
        values = _joined([part.values for part in parts])
        return cls(values, splits_of(np.concatenate([part.row_lengths() for part in parts]), parts[0].row_splits.dtype))

    @property
    def flat_values(self) -> NDArray[Any]:
        """The innermost values, an array."""
        flat: NDArray[Any] = self.values.flat_values if isinstance(self.values, Ragged) else self.values
        return flat

    @property
    def nested_row_splits(self) -> tuple[Splits, ...]:
        """The row splits from the outermost to the innermost."""
        inner = self.values.nested_row_splits if isinstance(self.values, Ragged) else ()
        return (self.row_splits, *inner)

    @property
    def ragged_rank(self) -> int:
        """How many axes after the first may vary in length."""
        return len(self.nested_row_splits)

    @property
    def dtype(self) -> np.dtype[Any]:
        """The dtype of the values; bytes are np.dtype("S"), str np.dtype("U")."""
        flat = self.flat_values
        if flat.dtype.kind != "O":
            return flat.dtype
        return text_dtype(flat)

    @property
    def shape(self) -> tuple[int | None, ...]:
        """Rows, None for every ragged axis, then the shape of an item."""
        return (len(self), *((None,) * self.ragged_rank), *self.flat_values.shape[1:])

    @property
    def ndim(self) -> int:
        """Axes, ragged ones among them."""
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        """Bytes of values and row splits."""
        flat = self.flat_values
        texts = sum(map(len, flat.ravel().tolist())) if flat.dtype.kind == "O" else 0
        return flat.nbytes + texts + sum(splits.nbytes for splits in self.nested_row_splits)

    def row_lengths(self) -> Splits:
        """[rows] how long each row is."""
        lengths: Splits = np.diff(self.row_splits)
        return lengths

    def __len__(self) -> int:
        return len(self.row_splits) - 1

    def __getitem__(self, index: int | slice) -> Any:
        """Row `index`, an array or a Ragged; of a slice, a Ragged of these rows. Views, but for slices with a step."""
        if not isinstance(index, slice):
            number = range(len(self))[index]  # which raises as a list would
            return self.values[int(self.row_splits[number]) : int(self.row_splits[number + 1])]
        start, stop, step = index.indices(len(self))
        if step != 1:
            return self.take(np.arange(start, stop, step))
        stop = max(start, stop)
        splits = self.row_splits[start : stop + 1]
        return Ragged(self.values[int(splits[0]) : int(splits[-1])], splits - splits[0])

    def take(self, rows: Splits) -> Ragged:
        """The rows of these numbers. Cost: one copy."""
        if not len(rows):
            return self[:0]  # type: ignore[no-any-return]  # a slice is a Ragged
        return Ragged.from_rows([self[int(row)] for row in rows], self.row_splits.dtype)

    def __iter__(self) -> Iterator[Any]:
        return (self[row] for row in range(len(self)))

    def to_list(self) -> list[Any]:
        """Nested lists of Python values."""
        return [row.to_list() if isinstance(row, Ragged) else row.tolist() for row in self]

    def to_padded(self, value: Any = 0, length: int | None = None) -> NDArray[Any]:
        """A new array [rows, length, ...], each row at the start of its slot, the rest `value`.

        length: None is that of the longest row. Raises: StackError: a row is longer. InvalidArgumentError: a ragged
        rank above 1.
        """
        if isinstance(self.values, Ragged):
            raise InvalidArgumentError("to_padded", got=f"ragged rank {self.ragged_rank}", expected="1")
        lengths = self.row_lengths()
        longest = int(lengths.max()) if len(lengths) else 0
        if length is not None and longest > length:
            row = int(np.argmax(lengths))
            raise StackError(f"row {row} has {longest} items", expected=f"at most {length}")
        size = longest if length is None else length
        out = np.full((len(self), size, *self.values.shape[1:]), value, dtype=self.values.dtype)
        out[np.arange(size) < lengths[:, np.newaxis]] = self.values
        return out

    def copy(self) -> Ragged:
        """The same, of memory of its own."""
        return Ragged(self.values.copy(), self.row_splits.copy())

    def __eq__(self, other: object) -> bool:
        """Whether `other` is a Ragged of the same rows: dtype, ragged rank, row splits and values."""
        return (
            isinstance(other, Ragged)
            and self.ragged_rank == other.ragged_rank
            and self.flat_values.dtype == other.flat_values.dtype
            and all(map(np.array_equal, self.nested_row_splits, other.nested_row_splits))
            and np.array_equal(self.flat_values, other.flat_values)
        )

    __hash__ = None  # type: ignore[assignment]  # compared by content, as arrays are

    def __reduce__(self) -> tuple[Any, ...]:
        return Ragged, (self.values, self.row_splits)

    def __repr__(self) -> str:
        text = repr(self.to_list()) if self.flat_values.size <= 40 else f"{len(self)} rows"
        return f"Ragged({text}, dtype={ {'S': 'bytes', 'U': 'str'}.get(self.dtype.kind, self.dtype.name) })"


def splits_of(lengths: Any, dtype: Any = np.int64) -> Splits:
    """Where rows of these lengths end, from 0 on."""
    splits = np.zeros(len(lengths) + 1, dtype=dtype)
    np.cumsum(lengths, out=splits[1:])
    return splits


def _joined(parts: Sequence[Any]) -> Any:
    if isinstance(parts[0], Ragged):
        return Ragged.concat(parts)
    odd = next((part for part in parts if part.shape[1:] != parts[0].shape[1:]), None)
    if odd is not None:
        raise StackError("rows of other inner shapes", got=str(odd.shape), expected=f"(any, *{parts[0].shape[1:]})")
    return np.concatenate(parts)


def _items(values: Any) -> NDArray[Any]:
    items = np.asarray(values)
    if items.dtype.kind in "SU":
        items = np.array(values, dtype=object)
    kinds = {type(item) for item in items.ravel().tolist()} if items.dtype.kind == "O" else set()
    if not items.ndim or not (kinds <= {bytes} or kinds <= {str}):
        raise InvalidArgumentError(
            "Ragged: values", got=f"{values!r:.80}", expected="an array of numbers, bytes or str"
        )
    return _read_only(items)


def _read_only(array: NDArray[Any]) -> NDArray[Any]:
    view = array.view()
    view.flags.writeable = False
    return view
