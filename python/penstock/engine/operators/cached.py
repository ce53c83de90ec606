"""Caches over index-driven inputs: rows by position, computed once."""

from __future__ import annotations

import numpy as np

from penstock.block.block import Block
from penstock.block.columns import Indices
from penstock.block.origin import Origins, SourceOrigins
from penstock.engine.cache import RowCache
from penstock.engine.file_cache import FileRows
from penstock.engine.operators.interleaving import interleave_blocks
from penstock.engine.operators.positions import IndexedOperator
from penstock.engine.scope import Scope
from penstock.graph.nodes import Cache


class CacheOperator(IndexedOperator):
    """Rows by position from the node's store; what is missing is computed as in the first pass of the first epoch."""

    node: Cache

    def origins(self, positions: Indices, scope: Scope) -> Origins:
        return self.inputs[0].origins(positions, scope.frozen())

    def _rows(self, positions: Indices, scope: Scope) -> Block:
        store = self.node.store
        with store.lock:
            if store.rows is None:
                budget, warn = scope.services.cache_budget_bytes, scope.services.warn
                store.rows = RowCache(self.length, budget, warn, self.node.label)
        return self.through(store.rows, positions, scope)

    def through(self, rows: RowCache | FileRows, positions: Indices, scope: Scope) -> Block:
        """The elements at `positions`: those kept from `rows`, the others computed, and kept there."""
        if len(positions) and rows.has_all(positions):
            return rows.rows(positions, self.origins(positions, scope))
        missing = rows.missing(positions)  # as asked for, so that what fails first there fails first here
        computed = self.inputs[0].rows(missing, scope.frozen())
        rows.keep(missing[: len(computed)], computed)
        return self._joined(rows, positions, missing, computed, scope)

    def _joined(
        self, rows: RowCache | FileRows, positions: Indices, missing: Indices, computed: Block, scope: Scope
    ) -> Block:
        stop = len(positions)
        if computed.failure is not None and len(computed) < len(missing):
            failed = np.isin(positions, missing[len(computed) :])
            stop = int(np.argmax(failed)) if failed.any() else stop
        wanted = positions[:stop]
        fresh = np.isin(wanted, missing)
        parts = []
        if fresh.any():
            places = np.flatnonzero(fresh)
            sorter = np.argsort(missing)
            found = sorter[np.searchsorted(missing, wanted[places], sorter=sorter)]
            parts.append((places, computed.take(found)))
        if not fresh.all():
            places = np.flatnonzero(~fresh)
            parts.append((places, rows.rows(wanted[places], SourceOrigins(0, "", places))))
        failure = computed.failure if stop < len(positions) else None
        block = interleave_blocks(parts, wanted)
        return Block(block.structure, block.columns, self.origins(wanted, scope), failure)
