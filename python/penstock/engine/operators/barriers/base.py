"""Barrier: an operator that needs its input in order.

A barrier is fed by the scheduler, one block at a time: `push` takes a block of one input, `finish` says that input has
ended; both give the blocks that follow from it. `wants` names the input it needs next, None when it will take no more.
What a barrier gives depends on the elements that came in, never on how they were cut into blocks. One that may give
without end what follows from little (a nested dataset) gives a part of it, and says by `pending` that `more` has the
rest.

To be resumed without feeding it everything again, a barrier says what it carries as counts (`carry`) and how many of
the last elements of each input it needs again (`held`). A new one is then given the carry (`restore`) and those
elements (`refill`), and stands where the old one stood. One that says nothing is fed from the start.
"""

from __future__ import annotations

from typing import Any, ClassVar

from penstock.block.block import Block, Failure
from penstock.engine.scope import Scope
from penstock.graph.node import Node


class Barrier:
    """Base: one input, passed through. `carries`: it has a `carry`; `carries_past_end`: also after an input ended."""

    carries: ClassVar[bool] = False
    carries_past_end: ClassVar[bool] = False

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

    def carry(self) -> Any:
        """What it carries beside elements, as JSON values; None: cannot be said, or not now (it costs too much)."""
        return None

    def held(self) -> tuple[int, ...]:
        """For each input, how many of the last elements that came in `refill` needs; asked for after `carry`."""
        return (0,) * len(self.node.inputs)

    def restore(self, carry: Any) -> None:
        """Take up what another carried; the elements it held follow."""

    def refill(self, source: int, block: Block, scope: Scope) -> None:
        """Take in elements that another held. The default suits what gives nothing before it holds more than that."""
        self.push(source, block, scope)
