"""Barrier: an operator that needs its input in order.

A barrier is fed by the scheduler, one block at a time: `push` takes a block of one input, `finish` says that input has
ended; both give the blocks that follow from it. `wants` names the input it needs next, None when it will take no more.
What a barrier gives depends on the elements that came in, never on how they were cut into blocks. One that may give
without end what follows from little (a nested dataset) gives a part of it, and says by `pending` that `more` has the
rest.
"""

from __future__ import annotations

from penstock.block.block import Block, Failure
from penstock.engine.scope import Scope
from penstock.graph.node import Node


class Barrier:
    """Base: one input, passed through."""

    def __init__(self, node: Node, scope: Scope) -> None:
        self.node = node
        self.scope = scope
        self.wants: int | None = 0
        self.pending = False

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        return [block]

    def fail(self, source: int, failure: Failure) -> Failure | None:
        """An input failed after what was pushed; what follows now: the failure, unless its turn comes later."""
        return failure

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        return []

    def more(self, scope: Scope) -> list[Block]:
        """What follows next from what was pushed; asked for while `pending`, before anything else is pushed."""
        raise NotImplementedError

    def close(self) -> None:
        """Let go of what it holds open. Called once, when no task of it runs."""
