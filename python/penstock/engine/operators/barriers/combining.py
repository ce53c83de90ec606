"""Barriers over several inputs."""

from __future__ import annotations

from collections import deque

from penstock.block.block import Block, Failure
from penstock.block.origin import NOWHERE
from penstock.engine.operators.barriers.base import Barrier
from penstock.engine.operators.functions import empty_block
from penstock.engine.operators.indexed import zip_blocks
from penstock.engine.scope import Scope
from penstock.graph.nodes import Zip


class ZipBarrier(Barrier):
    """One element of each input. An input that runs ahead waits; the first to end ends all."""

    node: Zip
    carries = True

    def __init__(self, node: Zip, scope: Scope) -> None:
        super().__init__(node, scope)
        self._waiting: list[deque[Block]] = [deque() for _ in node.inputs]
        self._failed: dict[int, Failure] = {}

    def fail(self, source: int, failure: Failure) -> Failure | None:
        self._failed[source] = failure
        return None if self.wants is None else self._failed.get(self.wants)

    def push(self, source: int, block: Block, scope: Scope) -> list[Block]:
        if len(block):
            self._waiting[source].append(block)
        joined: list[Block] = []
        while all(self._waiting):
            count = min(len(queue[0]) for queue in self._waiting)
            parts = []
            for queue in self._waiting:
                head = queue.popleft()
                parts.append(head.slice(0, count))
                if count < len(head):
                    queue.appendleft(head.slice(count, len(head)))
            joined.append(zip_blocks(self.node, parts))
        self.wants = next((number for number, queue in enumerate(self._waiting) if not queue), 0)
        if self.wants in self._failed:
            joined.append(empty_block(NOWHERE, self._failed[self.wants]))
        return joined

    def carry(self) -> list[int]:
        return []

    def held(self) -> tuple[int, ...]:
        return tuple(sum(map(len, queue)) for queue in self._waiting)
