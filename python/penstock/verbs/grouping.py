"""Verbs that group elements: batch and unbatch."""

from __future__ import annotations

from typing import Self

from penstock.errors import user_location
from penstock.graph.nodes import Batch, Unbatch
from penstock.options import require_integer
from penstock.verbs.base import Verbs


class GroupingVerbs(Verbs):
    """Elements into batches and back."""

    def batch(self, batch_size: int, drop_remainder: bool = False) -> Self:
        """Consecutive elements stacked: each leaf gains a leading axis of `batch_size`.

        The last batch may be short; `drop_remainder=True` leaves it out, so every batch has one shape. Text leaves
        become object arrays. Batches are writable and 64-byte aligned, so frameworks can alias them.
        Raises, while iterating: StackError: names leaf, element and both shapes when rows differ in shape.
        """
        where = user_location()
        size = require_integer("batch", "batch_size", batch_size, minimum=1, where=where)
        return self._of(
            Batch(inputs=(self._node,), location=where, batch_size=size or 1, drop_remainder=bool(drop_remainder))
        )

    def unbatch(self) -> Self:
        """The rows of each element, one after another; all leaves must have as many rows."""
        return self._of(Unbatch(inputs=(self._node,), location=user_location()))
