"""Sources that only yield: a generator, and a stream that was kept."""

from __future__ import annotations

import threading
from collections.abc import Iterable, Iterator
from typing import Any, Protocol

import numpy as np

from penstock.block.block import Block, Failure
from penstock.block.collate import detached
from penstock.block.origin import SourceOrigins
from penstock.engine.operators.functions import collate, empty_block
from penstock.engine.scope import Scope
from penstock.errors import NotResumableError, SourceError
from penstock.graph.node import Node
from penstock.graph.nodes import Generator

_BLOCK_ELEMENTS = 1024
_BLOCK_BYTES = 4 * 2**20
_BLOCK_SECONDS = 0.002
_END = object()


class StreamSource(Protocol):
    """What yields blocks in order."""

    def skip(self, elements: int) -> None:
        """Start after so many; called before all else."""

    def produce(self, scope: Scope) -> Block | None:
        """The next block, None at the end."""

    def close(self) -> None:
        """Let go of what is open."""


class GeneratorSource:
    """Blocks of a fresh generator.

    A block ends when it is large enough or took long enough: an element that was slow to come travels at once. While
    the generator keeps `produce` waiting, `drain` gives what it has yielded so far, so one fed by the consumer works.
    """

    def __init__(self, node: Generator, block_size: int | None) -> None:
        self._node = node
        self._block_size = block_size
        self._iterator: Iterator[Any] | None = None
        self._finished = False
        self._pulled = 0
        self._skips = 0
        self._open: list[Any] = []  # yielded, not handed over; the last `len(_open)` of `_pulled`
        self._lock = threading.Lock()

    def skip(self, elements: int) -> None:
        """Start after so many: they are pulled again and dropped."""
        self._skips = elements

    def produce(self, scope: Scope) -> Block | None:
        """The next block, None at the end."""
        failure: Failure | None = None
        limit = self._block_size or _BLOCK_ELEMENTS
        if self._node.limit is not None:
            limit = min(limit, self._node.limit - self._pulled)
        deadline = scope.services.clock.now() + _BLOCK_SECONDS
        size = count = 0
        try:
            if self._iterator is None and limit > 0 and not self._finished:
                self._iterator = iter(self._node.function(*self._node.args))
                self._replay(self._iterator)
            while count < limit and size < _BLOCK_BYTES and self._iterator is not None:
                value = detached(next(self._iterator))
                with self._lock:
                    self._open.append(value)
                    self._pulled += 1
                count += 1
                size += _rough_bytes(value)
                if self._block_size is None and scope.services.clock.now() > deadline:
                    break
        except StopIteration:
            self._iterator, self._finished = None, True
        except NotResumableError as error:
            failure = Failure(error)
        except Exception as error:  # noqa: BLE001  # whatever the user's generator raises is told with its place
            failure = Failure(self._wrap(error, self._pulled))
        block = self._handed_over(scope, failure)
        return None if count == 0 and failure is None else block

    def _replay(self, iterator: Iterator[Any]) -> None:
        for number in range(self._skips):
            if next(iterator, _END) is _END:
                raise ended_early(self._node, self._skips - number)
        self._pulled = self._skips

    def drain(self, scope: Scope) -> Block:
        """What has been yielded and not handed over; called while `produce` waits, from another thread."""
        return self._handed_over(scope, None)

    def _handed_over(self, scope: Scope, failure: Failure | None) -> Block:
        with self._lock:
            values, self._open = self._open, []
            numbers = np.arange(self._pulled - len(values), self._pulled, dtype=np.int64)
        origins = SourceOrigins(self._node.number, self._node.label, numbers)
        if not values:
            return empty_block(origins, failure)
        return collate(self._node, values, origins, failure, scope=scope, declared=self._node.declared)

    def _wrap(self, error: Exception, index: int) -> SourceError:
        wrapped = SourceError(
            f"the generator raised {type(error).__name__}: {error}",
            where=f"{self._node.label}, element {index}",
            remedy="a generator cannot go on after it raised; catch the error inside it to do so",
        )
        wrapped.__cause__ = error
        return wrapped

    def close(self) -> None:
        """End the user's generator: its `finally` blocks run now."""
        close = getattr(self._iterator, "close", None)
        self._iterator = None
        if close is not None:
            close()


def _rough_bytes(value: Any) -> int:
    if isinstance(value, tuple):
        return sum(map(_rough_bytes, value))
    if isinstance(value, dict):
        return sum(map(_rough_bytes, value.values()))
    return getattr(value, "nbytes", None) or (len(value) if isinstance(value, bytes | str | list) else 8)


def ended_early(node: Node, missing: int) -> NotResumableError:
    """What a node gives again must be what it gave when the state was taken."""
    return NotResumableError(
        "resumed, it ended before the place of the state",
        got=f"{missing} elements too few",
        expected="the elements it gave when the state was taken",
        where=node.label,
        remedy="a generator must give the same elements each time its function is called, and files must not change",
    )


class ReplaySource:
    """The blocks of a kept stream."""

    def __init__(self, blocks: Iterable[Block]) -> None:
        self._blocks = iter(blocks)
        self._skips = 0

    def skip(self, elements: int) -> None:
        """Start after so many."""
        self._skips = elements

    def produce(self, scope: Scope) -> Block | None:
        for block in self._blocks:
            gone, self._skips = self._skips, max(0, self._skips - len(block))
            if gone < len(block):
                return block.slice(gone, len(block))
        return None

    def close(self) -> None:
        """Nothing is held."""
