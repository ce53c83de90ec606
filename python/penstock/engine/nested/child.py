"""Children: the nested datasets that a function returns, opened one for each element of its input.

A child runs inline in the task that needs its rows. Its elements are told apart by (parent's origin, own origin), and
what is drawn in it is keyed by the parent's identity too: every child shuffles in its own way, whoever runs it when.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from penstock.block.block import Block, Failure, preview
from penstock.block.columns import ArrayColumn, RowsColumn
from penstock.block.origin import NOWHERE, ChildOrigins, Origins
from penstock.block.spec import Spec
from penstock.block.tree import Structure
from penstock.engine.nested.inline import BarrierOf, Puller
from penstock.engine.nested.reuse import Functions
from penstock.engine.operators.functions import empty_block, leave_out, user_error
from penstock.engine.scope import Scope, Seen, TaskLog, agree, disagreement
from penstock.engine.sizing import TaskSize
from penstock.errors import PenstockError, StructureError
from penstock.graph.ignore import ignoring
from penstock.graph.node import Node
from penstock.graph.nodes import Batch, Concatenate, Nesting, Range, Repeat, Shuffle, Skip, Slices, Take, Zip
from penstock.graph.walk import chain_of, nodes_of, numbered
from penstock.rng import UInt64s, element_scope
from penstock.telemetry.tally import NoTally, Tally

_KEYS_OF_CHILDREN = 2**32
_WITHOUT_USER_CODE = (Slices, Range, Batch, Zip, Take, Skip, Shuffle, Repeat, Concatenate)


@dataclass(frozen=True, slots=True)
class Pulled:
    """What one pull gave: a block without a failure, whether it was the last, and what follows it then."""

    block: Block | None
    ended: bool
    failure: Failure | None = None


class Child:
    """One nested dataset: opened when it is first pulled from; rows that were pulled and not taken."""

    __slots__ = (
        "block", "blocks", "busy", "drop", "ended", "failure", "given", "log", "number", "parents", "row", "start",
        "waiting",
    )  # fmt: skip

    def __init__(self, parents: Block, row: int, number: int = 0, given: int = 0) -> None:
        self.parents = parents
        self.row = row
        self.number = number  # of its element in the input
        self.given = given  # rows that were taken
        self.drop = given  # of those, how many a run before this one took: they come again, and go
        self.blocks: Iterator[Block] | None = None  # None: not opened
        self.log: TaskLog | None = None
        self.busy = False  # a task pulls from it
        self.waiting: deque[Block] = deque()  # pulled, in order
        self.block: Block | None = None  # whose rows are being taken, from row `start` on
        self.start = 0
        self.ended = False  # nothing more can be pulled
        self.failure: Failure | None = None  # what follows the last row pulled

    @property
    def left(self) -> int:
        """Rows that can be taken at once."""
        return 0 if self.block is None else len(self.block) - self.start

    def accept(self, pulled: Pulled) -> None:
        """Keep what a pull gave."""
        if pulled.block is not None and len(pulled.block):
            self.waiting.append(pulled.block)
        self.ended, self.failure = pulled.ended, pulled.failure

    def fail(self, error: BaseException) -> None:
        """Nothing follows what was taken but this."""
        self.waiting.clear()
        self.block, self.ended, self.failure = None, True, Failure(error)

    def take(self, count: int) -> Block:
        """The next `count` rows, of those that are left."""
        block = self.block
        assert block is not None
        start, self.start = self.start, self.start + count
        self.given += count
        return block.slice(start, start + count)

    def close(self) -> None:
        """End its sources: the `finally` of a user's generator runs now."""
        self.ended = True
        blocks, self.blocks = self.blocks, iter(())
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

    def _open(self, child: Child) -> Iterator[Block]:
        """Call the user's function, and run what it returned."""
        parents, row = child.parents, child.row
        child.log = log = TaskLog(NoTally(self.scope.services.clock))
        ids = self._ids(parents.origins)
        node = self._call(parents, row, ids)
        if self.node.ignores:
            node = ignoring(node, tells=self.node.tells)
        graph = self.scope.services.optimized(numbered(node))
        if self._promised is None:
            self._promised = graph
        if _is_measured(graph):
            log.tally = Tally(self.scope.services.clock)
        return self._puller.blocks(graph, self.scope.in_child(self.node.number, int(ids[row]), log))

    def _ids(self, origins: Origins) -> UInt64s:
        """The identities of a block of elements: computed at once for all of them."""
        known = self._identified
        if known is None or known[0] is not origins:
            known = self._identified = (origins, origins.ids())
        return known[1]

    def _call(self, parents: Block, row: int, ids: UInt64s) -> Node:
        element = parents.element(row)
        splat = isinstance(parents.structure.kind, type) and parents.structure.kind is not dict
        try:
            with element_scope(self._key, lambda: ids) as current:
                current.row = row
                result = self.node.function(*element) if splat else self.node.function(element)
        except Exception as error:
            raise user_error(self.node, parents, row, error) from error
        node = self.node.node_of(result)
        if node is None:
            raise StructureError(
                "the function returned no dataset", got=f"{type(result).__name__}: {preview(result)}",
                expected="a Dataset", where=f"{self.node.label}, {parents.describe(row)}",
                remedy="return Dataset.from_tensors(value) for one element, or use map",
            )  # fmt: skip
        return node

    def pull(self, child: Child, log: TaskLog) -> Pulled:
        """The next block of `child`, its elements told apart from those of others. `log`: of the task that asks.

        Changes nothing that another thread looks at: the caller lets the child `accept` what was pulled.
        """
        now = self.scope.services.clock.now
        began, wanted = now(), self._size.rows
        if child.blocks is None:
            try:
                child.blocks = self._open(child)
            except Exception as error:  # noqa: BLE001  # told in its turn, after the elements before it
                if not self.node.ignores:
                    return Pulled(None, ended=True, failure=Failure(error))
                cause = error.__cause__ if isinstance(error.__cause__, Exception) else error
                leave_out(self.node, child.parents, child.row, cause, replace(self.scope, log=log), place=None)
                return Pulled(None, ended=True)
        try:
            block = next(child.blocks, None)
        except Exception as error:  # noqa: BLE001  # a fault of one child must reach the consumer in its turn
            block = empty_block(NOWHERE, Failure(error))
        self._tell(child, log)
        if block is None:
            return Pulled(None, ended=True)
        if len(block) >= wanted:
            self._size = self._size.after(len(block), now() - began, block.nbytes)
            if not self._size.fixed:
                self.scope.services.sizes[self.node.key] = self._size
        rows = np.full(len(block), child.row, dtype=np.int64)
        good = Block(block.structure, block.columns, ChildOrigins(child.parents.origins, rows, block.origins))
        if block.failure is None:
            return Pulled(good, ended=False)
        return Pulled(good, ended=True, failure=Failure(self._located(block.failure.error, child)))

    def checked(self, block: Block, child: Child) -> Block | None:
        """The block, if its elements are as those of the first child; else None, and the child fails."""
        if _is_like(block, self._structure, self._kinds):
            return block
        seen = Seen.of(self.node, block)
        if self._first is None:
            specs = specs_of_all(self._promised, block)
            self._first = Seen(self.node.number, self.node.label, block.structure, specs, block.describe(0))
        elif not agree(self._first, seen):
            child.fail(disagreement(self._first, seen))
            return None
        self._structure, self._kinds = block.structure, _kinds(block)
        return block

    @property
    def seen(self) -> Seen | None:
        """What elements look like, by the first child that had one."""
        return self._first

    def _located(self, error: BaseException, child: Child) -> BaseException:
        """The error with the parent's line and origin before the child's."""
        if not isinstance(error, PenstockError):
            return error
        located = error.at(f"{self.node.label}, {child.parents.describe(child.row)}")
        located.__cause__ = error.__cause__
        return located.with_traceback(error.__traceback__)

    def _tell(self, child: Child, log: TaskLog) -> None:
        """What the child's steps told becomes part of the task's; their numbers are kept apart from the parent's."""
        told = child.log
        assert told is not None
        if told.skipped:
            log.skipped.extend(replace(skipped, number=-1) for skipped in told.skipped)
            told.skipped = []
        told.seen.clear()
        if told.tally.steps:
            base = (self.node.number + 1) * _KEYS_OF_CHILDREN
            steps = {(base + number, verb): totals for (number, verb), totals in told.tally.steps.items()}
            log.tally.absorb(steps, 0.0)
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


def specs_of_all(graph: Node | None, block: Block) -> tuple[Spec, ...]:
    """What the elements of all children look like, by the first one's: batches may differ in their number of rows."""
    specs = block.specs
    if graph is None:
        return specs
    if any(isinstance(n, Nesting) or (isinstance(n, Batch) and not n.drop_remainder) for n in nodes_of(graph)):
        specs = tuple(spec.with_rows(None) if spec.shape else spec for spec in specs)
    said = graph.signature()
    if said is None or said.structure != block.structure:
        return specs
    return tuple(spec.merge(promise) for spec, promise in zip(specs, said.specs, strict=True))
