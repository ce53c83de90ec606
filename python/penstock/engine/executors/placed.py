"""A function on blocks, wherever it was placed: in this thread, or in a worker process while this thread waits.

Law: where a block runs changes nothing but time. So a function that is known to be pure need not wait for workers: its
first blocks run here, short work starts none, and until one is ready the rest runs here too. The first batch comes as
soon as from threads; interpreters that start beside it would make it come three times as late.
"""

from __future__ import annotations

import threading
from typing import TYPE_CHECKING

from penstock.block.block import Block, holds_datasets
from penstock.engine.executors.evidence import Finding
from penstock.engine.executors.measured import MeasuredFunction, file_finding
from penstock.engine.operators.segments import BlockFunction, block_function
from penstock.engine.scope import Scope, Services
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
        self._chosen: BlockFunction | None = None

    @property
    def is_handed_over(self) -> bool:
        """Whether a worker process has run a block of it, and may run the next."""
        remote = self._remote
        return remote is not None and remote.is_handed_over

    @property
    def lays_out_rows(self) -> bool:
        """Whether its blocks come as one array a leaf, of rows worth not copying again."""
        remote = self._remote
        return remote is not None and remote.lays_out_rows

    @property
    def _remote(self) -> RemoteFunction | None:
        if self._chosen is None or self._chosen is self._here:
            return None
        return self._chosen.remote if isinstance(self._chosen, MeasuredFunction) else self._chosen  # type: ignore[return-value]  # all there is else

    def __call__(self, block: Block, scope: Scope) -> Block:
        if not len(block) or holds_datasets(block):
            return self._here(block, scope)
        chosen = self._chosen
        return (self._choose(scope.services) if chosen is None else chosen)(block, scope)

    def _choose(self, services: Services) -> BlockFunction:
        with self._lock:
            if self._chosen is None:
                self._chosen = self._placed(services)
            return self._chosen

    def _placed(self, services: Services) -> BlockFunction:
        place = executor_of(self._node, services.executor) if services.process_workers else "threads"
        if place == "measured" and services.process_workers > 1:
            return MeasuredFunction(self._node, self._here, services)
        if place == "processes":
            from penstock.engine.executors.remote import RemoteFunction  # pickling and processes: 30 ms to import

            file_finding(services, self._node, Finding("processes", "asked for"))
            return RemoteFunction(self._node, self._here, is_pure(self._node))
        return self._here
