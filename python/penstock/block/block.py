"""Block: consecutive elements held in columns, with their origins. The engine moves blocks; users see elements.

Law: the size of a block is never visible. A block may end early with a `failure`: the elements before it are good and
are delivered first, exactly as if each had travelled alone.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.block.columns import Column, DatasetsColumn, Indices, concat_columns
from penstock.block.origin import Origins, concat_origins
from penstock.block.spec import Spec, SpecTree
from penstock.block.tree import Structure


@dataclass(frozen=True, slots=True)
class Failure:
    """What stopped a block after its last good element."""

    error: BaseException


@dataclass(frozen=True, slots=True)
class Block:
    """`len(origins)` elements: one column a leaf, in the order of `structure`.

    `columns` is empty when the block is (an empty block has no spec). `failure` follows the last element.
    """

    structure: Structure
    columns: tuple[Column, ...]
    origins: Origins
    failure: Failure | None = None

    def __len__(self) -> int:
        return len(self.origins)

    @property
    def nbytes(self) -> int:
        """Bytes of the leaves, not of their bookkeeping."""
        return sum(column.nbytes for column in self.columns)

    @property
    def specs(self) -> tuple[Spec, ...]:
        return tuple(column.spec for column in self.columns)

    def spec_tree(self) -> SpecTree:
        return self.structure.unflatten(self.specs)

    def element(self, row: int) -> Any:
        """Element `row` as the user sees it."""
        return self.structure.unflatten([column.row(row) for column in self.columns])

    def elements(self) -> Iterator[Any]:
        """The elements, in order."""
        if not self.columns:
            return iter(())
        if self.structure.is_leaf:
            return iter(self.columns[0].rows())
        leaves = zip(*(column.rows() for column in self.columns), strict=True)
        return leaves if self.structure.is_flat_tuple else map(self.structure.unflatten, leaves)

    def take(self, indices: Indices) -> Block:
        """The elements at these rows; drops the failure, as its place is lost."""
        columns = tuple(column.take(indices) for column in self.columns)
        return Block(self.structure, columns, self.origins.take(indices))

    def slice(self, start: int, stop: int) -> Block:
        """Elements start to stop; the failure only if the slice reaches the end."""
        if start == 0 and stop >= len(self):
            return self
        rows = np.arange(start, min(stop, len(self)), dtype=np.int64)
        columns = tuple(column.slice(start, stop) for column in self.columns) if len(rows) else ()
        return Block(self.structure, columns, self.origins.take(rows), self.failure if stop >= len(self) else None)

    def fail(self, rows: int, error: BaseException) -> Block:
        """The first `rows` elements, then `error`."""
        kept = self if rows >= len(self) else self.slice(0, rows)
        return Block(kept.structure, kept.columns, kept.origins, Failure(error))

    def describe(self, row: int) -> str:
        """Where element `row` came from."""
        return self.origins.describe(row)


def holds_datasets(block: Block) -> bool:
    """Whether a leaf of its elements is a dataset."""
    return any(isinstance(column, DatasetsColumn) for column in block.columns)


def concat_blocks(blocks: Sequence[Block]) -> Block:
    """Blocks of one spec laid one after another; ends at the first failure."""
    parts: list[Block] = []
    failure: Failure | None = None
    for block in blocks:
        parts.append(block)
        if block.failure is not None:
            failure = block.failure
            break
    full = [block for block in parts if len(block)] or parts[:1]
    if len(full) == 1:
        only = full[0]
        return only if only.failure is failure else Block(only.structure, only.columns, only.origins, failure)
    columns = tuple(concat_columns(leaf) for leaf in zip(*(block.columns for block in full), strict=True))
    return Block(full[0].structure, columns, concat_origins([block.origins for block in full]), failure)


def preview(element: Any, limit: int = 100) -> str:
    """An element on part of a line, for error texts: numbers and text as they are, arrays by shape and dtype.

    Of a text that is too long the end is kept, which of a path is the name of the file.
    """
    text = _preview(element, limit)
    if len(text) > limit:
        is_lone = isinstance(element, str)
        text = _preview(element, limit - 5 if is_lone else limit // 2)
    return text if len(text) <= limit else text[: limit - 3] + "..."


def _preview(value: Any, longest: int) -> str:
    if isinstance(value, dict):
        return "{" + ", ".join(f"{key!r}: {_preview(part, longest)}" for key, part in value.items()) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(_preview(part, longest) for part in value) + ("," if len(value) == 1 else "") + ")"
    if isinstance(value, str) and len(value) > longest:
        return repr("..." + value[-longest:])
    if isinstance(value, bytes) and len(value) > 20:
        return f"<{len(value)} bytes>"
    if getattr(value, "ndim", 0):
        return f"<{value.dtype.name} {value.shape}>"
    return repr(value.item() if hasattr(value, "item") and getattr(value, "ndim", 1) == 0 else value)
