"""Elements by position from a store, of whatever format."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.block.block import Block, Failure, concat_blocks
from penstock.block.columns import ArrayColumn, Indices
from penstock.block.origin import NOWHERE, BatchOrigins, Origins
from penstock.block.tree import LEAF
from penstock.engine.operators.files import OpenOnce
from penstock.engine.operators.functions import empty_block, leave_out
from penstock.engine.operators.positions import IndexedOperator, SourceOperator
from penstock.engine.scope import Scope
from penstock.errors import PenstockError
from penstock.formats.store import Found, OpenStore
from penstock.graph.nodes import FormatRows


class FormatRowsOperator(SourceOperator):
    """Columns as the store gives them. An element that cannot be had ends the block, or is left out."""

    node: FormatRows

    def __init__(self, node: FormatRows, inputs: Sequence[IndexedOperator]) -> None:
        super().__init__(node, inputs)
        self.length = node.store.count
        specs = node.store.specs
        self._stacks = all(spec.shape is not None and None not in spec.shape for spec in specs)
        self._store: OpenOnce[OpenStore] = OpenOnce(node.store.open)

    @property
    def lays_out_rows(self) -> bool:
        return self._stacks and not self.node.drops

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        if not self.node.drops:
            return self._until_failure(positions, scope)
        kept: list[Block] = []
        done = given = 0
        while done < len(positions):
            block = self._until_failure(positions[done:], scope)
            if block.failure is None:
                kept.append(block)
                break
            error = block.failure.error
            if not isinstance(error, Exception) or not self.node.leaves_out(error):
                kept.append(block)
                break
            kept.append(Block(block.structure, block.columns, block.origins))
            given += len(block)
            done += len(block)
            asked = Block(LEAF, (ArrayColumn(positions),), self.origins(positions, scope))
            leave_out(self.node, asked, done, error, scope, place=given)
            done += 1
        return concat_blocks(kept) if kept else empty_block(self.origins(positions[:0], scope))

    def batches(self, positions: Indices, counts: Indices, scope: Scope) -> Block | None:
        if self.node.drops or not self._stacks:
            return None
        tally = scope.task_log.tally
        block = tally.measure(self.node.key, self.node.label, lambda: self._batches(positions, counts, scope))
        return block if len(block) else None

    def _batches(self, positions: Indices, counts: Indices, scope: Scope) -> Block:
        """The batches, or none: the long way then tells how far it comes."""
        try:
            columns = self._store.get().read_batches(positions, counts, scope.services.pool)
        except PenstockError:
            columns = None
        if columns is None:
            return empty_block(NOWHERE)
        origins = BatchOrigins(self.origins(positions, scope), np.cumsum(counts) - counts, counts)
        return Block(self.node.store.structure, columns, origins)

    def _until_failure(self, positions: Indices, scope: Scope) -> Block:
        try:
            found = self._store.get().read(positions, scope.services.pool) if len(positions) else Found((), 0)
        except PenstockError as error:
            found = Found((), 0, error)
        origins: Origins = self.origins(positions[: found.count], scope)
        failure = None if found.error is None else Failure(found.error.at(self.node.label))
        if not found.count:
            return empty_block(origins, failure)
        return Block(self.node.store.structure, found.columns, origins, failure)
