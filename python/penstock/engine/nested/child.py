"""Children: the nested datasets that a function returns, opened one for each element of its input.

A child runs inline in the task that needs its rows. Its elements are told apart by (parent's origin, own origin), and
what is drawn in it is keyed by the parent's identity too: every child shuffles in its own way, whoever runs it when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.block.block import Block, Failure, preview
from penstock.block.columns import ArrayColumn, RowsColumn
from penstock.block.origin import NOWHERE, ChildOrigins, Origins
from penstock.block.spec import Spec
from penstock.block.tree import Structure
from penstock.engine.nested.inline import BarrierOf, Puller
from penstock.engine.nested.reuse import Functions
from penstock.engine.operators.functions import empty_block
from penstock.engine.scope import Scope, Seen, TaskLog, agree, disagreement
from penstock.engine.sizing import TaskSize
from penstock.errors import PenstockError, UserFunctionError
from penstock.graph.node import Node
from penstock.graph.nodes import Batch, Concatenate, Nesting, Range, Repeat, Shuffle, Skip, Slices, Take, Zip
from penstock.graph.walk import chain_of, nodes_of, numbered
from penstock.rng import UInt64s, element_scope
from penstock.telemetry.tally import NoTally, Tally

_KEYS_OF_CHILDREN = 2**32
_WITHOUT_USER_CODE = (Slices, Range, Batch, Zip, Take, Skip, Shuffle, Repeat, Concatenate)


class Child:
    """One open nested dataset: rows that were pulled and not taken, and how to pull more."""

    __slots__ = ("_blocks", "_log", "_parent", "_row", "block", "ended", "failure", "start", "waiting")

    def __init__(self, parent: Origins, row: int, blocks: Iterator[Block], log: TaskLog) -> None:
        self._parent = parent
        self._row = row
        self._blocks = blocks
        self._log = log
        self.waiting: deque[Block] = deque()  # pulled, in order
        self.block: Block | None = None  # whose rows are being taken, from row `start` on
        self.start = 0
        self.ended = False  # nothing more can be pulled
        self.failure: Failure | None = None  # what follows the last row pulled

    @property
    def left(self) -> int:
        """Rows that can be taken at once."""
        return 0 if self.block is None else len(self.block) - self.start

    def is_ready(self) -> bool:
        """Whether there are rows to take, or none will come; moves on to the next block that was pulled."""
        if self.left:
            return True
        self.block, self.start = (self.waiting.popleft(), 0) if self.waiting else (None, 0)
        return self.block is not None or self.ended

    def take(self, count: int) -> Block:
        """The next `count` rows, of those that are left."""
        block = self.block
        assert block is not None
        start, self.start = self.start, self.start + count
        return block.slice(start, start + count)

    def close(self) -> None:
        """End its sources: the `finally` of a user's generator runs now."""
        self.ended = True
        blocks, self._blocks = self._blocks, iter(())
        close = getattr(blocks, "close", None)
        if close is not None:
            close()


class Opener:
    """Opens the children of one node, and keeps what they have in common."""

    def __init__(self, node: Nesting, scope: Scope, barrier_of: BarrierOf) -> None:
        self.node = node
        self.scope = scope
        self._key = scope.key("map", node.number, None)
        size = scope.services.block_size
        known = scope.services.sizes.get(node.key)
        self._size = TaskSize(size, fixed=True) if size is not None else known or TaskSize()
        self._puller = Puller(lambda: self._size.rows, barrier_of, Functions())
        self._identified: tuple[Origins, UInt64s] | None = None
        self._first: Seen | None = None
        self._structure: Structure | None = None
        self._kinds: tuple[Any, ...] = ()
        self._promised: Node | None = None  # the graph of the first child

    def open(self, parents: Block, row: int, scope: Scope) -> Child:
        """The child of element `row`. Whatever the user's function raises is the child's failure."""
        log = TaskLog(NoTally(scope.services.clock))
        child = Child(parents.origins, row, iter(()), log)
        try:
            ids = self._ids(parents.origins)
            node = self._call(parents, row, ids)
            graph = scope.services.optimized(numbered(node))
            if self._promised is None:
                self._promised = graph
            if _is_measured(graph):
                log.tally = Tally(scope.services.clock)
            inner = self.scope.in_child(self.node.number, int(ids[row]), log)
            child._blocks = self._puller.blocks(graph, inner)
        except Exception as error:  # noqa: BLE001  # told in its turn, after the elements before it
            child.ended, child.failure = True, Failure(error)
        return child

    def _ids(self, origins: Origins) -> UInt64s:
        """The identities of a block of elements: computed at once for all of them."""
        known = self._identified
        if known is None or known[0] is not origins:
            known = self._identified = (origins, origins.ids())
        return known[1]

    def _call(self, parents: Block, row: int, ids: UInt64s) -> Node:
        element = parents.element(row)
        splat = isinstance(parents.structure.kind, type) and parents.structure.kind is not dict
        where = f"{self.node.label}, {parents.describe(row)}"
        try:
            with element_scope(self._key, lambda: ids) as current:
                current.row = row
                result = self.node.function(*element) if splat else self.node.function(element)
        except Exception as error:
            wrapped = UserFunctionError(
                f"the function raised {type(error).__name__}: {error}", where=f"{where}, value {preview(element)}"
            )
            raise wrapped from error
        return self.node.node_of(result, where)

    def pull(self, child: Child, log: TaskLog) -> Block | None:
        """The next block of `child`, as an element of the whole; None at its end. `log`: of the task that asks.

        A failure is kept apart, in the child.
        """
        now = self.scope.services.clock.now
        began, wanted = now(), self._size.rows
        try:
            block = next(child._blocks, None)
        except Exception as error:  # noqa: BLE001  # a fault of one child must reach the consumer in its turn
            block = empty_block(NOWHERE, Failure(error))
        self._tell(child, log)
        if block is None:
            child.ended = True
            return None
        if len(block) >= wanted:
            self._size = self._size.after(len(block), now() - began, block.nbytes)
            if not self._size.fixed:
                self.scope.services.sizes[self.node.key] = self._size
        if block.failure is not None:
            child.ended, child.failure = True, Failure(self._located(block.failure.error, child))
        if not len(block):
            return empty_block(NOWHERE)
        rows = np.full(len(block), child._row, dtype=np.int64)
        block = Block(block.structure, block.columns, ChildOrigins(child._parent, rows, block.origins))
        return self._checked(block, child)

    def _checked(self, block: Block, child: Child) -> Block:
        """The block, if its elements are as those of the first child; else nothing, and the child fails."""
        if self._first is None:
            specs = _specs_of_all(self._promised, block)
            self._first = Seen(self.node.number, self.node.label, block.structure, specs, block.describe(0))
            return block
        if _is_like(block, self._structure, self._kinds):
            return block
        seen = Seen.of(self.node, block)
        if agree(self._first, seen):
            self._structure, self._kinds = block.structure, _kinds(block)
            return block
        child.ended, child.failure = True, Failure(disagreement(self._first, seen))
        return empty_block(NOWHERE)

    @property
    def seen(self) -> Seen | None:
        """What elements look like, by the first child that had one."""
        return self._first

    def _located(self, error: BaseException, child: Child) -> BaseException:
        """The error with the parent's line and origin before the child's."""
        if not isinstance(error, PenstockError):
            return error
        located = error.at(f"{self.node.label}, {child._parent.describe(child._row)}")
        located.__cause__ = error.__cause__
        return located.with_traceback(error.__traceback__)

    def _tell(self, child: Child, log: TaskLog) -> None:
        """What the child's steps told becomes part of the task's; their numbers are kept apart from the parent's."""
        told = child._log
        if told.skipped:
            log.skipped.extend(told.skipped)
            told.skipped = []
        told.seen.clear()
        if told.tally.steps:
            base = (self.node.number + 1) * _KEYS_OF_CHILDREN
            steps = {(base + number, verb): totals for (number, verb), totals in told.tally.steps.items()}
            log.tally.absorb(steps, sum(totals.cpu_s for totals in steps.values()))
            told.tally.steps.clear()


def _kinds(block: Block) -> tuple[Any, ...]:
    """Dtype and dimensions of each leaf: what must not change."""
    return tuple(
        (c.values.dtype, c.values.ndim)
        if isinstance(c, ArrayColumn)
        else (c.dtype, c.values[0].ndim if isinstance(c, RowsColumn) else None)
        for c in block.columns
    )


def _is_like(block: Block, structure: Structure | None, kinds: tuple[Any, ...]) -> bool:
    """A quick yes; a no says nothing yet."""
    if block.structure is not structure and block.structure != structure:
        return False
    return _kinds(block) == kinds and all(ndim is not None for _, ndim in kinds)


def _is_measured(graph: Node) -> bool:
    """Whether it runs the user's code, so that its steps are worth telling apart."""
    nodes = chain_of(graph) or nodes_of(graph)
    return not all(isinstance(node, _WITHOUT_USER_CODE) for node in nodes)


def _specs_of_all(graph: Node | None, block: Block) -> tuple[Spec, ...]:
    """What the elements of all children look like, by the first one's: batches may differ in their number of rows."""
    specs = block.specs
    if graph is None:
        return specs
    if any(isinstance(n, Nesting) or (isinstance(n, Batch) and not n.drop_remainder) for n in nodes_of(graph)):
        specs = tuple(Spec((None, *spec.shape[1:]), spec.dtype) if spec.shape else spec for spec in specs)
    said = graph.signature()
    if said is None or said.structure != block.structure:
        return specs
    return tuple(spec.merge(promise) for spec, promise in zip(specs, said.specs, strict=True))
