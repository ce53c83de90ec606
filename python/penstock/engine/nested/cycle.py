"""Cycle: which rows of which children come next. The order of tf.data's interleave, a block at a time.

There are `cycle_length` slots. The turn goes round: a slot without a child opens one for the next element of the input;
a slot with one gives `block_length` rows; a child found at its end leaves its slot, and the turn passes on. A flat map
is a cycle of one slot. Rows are never handled one by one where several rounds can be cut out of what was pulled.

Source: tensorflow/core/kernels/data/interleave_dataset_op.cc, `GetNextInternal`.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from enum import Enum
from typing import Any

import numpy as np

from penstock.block.block import Block, Failure, concat_blocks
from penstock.block.origin import NOWHERE
from penstock.engine.nested.child import Child, Opener
from penstock.engine.operators.functions import empty_block
from penstock.engine.scope import Scope, Seen

_ROWS = 1024
_BYTES = 4 * 2**20
_SECONDS = 0.004


class Need(Enum):
    """Why a cycle stopped: enough for one block; it needs an element of its input; rows of a child; it has ended."""

    NOTHING = 0
    ELEMENT = 1
    ROWS = 2
    END = 3


@dataclass(frozen=True, slots=True)
class Rounds:
    """Whole rounds: the same number of rows of several children, in turns of `length`."""

    parts: list[Block]
    length: int

    def __len__(self) -> int:
        return len(self.parts) * len(self.parts[0])

    @property
    def nbytes(self) -> int:
        return sum(part.nbytes for part in self.parts)

    def block(self) -> Block:
        """The rows in their order."""
        count = len(self.parts[0]) // self.length
        order = np.arange(len(self), dtype=np.int64).reshape(len(self.parts), count, self.length)
        return concat_blocks(self.parts).take(order.transpose(1, 0, 2).ravel())


@dataclass(frozen=True, slots=True)
class Cut:
    """What comes next: pieces that were cut off and not yet joined, the failure after them, what more would need."""

    pieces: list[Block | Rounds]
    failure: Failure | None
    need: Need
    seen: Seen | None

    def block(self, scope: Scope) -> Block | None:
        """The pieces joined; None where there is neither a row nor a failure. Cost: one copy."""
        if self.pieces and self.seen is not None:
            scope.task_log.seen.append(self.seen)
        if not self.pieces:
            return None if self.failure is None else empty_block(NOWHERE, self.failure)
        block = concat_blocks([piece.block() if isinstance(piece, Rounds) else piece for piece in self.pieces])
        return Block(block.structure, block.columns, block.origins, self.failure)


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
        self.ahead: deque[Child] = deque()  # children that wait for a slot
        self._rest_before_rounds = 0
        self._pushed = 0  # elements that came
        self._next = 0  # the number of the next that gets a child

    def push(self, block: Block) -> None:
        """More elements of the input."""
        if len(block):
            self._elements.append((block, 0))
            self._pushed += len(block)

    def carry(self) -> list[Any]:
        """Which elements have a child, how many rows each has given, and whose turn it is: by age, the oldest is 0.

        Children that wait for a slot have given nothing: their elements count as those that have none.
        """
        ahead = min((child.number for child in self.ahead), default=self._next)
        oldest = min((child.number for child in self.slots if child is not None), default=ahead)
        slots = [None if child is None else [child.number - oldest, child.given] for child in self.slots]
        return [self._pushed - oldest, ahead - oldest, slots, self.place, self.turn]

    def restore(self, carry: list[Any]) -> None:
        """Stand where another stood, once the elements since its oldest have been pushed."""
        _, following, slots, self.place, self.turn = carry
        given = {entry[0]: (place, entry[1]) for place, entry in enumerate(slots) if entry is not None}
        self.slots = [None] * len(slots)
        for number in range(following):
            child = self.next_child()
            if child is not None and number in given:
                place, rows = given[number]
                self.slots[place] = Child(child.parents, child.row, number, rows)

    @property
    def has_elements(self) -> bool:
        """Whether there are elements that have no child yet."""
        return bool(self._elements)

    def free_slots(self) -> int:
        """How many slots have no child."""
        return self.slots.count(None)

    def fill_slots(self) -> list[Child]:
        """A child in every slot, as far as there are elements; the children. For a cycle without turns."""
        for place in range(len(self.slots)):
            if self.slots[place] is None:
                self.slots[place] = self.next_child()
        return self.children()

    def leave(self, child: Child) -> None:
        """A child at its end gives up its slot."""
        self.slots[self.slots.index(child)] = None
        child.close()

    def is_empty(self) -> bool:
        """Whether there is neither a child nor an element that could have one."""
        return not (self._elements or self.ahead) and self.free_slots() == len(self.slots)

    def next_child(self) -> Child | None:
        """The child of the next element that has none; None when there is no element."""
        if not self._elements:
            return None
        block, row = self._elements.popleft()
        if row + 1 < len(block):
            self._elements.appendleft((block, row + 1))
        self._next += 1
        return Child(block, row, self._next - 1)

    def children(self) -> list[Child]:
        """Those there are, the one whose turn it is first, those that wait for a slot last."""
        slots = self.slots[self.place :] + self.slots[: self.place]
        return [*(child for child in slots if child is not None), *self.ahead]

    def cut(self, scope: Scope, pull: Callable[[Child], None] | None) -> Cut:
        """The next rows, up to a block of them. `pull` has a child pull; None: what was not pulled is not there."""
        services = scope.services
        limit = services.block_size or _ROWS
        deadline = services.clock.now() + _SECONDS
        pieces: list[Block | Rounds] = []
        rows = nbytes = 0
        need, failure = Need.NOTHING, None
        while rows < limit and nbytes < _BYTES and (services.block_size or services.clock.now() < deadline):
            child = self.slots[self.place] if self.slots else None
            if child is None:
                if self._fill():
                    continue
                if not self.input_ended:
                    need = Need.ELEMENT
                    break
                if not self._compact():
                    need = Need.END
                    break
                continue
            if not child.left and not self._advance(child):
                if not child.ended:
                    if pull is None:
                        need = Need.ROWS
                        break
                    pull(child)
                elif child.failure is not None:
                    failure, need = child.failure, Need.END
                    break
                else:
                    self._let_go()
                continue
            piece = self._rounds(limit - rows) or self._piece(child, limit - rows)
            pieces.append(piece)
            rows += len(piece)
            nbytes += piece.nbytes
        return Cut(pieces, failure, need, self._opener.seen)

    def _advance(self, child: Child) -> bool:
        """Go on to the next block that was pulled from the child; whether there is one."""
        child.block, child.start = None, 0
        while child.waiting and not child.left:
            child.block = block = self._opener.checked(child.waiting.popleft(), child)
            child.start = 0 if block is None else min(child.drop, len(block))
            child.drop -= child.start
        return child.left > 0

    def _fill(self) -> bool:
        """Put a child where the turn is; whether there was an element for it."""
        child = self.ahead.popleft() if self.ahead else self.next_child()
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

    def _rounds(self, limit: int) -> Rounds | None:
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
        return Rounds([child.take(count * length) for child in children], length)

    def close(self) -> None:
        """End every child that no task is at work on, whatever the ending of one raises."""
        self._elements.clear()
        children, self.slots, self.ahead = self.children(), [], deque()
        error: BaseException | None = None
        for child in children:
            try:
                if not child.busy:
                    child.close()
            except Exception as raised:  # noqa: BLE001  # the first is raised when all are ended
                error = error or raised
        if error is not None:
            raise error
