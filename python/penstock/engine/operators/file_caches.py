"""Elements that are kept in a directory: gathered from the map, and kept there as they are computed."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from penstock.block.block import Block
from penstock.block.columns import ArrayColumn, BytesColumn, Column, Indices, RowsColumn
from penstock.block.origin import BatchOrigins, Origins
from penstock.engine.file_cache import FileRows, FileStore, Filling, origins_of
from penstock.engine.operators.cached import CacheOperator
from penstock.engine.operators.functions import empty_block
from penstock.engine.operators.positions import SourceOperator, is_consecutive
from penstock.engine.scope import Scope
from penstock.formats.stored.data import StoredData
from penstock.formats.stored.leaves import FixedLeaf, TextLeaf
from penstock.graph.nodes import FileCache, Loaded
from penstock.kernels.gather import gather_rows


class LoadedOperator(SourceOperator):
    """Rows of mapped files: views where positions are consecutive, gathered where not."""

    node: Loaded

    def origins(self, positions: Indices, scope: Scope) -> Origins:
        return origins_of(self.node.data, self.node.number, self.node.label, positions)

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        return stored_rows(self.node.data, positions, self.origins(positions, scope), scope)

    def batches(self, positions: Indices, counts: Indices, scope: Scope) -> Block | None:
        data = self.node.data
        if not has_short_way(data):
            return None
        tally = scope.task_log.tally
        origins = self.origins(positions, scope)
        return tally.measure(
            self.node.key, self.node.label, lambda: stored_batches(data, positions, counts, origins, scope)
        )


class FileCacheOperator(CacheOperator):
    """As a cache in memory, but that what was computed is written; complete, it is read from there."""

    node: FileCache

    def batches(self, positions: Indices, counts: Indices, scope: Scope) -> Block | None:
        data = self._filling().data
        if data is None or not has_short_way(data):
            return None
        tally = scope.task_log.tally
        origins = self.origins(positions, scope)
        return tally.measure(
            self.node.key, self.node.label, lambda: stored_batches(data, positions, counts, origins, scope)
        )

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        filling = self._filling()
        if filling.data is not None:
            return stored_rows(filling.data, positions, self.origins(positions, scope), scope)
        with filling.lock:
            if filling.rows is None:
                filling.rows = FileRows(filling, self.length, scope.services.warn)
        return self.through(filling.rows, positions, scope)

    def _filling(self) -> Filling:
        store = self.node.store
        if isinstance(store, FileStore):
            _ = store.stream  # raises
        assert isinstance(store, Filling)
        return store


def stored_rows(data: StoredData, positions: Indices, origins: Origins, scope: Scope) -> Block:
    """The elements at `positions`."""
    if not len(positions):
        return empty_block(origins)
    if is_consecutive(positions):
        start = int(positions[0])
        return Block(data.structure, data.slices(start, start + len(positions)), origins)
    if not all(isinstance(leaf, FixedLeaf) for leaf in data.leaves):
        return Block(data.structure, data.columns(positions), origins)
    columns: list[Column] = []
    for leaf in data.leaves:
        assert isinstance(leaf, FixedLeaf)
        out = scope.services.pool.array((len(positions), *leaf.values.shape[1:]), leaf.values.dtype)
        gather_rows(leaf.values, positions, [out])
        columns.append(ArrayColumn(out))
    return Block(data.structure, tuple(columns), origins)


def has_short_way(data: StoredData) -> bool:
    """Whether rows go from the map straight into batches: arrays of one shape, and single texts."""
    return bool(data.leaves) and all(
        isinstance(leaf, FixedLeaf) or (isinstance(leaf, TextLeaf) and leaf.lengths is None) for leaf in data.leaves
    )


def stored_batches(data: StoredData, positions: Indices, counts: Indices, origins: Origins, scope: Scope) -> Block:
    """The elements at `positions` as batches of `counts` rows: one copy of each byte."""
    sizes: Sequence[int] = counts.tolist()
    starts = np.cumsum(counts) - counts
    columns: list[Column] = []
    for leaf in data.leaves:
        if isinstance(leaf, FixedLeaf):
            shape, dtype = leaf.values.shape[1:], leaf.values.dtype
            batches = scope.services.pool.arrays(tuple((n, *shape) for n in sizes), dtype)
            gather_rows(leaf.values, positions, batches)
            columns.append(RowsColumn(batches, dtype))
            continue
        texts = leaf.take(positions)
        assert isinstance(texts, BytesColumn)
        of_each = [texts.values[start : start + n].copy() for start, n in zip(starts.tolist(), sizes, strict=True)]
        columns.append(RowsColumn(of_each, texts.dtype))
    return Block(data.structure, tuple(columns), BatchOrigins(origins, starts, counts))
