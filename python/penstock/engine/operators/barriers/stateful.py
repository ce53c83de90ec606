"""Barriers that keep in mind what they have seen."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.block.block import Block, Failure, preview
from penstock.block.collate import detached
from penstock.block.columns import ArrayColumn, BytesColumn, Column, Indices
from penstock.block.state import CarriedState
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.operators.functions import FilterFunction, collate, empty_block, leave_out, user_error
from penstock.engine.scope import Scope
from penstock.errors import PenstockError, StructureError
from penstock.graph.nodes import Scan, TakeWhile, Unique
from penstock.rng import element_scope


class ScanBarrier(Barrier):
    """What the function makes of the state and each element, one call an element."""

    node: Scan
    carries = True

    def __init__(self, node: Scan, scope: Scope) -> None:
        super().__init__(node, scope)
        self._carried = CarriedState(node.initial_state)
        self._state = self._carried.first()

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if not len(block):
            return []
        outputs, rows, failure = self._outputs(block, scope)
        origins = block.origins
        if len(rows) < len(block):
            origins = origins.take(np.array(rows, dtype=np.int64))
        if not outputs:
            return [empty_block(origins, failure)]
        return [collate(self.node, outputs, origins, failure, scope=scope, declared=None)]

    def _outputs(self, block: Block, scope: Scope) -> tuple[list[Any], list[int], Failure | None]:
        """The outputs, the rows they belong to, and what stopped them early."""
        outputs: list[Any] = []
        rows: list[int] = []
        function, following = self.node.function, self._carried.next
        key = self.scope.key("map", self.node.number, None)
        with element_scope(key, block.origins.ids) as current:
            for row, element in enumerate(block.elements()):
                current.row, current.op = row, 0
                try:
                    returned = function(self._state, element)
                except Exception as error:  # noqa: BLE001  # whatever a user's function raises is told with its place
                    if not self.node.leaves_out(error):
                        return outputs, rows, Failure(user_error(self.node, block, row, error))
                    leave_out(self.node, block, row, error, scope, place=len(outputs))
                    continue
                try:
                    state, output = _pair(returned)
                    self._state = following(state)
                except PenstockError as error:
                    return outputs, rows, Failure(error.at(f"{self.node.label}, {block.describe(row)}"))
                outputs.append(detached(output))
                rows.append(row)
        return outputs, rows, None

    def carry(self) -> Any:
        return self._carried.to_json(self._state)

    def restore(self, carry: Any) -> None:
        self._state = self._carried.from_json(carry)


def _pair(returned: Any) -> tuple[Any, Any]:
    if not isinstance(returned, tuple) or len(returned) != 2:
        raise StructureError("scan_func's result", got=preview(returned), expected="a pair: (new state, output)")
    return returned


class TakeWhileBarrier(Barrier):
    """What comes before the first element for which the predicate is false; then its input is closed."""

    node: TakeWhile
    carries = True

    def __init__(self, node: TakeWhile, scope: Scope) -> None:
        super().__init__(node, scope)
        self._before = FilterFunction(node)

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        taken = self._before(block, scope)
        if len(taken) < len(block):
            self.wants = None
        return [taken]

    def carry(self) -> list[int]:
        return []


class UniqueBarrier(Barrier):
    """Each element the first time it comes. Holds a key of every distinct one. Cost: 0.6 us a number, of a million."""

    node: Unique

    def __init__(self, node: Unique, scope: Scope) -> None:
        super().__init__(node, scope)
        self._first_at: dict[Any, int] = {}  # a key of each distinct element -> the place at which it came first
        self._seen = 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        count = len(block)
        if not count:
            return []
        places = range(self._seen, self._seen + count)
        self._seen += count
        first = np.fromiter(map(self._first_at.setdefault, _keys(block), places), dtype=np.int64, count=count)
        rows: Indices = np.flatnonzero(first == np.arange(places.start, places.stop))
        return [block if len(rows) == count else block.take(rows)] if len(rows) else []


def _keys(block: Block) -> Any:
    """A hashable key for each element of a block: equal for equal elements, in any block."""
    leaves = [_column_keys(column) for column in block.columns]
    return leaves[0] if len(leaves) == 1 else zip(*leaves, strict=True)


def _column_keys(column: Column) -> list[Any]:
    if isinstance(column, ArrayColumn) and column.values.ndim == 1:
        return list(_same_bits(column.values).tolist())
    if isinstance(column, BytesColumn) and column.values.ndim == 1:
        return list(column.values.tolist())
    return [(row.shape, _row_key(row)) for row in column.rows()]


def _row_key(row: NDArray[Any]) -> Any:
    return tuple(row.ravel().tolist()) if row.dtype.hasobject else _same_bits(row).tobytes()


def _same_bits(values: NDArray[Any]) -> NDArray[Any]:
    """Floats with one 0 and one NaN, so that equal numbers have equal bits; other values as they are."""
    if values.dtype.kind == "f":
        plain = np.where(np.isnan(values), np.array(np.nan, values.dtype), values + np.array(0, values.dtype))
        return plain.view(f"u{values.dtype.itemsize}") if values.dtype.itemsize in (2, 4, 8) else plain
    return values
