"""A stream that is kept as it passes."""

from __future__ import annotations

import numpy as np

from penstock.block.block import Block
from penstock.engine.cache import CacheStore, read_only
from penstock.engine.file_cache import Filling
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.scope import Scope
from penstock.formats.stored.data import StoredWriter
from penstock.graph.nodes import Cache, FileCache
from penstock.units import format_bytes


class StreamCacheBarrier(Barrier):
    """Passes elements on and keeps them; a complete pass is then given to the node's store."""

    node: Cache

    def __init__(self, node: Cache, scope: Scope) -> None:
        super().__init__(node, scope)
        self._kept: list[Block] | None = None if node.store.full else []
        self._bytes = 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if self._kept is not None and len(block):
            self._bytes += block.nbytes
            if self._bytes > scope.services.cache_budget_bytes:
                self._kept = None
                store: CacheStore = self.node.store
                store.full = True
                scope.services.warn(
                    f"{self.node.label}: the elements of this stream take more than the cache budget of "
                    f"{format_bytes(scope.services.cache_budget_bytes)}; a stream cannot be kept in part, so nothing "
                    f"is. Options(cache_budget=...) raises the limit; an index-driven input keeps what fits."
                )
            else:
                self._kept.append(read_only(block))
        return [block]

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        store: CacheStore = self.node.store
        with store.lock:
            if store.stream is None and self._kept is not None:
                store.stream = self._kept
        return []


class FileCacheBarrier(Barrier):
    """Passes elements on and writes them; a complete pass is then what is kept. Broken off, it leaves nothing."""

    node: FileCache

    def __init__(self, node: FileCache, scope: Scope) -> None:
        super().__init__(node, scope)
        assert isinstance(node.store, Filling)
        self._filling: Filling = node.store
        self._writer: StoredWriter | None = None
        self._count = 0

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if len(block) and self._filling.data is None:
            if self._writer is None and not self._count:
                self._writer = self._filling.begin()
            if self._writer is not None:
                self._writer.write(np.arange(self._count, self._count + len(block), dtype=np.int64), block)
        self._count += len(block)
        return [block]

    def finish(self, source: int, scope: Scope) -> list[Block]:
        self.wants = None
        with self._filling.lock:
            if self._filling.data is None and (self._writer is not None or not self._count):
                writer = self._filling.begin() if self._writer is None else self._writer
                self._filling.commit(writer, self._count, scope.services.warn)
        return []

    def close(self) -> None:
        if self._writer is not None:
            self._writer.discard()
        self._writer = None
