"""Barriers that make one element of several."""

from __future__ import annotations

import numpy as np

from penstock.block.block import Block, concat_blocks
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.operators.joining import join_rows
from penstock.engine.scope import Scope
from penstock.graph.nodes import Batch


class BatchBarrier(Barrier):
    """Rows from consecutive blocks made into batches, of any kind."""

    node: Batch
    carries = True

    def __init__(self, node: Batch, scope: Scope) -> None:
        super().__init__(node, scope)
        self._waiting: list[Block] = []
        self._rows = 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if len(block):
            self._waiting.append(block)
            self._rows += len(block)
        whole = self._rows // self.node.batch_size
        return self._emit(whole * self.node.batch_size, scope) if whole else []

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        return self._emit(self._rows, scope) if self._rows and not self.node.drop_remainder else []

    def _emit(self, rows: int, scope: Scope) -> list[Block]:
        joined = concat_blocks(self._waiting)
        rest = joined.slice(rows, len(joined))
        self._waiting = [rest] if len(rest) else []
        self._rows -= rows
        size = self.node.batch_size
        counts = np.full(-(-rows // size), size, dtype=np.int64)
        counts[-1] = rows - (len(counts) - 1) * size
        return [join_rows(self.node, joined.slice(0, rows), counts, scope.services.pool)]

    def carry(self) -> list[int]:
        return []

    def held(self) -> tuple[int, ...]:
        return (self._rows,)
