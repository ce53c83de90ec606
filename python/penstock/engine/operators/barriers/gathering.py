"""What waits until there are enough rows of it."""

from __future__ import annotations

from penstock.block.block import Block, concat_blocks
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.scope import Scope
from penstock.graph.node import Node


class GatheringBarrier(Barrier):
    """Base: keeps the rows that came until they make whole groups of `size`."""

    carries = True

    def __init__(self, node: Node, scope: Scope, size: int) -> None:
        super().__init__(node, scope)
        self._size = size
        self._waiting: list[Block] = []
        self._rows = 0

    def gathered(self, block: Block) -> Block | None:
        """The rows that with those of `block` make whole groups; None where there is no group."""
        if len(block):
            self._waiting.append(block)
            self._rows += len(block)
        whole = self._rows // self._size * self._size
        return self.taken(whole) if whole else None

    def taken(self, rows: int) -> Block:
        """The first `rows` of what waits; the rest goes on waiting."""
        joined = concat_blocks(self._waiting)
        rest = joined.slice(rows, len(joined))
        self._waiting, self._rows = ([rest] if len(rest) else []), self._rows - rows
        return joined.slice(0, rows)

    def carry(self) -> list[int]:
        return []

    def held(self) -> tuple[int, ...]:
        return (self._rows,)
