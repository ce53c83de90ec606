"""Barriers whose elements are, or come from, nested datasets."""

from __future__ import annotations

from typing import Any

from penstock.block.block import Block, Failure
from penstock.block.origin import NOWHERE
from penstock.engine.nested.child import Opener
from penstock.engine.nested.cycle import Cycle, Need
from penstock.engine.nested.inline import BarrierOf
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.operators.functions import empty_block
from penstock.engine.scope import Scope
from penstock.graph.nodes import Interleave, Nesting


class NestedBarrier(Barrier):
    """The elements of the datasets that a function returns, one dataset after another or in turns."""

    node: Nesting
    carries = carries_past_end = True

    def __init__(self, node: Nesting, scope: Scope, barrier_of: BarrierOf) -> None:
        super().__init__(node, scope)
        cycle_length = node.cycle_length if isinstance(node, Interleave) else 1
        block_length = node.block_length if isinstance(node, Interleave) else 1
        self._opener = Opener(node, scope, barrier_of)
        self._cycle = Cycle(self._opener, cycle_length, block_length)
        self._failure: Failure | None = None  # of the input, after all its elements
        self._carried: list[Any] | None = None  # of another, whose elements are coming

    def feed(self, scope: Scope) -> bool:
        """Give the cycle more elements, where there are any that it has not; whether there were."""
        return False

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        self._cycle.push(block)
        return self.more(scope)

    def fail(self, source: int, failure: Failure) -> Failure | None:
        if not self.pending:
            return failure
        self._failure = failure
        return None

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self._cycle.input_ended = True
        return self.more(scope)

    def more(self, scope: Scope) -> list[Block]:
        cut = self._cycle.cut(scope, lambda child: child.accept(self._opener.pull(child, scope.task_log)))
        block, need = cut.block(scope), cut.need
        if need is Need.ELEMENT and self.feed(scope):
            need = Need.NOTHING
        self.pending = need is Need.NOTHING
        blocks = [] if block is None else [block]
        if need is Need.END:
            self.wants = None
        elif need is Need.ELEMENT and self._failure is not None:
            self.wants = None
            blocks.append(empty_block(NOWHERE, self._failure))
        return blocks

    def carry(self) -> Any:
        return self._cycle.carry()

    def held(self) -> tuple[int, ...]:
        return (self._cycle.carry()[0],)

    def restore(self, carry: list[Any]) -> None:
        self._carried = carry
        self._take_up(0)

    def refill(self, source: int, block: Block, scope: Scope) -> None:
        self._cycle.push(block)
        self._take_up(len(block))

    def _take_up(self, came: int) -> None:
        if self._carried is None:
            return
        self._carried = [self._carried[0] - came, *self._carried[1:]]
        if not self._carried[0]:
            self._cycle.restore(self._carried)
            self._carried, self.pending = None, True

    def close(self) -> None:
        self._cycle.close()
