"""Barriers that take from their inputs by turns."""

from __future__ import annotations

from collections import deque

import numpy as np
from numpy.typing import NDArray

from penstock.block.block import Block, Failure, concat_blocks, preview
from penstock.block.columns import ArrayColumn, Indices
from penstock.block.origin import NOWHERE
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.operators.functions import empty_block
from penstock.engine.operators.interleaving import interleave_blocks
from penstock.engine.scope import Scope, Seen, agree, disagreement
from penstock.errors import PenstockError, StructureError
from penstock.graph.nodes import Choose, Mix, Sample
from penstock.graph.nodes.mixing import Directed
from penstock.graph.proportions import mixed
from penstock.kernels.random import philox

_CHOICES = 4096
_NONE: Indices = np.empty(0, dtype=np.int64)
_Failed = tuple[int, PenstockError]
"""A row of a block, and what is wrong with it."""


class DirectedBarrier(Barrier):
    """The next element comes from the input that the next choice names.

    An input is known to have ended when a choice of it finds nothing: then all ends, or the choice is passed over.
    Inputs that run ahead wait.
    """

    carries = True

    def __init__(self, node: Directed | Mix, scope: Scope) -> None:
        super().__init__(node, scope)
        is_directed = isinstance(node, Directed) and node.directed
        data = len(node.inputs) - is_directed
        self._director = data if is_directed else None  # the input that gives the choices
        self._stops = not isinstance(node, Directed) or node.stops
        self._waiting: list[deque[Block]] = [deque() for _ in range(data)]
        self._rows = [0] * data  # that wait
        self._live = [True] * data
        self._failed: dict[int, Failure] = {}
        self._first: Seen | None = None
        self._choices: Indices = _NONE  # made, and not followed yet

    # -- what the kinds differ in ---------------------------------------------------------------------------------

    def _choose(self) -> Indices:
        """Choices that follow those made, for a barrier without a director; none: there are no more."""
        raise NotImplementedError

    def _read(self, block: Block) -> tuple[Indices, _Failed | None]:
        """The choices in a block of the director, up to the first that is none."""
        raise NotImplementedError

    def _forget(self, number: int) -> None:
        """Input `number` has ended; choices already made may name it."""
        self._choices = self._choices[self._choices != number]

    def _followed(self, count: int) -> None:
        """So many choices have been followed."""

    def carry(self) -> int:
        """How many choices have been followed, where that says which come next."""
        return 0

    # -- what they share ------------------------------------------------------------------------------------------

    def _next_wanted(self) -> int | None:
        if not len(self._choices) and self._director is None:
            self._choices = self._choose()
        return int(self._choices[0]) if len(self._choices) else self._director

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if len(block):
            (self._direct if source == self._director else self._keep)(source, block)
        return self._advance()

    def _direct(self, source: int, block: Block) -> None:
        choices, failed = self._read(block)
        self._choices = np.concatenate([self._choices, choices[np.array(self._live)[choices]]])
        if failed is not None:
            row, error = failed
            self._failed[source] = Failure(error.at(f"{self.node.label}, {block.describe(row)}"))

    def _keep(self, source: int, block: Block) -> None:
        seen = Seen.of(self.node, block)
        self._first = self._first or seen
        if agree(self._first, seen):
            self._waiting[source].append(block)
            self._rows[source] += len(block)
        else:
            self._failed[source] = Failure(disagreement(self._first, seen))

    def held(self) -> tuple[int, ...]:
        return tuple(self._rows) if self._director is None else (*self._rows, len(self._choices))

    def refill(self, source: int, block: Block, scope: Scope) -> None:
        (self._direct if source == self._director else self._keep)(source, block)
        self.wants = self._next_wanted()

    def fail(self, source: int, failure: Failure) -> Failure | None:
        failure = self._failed.setdefault(source, failure)
        return failure if self.wants == source else None

    def finish(self, source: int, scope: Scope) -> list[Block]:
        if source == self._director or self._stops:
            self.wants = None
            return []
        self._live[source] = False
        if not any(self._live):
            self.wants = None
            return []
        self._forget(source)
        return self._advance()

    def _advance(self) -> list[Block]:
        """All that can be given now; then `wants` is what the next choice lacks."""
        given: list[Block] = []
        while True:
            self.wants = wanted = self._next_wanted()
            if wanted is not None and wanted != self._director and self._rows[wanted]:
                given.append(self._follow())
                continue
            if wanted in self._failed:
                self.wants = None
                given.append(empty_block(NOWHERE, self._failed[wanted]))
            return given

    def _follow(self) -> Block:
        """The elements of as many choices as there are elements for."""
        choices = self._choices
        of_input = [np.flatnonzero(choices == number) for number in range(len(self._rows))]
        lacking = [int(places[rows]) for places, rows in zip(of_input, self._rows, strict=True) if len(places) > rows]
        stop = min(lacking, default=len(choices))
        parts = []
        for number, places in enumerate(of_input):
            taken = places[places < stop]
            if len(taken):
                parts.append((taken, self._take(number, len(taken))))
        self._choices = choices[stop:]
        self._followed(stop)
        return interleave_blocks(parts, choices[:stop])

    def _take(self, number: int, count: int) -> Block:
        """The next `count` elements of an input, of those that wait."""
        queue, parts = self._waiting[number], []
        self._rows[number] -= count
        while count:
            head = queue.popleft()
            if len(head) > count:
                queue.appendleft(head.slice(count, len(head)))
                head = head.slice(0, count)
            parts.append(head)
            count -= len(head)
        return concat_blocks(parts)


class SampleBarrier(DirectedBarrier):
    """Inputs drawn by weight; draw number n is Philox's, so the order depends on the seed alone."""

    node: Sample

    def __init__(self, node: Sample, scope: Scope) -> None:
        super().__init__(node, scope)
        self._key = scope.key("sample", node.number, node.seed, per_iteration=node.rerandomizes)
        self._drawn = 0
        if node.weights is not None:
            self._weights = np.array(node.weights)
            self._live = [weight > 0 for weight in node.weights]
        self.wants = self._next_wanted()

    def _choose(self) -> Indices:
        return self._pick(np.cumsum(self._weights), _CHOICES)

    def _followed(self, count: int) -> None:
        if self._director is None:
            self._drawn += count

    def _forget(self, number: int) -> None:
        if self._director is not None:
            super()._forget(number)
            return
        self._weights[number] = 0.0  # the others have its share from the next draw on
        self._choices = _NONE

    def _read(self, block: Block) -> tuple[Indices, _Failed | None]:
        rows, failed = _given_weights(block, len(self._rows))
        choices = self._pick(np.cumsum(rows, axis=1), len(rows))
        self._drawn += len(rows)
        return choices, failed

    def carry(self) -> int:
        return self._drawn - (len(self._choices) if self._director is not None else 0)

    def restore(self, carry: int) -> None:
        self._drawn, self._choices = carry, _NONE
        self.wants = self._next_wanted()

    def _pick(self, bounds: NDArray[np.float64], count: int) -> Indices:
        """One input a draw, by cumulated weights [data] or [count, data]."""
        ids = np.arange(self._drawn, self._drawn + count, dtype=np.uint64)
        words = philox(self._key, ids, 0, 2).astype(np.uint64)
        uniform = ((words[:, 0] | (words[:, 1] << np.uint64(32))) >> np.uint64(11)) * 2.0**-53
        chosen: Indices = (bounds <= (uniform * bounds[..., -1])[:, None]).sum(axis=1).astype(np.int64)
        return chosen


def _given_weights(block: Block, count: int) -> tuple[NDArray[np.float64], _Failed | None]:
    """The weights in a block, [rows, count], up to the first row that is none."""
    rows = np.empty((len(block), count))
    for number, element in enumerate(block.elements()):
        value = np.asarray(element)
        row = value.reshape(-1) if value.dtype.kind in "iuf" else np.empty(0)
        if len(row) != count or not np.isfinite(row).all() or (row < 0).any() or not row.any():
            expected = f"{count} numbers, none negative, not all 0"
            return rows[:number], (number, StructureError("weights", got=_numbers(value), expected=expected))
        rows[number] = row
    return rows, None


def _numbers(value: NDArray[np.generic]) -> str:
    return str(value.tolist()) if value.size < 20 else preview(value)


class ChooseBarrier(DirectedBarrier):
    """Inputs by the numbers that the last one gives."""

    node: Choose

    def __init__(self, node: Choose, scope: Scope) -> None:
        super().__init__(node, scope)
        self.wants = self._next_wanted()

    def _read(self, block: Block) -> tuple[Indices, _Failed | None]:
        column, count = block.columns[0], len(self._rows)
        if len(block.columns) > 1 or not isinstance(column, ArrayColumn) or column.values.ndim != 1:
            return _NONE, (0, _no_choice(block.element(0), count))
        if column.values.dtype.kind not in "iu":
            return _NONE, (0, _no_choice(block.element(0), count))
        bad = np.flatnonzero((column.values < 0) | (column.values >= count))
        if len(bad):
            row = int(bad[0])
            return column.values[:row].astype(np.int64), (row, _no_choice(column.values[row], count))
        return column.values.astype(np.int64), None


def _no_choice(value: object, count: int) -> PenstockError:
    return StructureError("a choice", got=preview(value), expected=f"an integer from 0 to {count - 1}: one dataset")


class MixBarrier(DirectedBarrier):
    """Inputs in fixed proportions: what an indexed mixture gives, where its inputs only stream."""

    node: Mix

    def __init__(self, node: Mix, scope: Scope) -> None:
        super().__init__(node, scope)
        self._given = 0
        self.wants = self._next_wanted()

    def _choose(self) -> Indices:
        places = np.arange(self._given, self._given + _CHOICES, dtype=np.int64)
        return mixed(places, self.node.proportions)[0]

    def _followed(self, count: int) -> None:
        self._given += count

    def carry(self) -> int:
        return self._given

    def restore(self, carry: int) -> None:
        self._given, self._choices = carry, _NONE
        self.wants = self._next_wanted()
