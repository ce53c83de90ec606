"""Rejection resampling: drop what comes too often."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.block.block import Block, Failure, preview
from penstock.block.columns import ArrayColumn, Indices
from penstock.block.tree import LEAF, tuple_of
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.operators.functions import MapFunction, empty_block
from penstock.engine.scope import Scope, Seen
from penstock.errors import StructureError
from penstock.graph.nodes import Map, Resample
from penstock.kernels.random import philox

_PRIOR = 10.0
"""Elements thought to have been seen before the first, spread evenly: tf.data's smoothing."""

Floats = NDArray[np.float64]


class _ClassFunction(Map):
    """The class of an element, as a map that is named after its verb."""

    verb = "rejection_resample"


class ResampleBarrier(Barrier):
    """(class, element) of those accepted: class c with probability (t_c / p_c) / max(t / p).

    t is the target, p the distribution of the input: the one given, else that of the elements up to this one, with a
    prior of ten. The draw is keyed by the element's origin. Source: the acceptance rate of rejection sampling.
    """

    node: Resample
    carries = True

    def __init__(self, node: Resample, scope: Scope) -> None:
        super().__init__(node, scope)
        self._class_of = MapFunction(
            _ClassFunction(inputs=node.inputs, location=node.location, number=node.number, function=node.function)
        )
        self._key = scope.key("resample", node.number, node.seed)
        self._target = np.array(node.target)
        self._counts: Floats = np.full(len(node.target), _PRIOR / len(node.target))

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if not len(block):
            return []
        classes, column, failure = self._classes(block, scope)
        accepted = self._accepted(block, classes)
        rows: Indices = np.flatnonzero(accepted).astype(np.int64)
        if not len(rows) or column is None:
            return [empty_block(block.origins.take(rows[:0]), failure)]
        chosen = block.take(rows)
        labelled = Block(
            tuple_of(LEAF, chosen.structure), (column.take(rows), *chosen.columns), chosen.origins, failure
        )
        scope.task_log.seen.append(Seen.of(self.node, labelled))
        return [labelled]

    def carry(self) -> list[float]:
        return list(self._counts.tolist())

    def restore(self, carry: list[float]) -> None:
        self._counts = np.array(carry)

    def _classes(self, block: Block, scope: Scope) -> tuple[Indices, Any, Failure | None]:
        """The class of each element, up to the first that has none, and the column they came in."""
        found = self._class_of(block, scope.in_task())
        count = len(self._target)
        if not len(found):
            return np.empty(0, dtype=np.int64), None, found.failure
        column = found.columns[0]
        is_number = isinstance(column, ArrayColumn) and column.values.ndim == 1 and column.values.dtype.kind in "iu"
        if len(found.columns) != 1 or not is_number or not isinstance(column, ArrayColumn):
            return np.empty(0, dtype=np.int64), None, self._no_class(block, 0, found.element(0))
        values = column.values.astype(np.int64)
        bad = np.flatnonzero((values < 0) | (values >= count))
        if len(bad):
            row = int(bad[0])
            return values[:row], column, self._no_class(block, row, values[row])
        return values, column, found.failure

    def _no_class(self, block: Block, row: int, value: object) -> Failure:
        return Failure(
            StructureError(
                "rejection_resample: class_func's result",
                got=preview(value),
                expected=f"an integer from 0 to {len(self._target) - 1}",
                where=f"{self.node.label}, {block.describe(row)}",
            )
        )

    def _accepted(self, block: Block, classes: Indices) -> NDArray[np.bool_]:
        count = len(classes)
        if not count:
            return np.zeros(0, dtype=bool)
        ids = block.origins.ids()[:count]
        words = philox(self._key, ids, 0, 2).astype(np.uint64)
        uniform = ((words[:, 0] | (words[:, 1] << np.uint64(32))) >> np.uint64(11)) * 2.0**-53
        accepted: NDArray[np.bool_] = uniform < self._rates(classes)
        return accepted

    def _rates(self, classes: Indices) -> Floats:
        """How likely each element is kept, by its class and what was seen up to it."""
        rows = np.arange(len(classes))
        if self.node.initial is not None:
            ratios = _ratios(self._target, np.array(self.node.initial))
            rates: Floats = (ratios / ratios.max())[classes]
            return rates
        seen = np.zeros((len(classes), len(self._target)))
        seen[rows, classes] = 1.0
        seen = np.cumsum(seen, axis=0) + self._counts
        self._counts = seen[-1].copy()
        each = _ratios(self._target, seen / seen.sum(axis=1, keepdims=True))
        running: Floats = (each / each.max(axis=1, keepdims=True))[rows, classes]
        return running


def _ratios(target: Floats, initial: Floats) -> Floats:
    """Target / initial, 0 where nothing is wanted: what never comes and is not wanted has no say."""
    return np.divide(target, initial, out=np.zeros(np.broadcast_shapes(target.shape, initial.shape)), where=initial > 0)
