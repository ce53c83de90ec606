"""A function on blocks, wherever it was placed: in this thread, or in a worker process while this thread waits.

Law: where a block runs changes nothing but time. So a function that is known to be pure need not wait for workers: its
first blocks run here, short work starts none, and until one is ready the rest runs here too. The first batch comes as
soon as from threads; interpreters that start beside it would make it come three times as late.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING, Literal

from penstock.block.block import Block, holds_datasets
from penstock.engine.operators.functions import block_function
from penstock.engine.scope import Scope
from penstock.graph.node import Node
from penstock.plan.place import executor_of, is_pure

if TYPE_CHECKING:
    from penstock.engine.executors.remote import RemoteFunction


class PlacedFunction:
    """Runs blocks in worker processes if that is the placement and the run has any, else here."""

    def __init__(self, node: Node) -> None:
        self._node = node
        self._here = block_function(node)
        self._lock = threading.Lock()
        self._executor: Literal["threads", "processes"] | None = None
        self._remote: RemoteFunction | None = None

    @property
    def is_handed_over(self) -> bool:
        """Whether a worker process has run a block of it."""
        return self._remote is not None and self._remote.is_handed_over

    @property
    def lays_out_rows(self) -> bool:
        """Whether its blocks come as one array a leaf, of rows worth not copying again."""
        return self._remote is not None and self._remote.lays_out_rows

    def __call__(self, block: Block, scope: Scope) -> Block:
        services = scope.services
        if not services.process_workers or not len(block) or holds_datasets(block):
            return self._here(block, scope)
        if self._executor is None:
            self._executor = executor_of(self._node, services.executor)
        if self._executor == "threads":
            return self._here(block, scope)
        return self._there()(block, scope)

    def _there(self) -> RemoteFunction:
        with self._lock:
            if self._remote is None:
                from penstock.engine.executors.remote import RemoteFunction  # pickling and processes: 30 ms to import

                self._remote = RemoteFunction(self._node, self._here, is_pure(self._node))
            return self._remote
