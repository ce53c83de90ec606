"""Elements gathered by key until there are enough of them for a dataset."""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.block.block import Block, Failure, concat_blocks, preview
from penstock.block.columns import ArrayColumn, DatasetsColumn, Indices
from penstock.block.origin import WindowOrigins, concat_origins
from penstock.block.spec import DatasetSpec
from penstock.block.tree import LEAF, tuple_of
from penstock.engine.cache import read_only
from penstock.engine.nested.inline import BarrierOf
from penstock.engine.operators.barriers.nested import NestedBarrier
from penstock.engine.operators.segments import block_function
from penstock.engine.scope import Scope
from penstock.errors import StructureError, UserFunctionError
from penstock.graph.nodes import GroupByWindow, Map, Slices

_ROWS_AT_ONCE = 1024
_PAIR = tuple_of(LEAF, LEAF)


@dataclass(slots=True)
class _Group:
    """The rows of one key that no dataset has yet, and how many make one."""

    size: int
    rows: list[Block] = field(default_factory=list)
    count: int = 0


class GroupByWindowBarrier(NestedBarrier):
    """A flat map over (key, dataset of the rows gathered), in the order in which they fill up."""

    node: GroupByWindow
    carries = carries_past_end = False  # which rows wait for their group to fill would be a long list

    def __init__(self, node: GroupByWindow, scope: Scope, barrier_of: BarrierOf) -> None:
        super().__init__(node, scope, barrier_of)
        keys = Map(location=node.location, number=node.number, function=node.key_function)
        keys.__dict__["label"] = node.label  # an error of the function is one of this verb
        self._key_of = block_function(keys)
        self._groups: dict[int, _Group] = {}
        self._waiting: deque[Block] = deque()
        self._input_ended = False

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        for start in range(0, len(block), _ROWS_AT_ONCE):
            self._waiting.append(block.slice(start, start + _ROWS_AT_ONCE))
        return self.more(scope)

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self._input_ended = True
        return self.more(scope)

    def feed(self, scope: Scope) -> bool:
        if self._failure is not None and not self._waiting:
            return False
        if self._waiting:
            self._gather(self._waiting.popleft(), scope)
            return True
        if not self._input_ended or self._cycle.input_ended:
            return False
        left = [(key, group) for key, group in sorted(self._groups.items()) if group.count]
        self._hand_over([(key, group.rows) for key, group in left])
        self._cycle.input_ended = True
        return True

    def _gather(self, block: Block, scope: Scope) -> None:
        keys = self._keys(block, scope)
        full: list[tuple[int, int, list[Block]]] = []  # row that filled it, key, rows
        for key in np.unique(keys).tolist():
            places: Indices = np.flatnonzero(keys == key)
            group = self._groups.get(key)
            if group is None:
                size = self._size_for(key, block, int(places[0]))
                if size is None:
                    full = [entry for entry in full if entry[0] < places[0]]
                    break
                group = self._groups[key] = _Group(size)
            start = 0
            while start < len(places):
                part = places[start : start + group.size - group.count]
                start += len(part)
                group.rows.append(block.take(part))
                group.count += len(part)
                if group.count == group.size:
                    full.append((int(part[-1]), key, group.rows))
                    group.rows, group.count = [], 0
        self._hand_over([(key, rows) for _, key, rows in sorted(full, key=lambda entry: entry[0])])

    def _keys(self, block: Block, scope: Scope) -> Indices:
        """The keys of the first rows: all, unless the function fails at one."""
        told = scope.in_task()
        result = self._key_of(block, told)
        scope.task_log.tally.absorb(told.task_log.tally.steps, 0.0)
        if result.failure is not None:
            self._stop(result.failure)
        if not len(result):
            return np.empty(0, dtype=np.int64)
        column = result.columns[0]
        is_key = isinstance(column, ArrayColumn) and column.values.ndim == 1 and column.values.dtype.kind in "iu"
        if len(result.columns) != 1 or not isinstance(column, ArrayColumn) or not is_key:
            where = f"{self.node.label}, {block.describe(0)}"
            got = preview(result.element(0))
            self._stop(Failure(StructureError("a key", got=got, expected="one integer", where=where)))
            return np.empty(0, dtype=np.int64)
        return column.values.astype(np.int64)

    def _size_for(self, key: int, block: Block, row: int) -> int | None:
        """How many rows of `key` make a dataset; None where the user's function fails to say."""
        said: Any = self.node.window_size
        where = f"{self.node.label}, key {key} of {block.describe(row)}"
        if not isinstance(said, int):
            try:
                said = self.node.window_size(np.int64(key))  # type: ignore[operator]  # no int, so a function
            except Exception as error:  # noqa: BLE001  # whatever it raises is told with its place
                wrapped = UserFunctionError(f"window_size_func raised {type(error).__name__}: {error}", where=where)
                wrapped.__cause__ = error
                self._stop(Failure(wrapped))
                return None
        if not hasattr(said, "__index__") or int(said) < 1:
            expected = "an integer above 0"
            self._stop(Failure(StructureError("a window size", got=preview(said), expected=expected, where=where)))
            return None
        return int(said)

    def _stop(self, failure: Failure) -> None:
        """Nothing more of the input is taken: the failure follows what was handed over."""
        self._failure = failure
        self._waiting.clear()

    def _hand_over(self, windows: list[tuple[int, list[Block]]]) -> None:
        if not windows:
            return
        blocks = [read_only(concat_blocks(rows)) for _, rows in windows]
        counts = np.array([len(block) for block in blocks], dtype=np.int64)
        datasets = [self._dataset(block) for block in blocks]
        held = sum(block.nbytes for block in blocks)
        keys = np.array([key for key, _ in windows], dtype=np.int64)
        columns = (ArrayColumn(keys), DatasetsColumn(datasets, DatasetSpec(blocks[0].spec_tree()), held))
        origins = WindowOrigins(concat_origins([block.origins for block in blocks]), np.cumsum(counts) - counts, counts)
        self._cycle.push(Block(_PAIR, columns, origins))

    def _dataset(self, rows: Block) -> Any:
        source = Slices(location=self.node.location, structure=rows.structure, columns=rows.columns, name="window")
        return self.node.make_dataset(source)
