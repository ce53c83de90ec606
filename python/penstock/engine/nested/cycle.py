"""Cycle: which rows of which children come next. The order of tf.data's interleave, a block at a time.

There are `cycle_length` slots. The turn goes round: a slot without a child opens one for the next element of the input;
a slot with one gives `block_length` rows; a child found at its end leaves its slot, and the turn passes on. A flat map
is a cycle of one slot. Rows are never handled one by one where several rounds can be cut out of what was pulled.

Source: tensorflow/core/kernels/data/interleave_dataset_op.cc, `GetNextInternal`.
"""

from __future__ import annotations

from collections import deque
from enum import Enum

import numpy as np

from penstock.block.block import Block, concat_blocks
from penstock.block.origin import NOWHERE
from penstock.engine.nested.child import Child, Opener
from penstock.engine.operators.functions import empty_block
from penstock.engine.scope import Scope

_ROWS = 1024
_BYTES = 4 * 2**20
_SECONDS = 0.004


class Need(Enum):
    """Why a cycle stopped: enough for one block; it needs an element of its input; rows of a child; it has ended."""

    NOTHING = 0
    ELEMENT = 1
    ROWS = 2
    END = 3


class Cycle:
    """The slots, whose turn it is, and the elements of the input that have no child yet."""

    def __init__(self, opener: Opener, cycle_length: int, block_length: int) -> None:
        self._opener = opener
        self._block_length = block_length
        self.slots: list[Child | None] = [None] * cycle_length
        self.place = 0  # the slot whose turn it is
        self.turn = 0  # rows it has given in this turn
        self.input_ended = False
        self._elements: deque[tuple[Block, int]] = deque()  # blocks of the input, and the next row of each
        self._opened: deque[Child] = deque()  # opened ahead of their slots
        self._rest_before_rounds = 0
        self._pieces: list[Block] = []

    def push(self, block: Block) -> None:
        """More elements of the input."""
        if len(block):
            self._elements.append((block, 0))

    def open_next(self, scope: Scope) -> Child | None:
        """The child of the next element; None when there is no element."""
        if not self._elements:
            return None
        block, row = self._elements.popleft()
        if row + 1 < len(block):
            self._elements.appendleft((block, row + 1))
        return self._opener.open(block, row, scope)

    def children(self) -> list[Child]:
        """Those that are open, the one whose turn it is first, those opened ahead last."""
        slots = self.slots[self.place :] + self.slots[: self.place]
        return [*(child for child in slots if child is not None), *self._opened]

    def next_block(self, scope: Scope) -> tuple[Block | None, Need]:
        """The next rows, and what else there must be for more. Pulls from children as it needs them."""
        services = scope.services
        limit = services.block_size or _ROWS
        deadline = services.clock.now() + _SECONDS
        self._pieces, rows, nbytes = [], 0, 0
        need = Need.NOTHING
        failure = None
        while rows < limit and nbytes < _BYTES and (services.block_size or services.clock.now() < deadline):
            child = self.slots[self.place] if self.slots else None
            if child is None:
                if self._fill(scope):
                    continue
                if not self.input_ended:
                    need = Need.ELEMENT
                    break
                if not self._compact():
                    need = Need.END
                    break
                continue
            if not child.is_ready():
                block = self._opener.pull(child, scope.task_log)
                if block is not None and len(block):
                    child.waiting.append(block)
                continue
            if not child.left:
                if child.failure is not None:
                    failure, need = child.failure, Need.END
                    break
                self._let_go()
                continue
            piece = self._rounds(limit - rows) or self._piece(child, limit - rows)
            self._pieces.append(piece)
            rows += len(piece)
            nbytes += piece.nbytes
        return self._joined(failure, scope), need

    def _fill(self, scope: Scope) -> bool:
        """Open a child where the turn is; whether there was an element for it."""
        child = self._opened.popleft() if self._opened else self.open_next(scope)
        if child is not None:
            self.slots[self.place] = child
        return child is not None

    def _compact(self) -> bool:
        """The input has ended: slots that nothing will fill go. Whether any child is left."""
        before = sum(child is not None for child in self.slots[: self.place])
        self.slots = [child for child in self.slots if child is not None]
        self.place = before % max(1, len(self.slots))
        return bool(self.slots)

    def _let_go(self) -> None:
        child = self.slots[self.place]
        self.slots[self.place] = None
        self._pass_on()
        if child is not None:
            child.close()

    def _pass_on(self) -> None:
        self.turn = 0
        self.place = (self.place + 1) % len(self.slots)

    def _piece(self, child: Child, limit: int) -> Block:
        """Rows of the child whose turn it is."""
        if len(self.slots) == 1:
            return child.take(min(child.left, limit))
        count = min(self._block_length - self.turn, child.left, limit)
        self.turn += count
        if self.turn == self._block_length:
            self._pass_on()
        return child.take(count)

    def _rounds(self, limit: int) -> Block | None:
        """Several whole rounds at once, where every child has rows enough for one."""
        if self.turn or len(self.slots) == 1:
            return None
        if self._rest_before_rounds:
            self._rest_before_rounds -= 1
            return None
        children = [child for child in self.slots[self.place :] + self.slots[: self.place] if child is not None]
        length = self._block_length
        count = 0 if len(children) < len(self.slots) else min(child.left for child in children) // length
        count = min(count, limit // (length * len(children)))
        if count < 1:
            self._rest_before_rounds = len(self.slots) - 1
            return None
        rows = concat_blocks([child.take(count * length) for child in children])
        order = np.arange(len(children) * count * length, dtype=np.int64).reshape(len(children), count, length)
        return rows.take(order.transpose(1, 0, 2).ravel())

    def _joined(self, failure: object, scope: Scope) -> Block | None:
        pieces, self._pieces = self._pieces, []
        seen = self._opener.seen
        if pieces and seen is not None:
            scope.task_log.seen.append(seen)
        block = concat_blocks(pieces) if pieces else None
        if failure is None:
            return block
        block = empty_block(NOWHERE) if block is None else block
        return Block(block.structure, block.columns, block.origins, failure)  # type: ignore[arg-type]  # a Failure

    def close(self) -> None:
        """End every child, whatever the ending of one raises."""
        self._elements.clear()
        children, self.slots, self._opened = self.children(), [], deque()
        error: BaseException | None = None
        for child in children:
            try:
                child.close()
            except Exception as raised:  # noqa: BLE001  # the first is raised when all are ended
                error = error or raised
        if error is not None:
            raise error
