"""What every index-driven operator is: the elements at any positions, computed alone.

`rows(positions)` gives one block, in the order of the positions; a block that ends early (failure) ends at the first
position that failed. `batches(positions, counts)` is the short way for a source under a batch: rows go from where they
lie straight into their slots of the batch buffers. It gives None where there is no short way; the long way, `rows` and
then `stack_batches`, gives the same bytes.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.block.block import Block
from penstock.block.columns import Indices
from penstock.block.origin import Origins, SourceOrigins
from penstock.engine.scope import Scope
from penstock.graph.node import Node


class IndexedOperator:
    """Base: measured `rows` and `batches` around what a kind computes."""

    def __init__(self, node: Node, inputs: Sequence[IndexedOperator]) -> None:
        self.node = node
        self.inputs = tuple(inputs)
        self.length = node.cardinality()

    def rows(self, positions: Indices, scope: Scope) -> Block:
        """The elements at `positions` [n] int64, each in [0, length)."""
        tally = scope.task_log.tally
        return tally.measure(self.node.key, self.node.label, lambda: self._rows(positions, scope))

    def batches(self, positions: Indices, counts: Indices, scope: Scope) -> Block | None:
        """The elements at `positions` as batches of `counts` rows, or None: no short way."""
        return None

    @property
    def lays_out_rows(self) -> bool:
        """Whether its rows come as a batch would lie, so that whole batches need no copy and parts would."""
        return False

    def is_handed_over(self) -> bool:
        """Whether part of its work has gone to worker processes."""
        return any(source.is_handed_over() for source in self.inputs)

    def origins(self, positions: Indices, scope: Scope) -> Origins:
        """The identities of the elements at `positions`, without computing them."""
        return self.inputs[0].origins(positions, scope)

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        raise NotImplementedError


class SourceOperator(IndexedOperator):
    """A source: element i is row i."""

    def origins(self, positions: Indices, scope: Scope) -> Origins:
        return SourceOrigins(self.node.number, self.node.label, positions)


def is_consecutive(positions: Indices) -> bool:
    """Whether positions are p, p + 1, ...: then rows can be a view."""
    n = len(positions)
    return n > 0 and int(positions[-1]) - int(positions[0]) == n - 1 and bool((np.diff(positions) == 1).all())
