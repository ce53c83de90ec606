"""A graph run inline: its blocks pulled one by one in the calling thread. No scheduler, no lock, no thread of its own.

For nested datasets, of which there may be millions. It uses the operators that running stages use, so it gives what
these give; what it leaves out is working ahead. Cost: some microseconds a node to open, beside what the operators cost.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from penstock.block.block import Block
from penstock.block.origin import NOWHERE
from penstock.engine.nested.reuse import Functions
from penstock.engine.operators.functions import empty_block
from penstock.engine.operators.indexed import alike, in_pass, indexed_operator
from penstock.engine.operators.sources import ReplaySource, StreamSource
from penstock.engine.operators.streams import STREAMS, stream_source
from penstock.engine.scope import Scope
from penstock.graph.node import INFINITE, Node, is_index_driven
from penstock.graph.nodes import (
    Batch,
    Cache,
    Chain,
    Concatenate,
    Filter,
    FormatRows,
    IgnoreErrors,
    Indexed,
    Map,
    Permute,
    Prefetch,
    Repeat,
    Stride,
    Unbatch,
    WithOptions,
)

if TYPE_CHECKING:
    from penstock.engine.operators.barriers.base import Barrier  # its folder has barriers that open children by this

BarrierOf = Callable[[Node, Scope], "Barrier"]


class Puller:
    """How graphs are run inline: how many rows a block takes, which barriers there are, which functions are known."""

    def __init__(self, rows: Callable[[], int], barrier_of: BarrierOf, functions: Functions) -> None:
        self._rows = rows
        self._barrier_of = barrier_of
        self._functions = functions

    def blocks(self, node: Node, scope: Scope) -> Iterator[Block]:
        """The blocks of `node`, in order; the last may hold a failure. Closing the iterator ends the sources below."""
        if isinstance(node, Prefetch | WithOptions | IgnoreErrors):
            return self.blocks(node.input, scope)
        if isinstance(node, Map | Filter | Chain | Unbatch):
            return self._segment(node, scope)
        if type(node) in STREAMS:
            return self._source(stream_source(node, scope.services.block_size), scope)
        if isinstance(node, Indexed | FormatRows):  # which may drop elements, and is then not addressed by number
            return self._indexed(node, scope)
        if is_index_driven(node) and (isinstance(node, Permute | Stride) or _has_no_function(node)):
            return self._indexed(node, scope)
        if isinstance(node, Repeat | Concatenate):
            return self._chain(node, scope)
        if isinstance(node, Cache):
            return self._cached(node, scope)
        return _through(self._barrier_of(node, scope), [self.blocks(source, scope) for source in node.inputs], scope)

    def _indexed(self, node: Node, scope: Scope) -> Iterator[Block]:
        operator = indexed_operator(node)
        length, position = operator.length, 0
        per_element = node.batch_size if isinstance(node, Batch) else 1
        while length < 0 or position < length:
            stop = position + max(1, self._rows() // per_element)
            stop = stop if length < 0 else min(stop, length)
            block = operator.rows(np.arange(position, stop, dtype=np.int64), scope)
            position = stop
            yield block
            if block.failure is not None:
                return

    def _segment(self, node: Node, scope: Scope) -> Iterator[Block]:
        function = self._functions.of(node)
        source = self.blocks(node.inputs[0], scope)
        tally = scope.task_log.tally
        try:
            for block in source:
                start = 0
                while start < len(block) or start == 0:
                    part = block.slice(start, start + self._rows())
                    start += max(1, len(part))
                    if len(part):
                        part = tally.measure(node.key, node.label, partial(function, part, scope))
                    yield part
                    if part.failure is not None:
                        return
        finally:
            _close(source)

    def _source(self, source: StreamSource, scope: Scope) -> Iterator[Block]:
        try:
            while (block := source.produce(scope)) is not None:
                yield block
                if block.failure is not None:
                    return
        finally:
            source.close()

    def _cached(self, node: Cache, scope: Scope) -> Iterator[Block]:
        inner = scope.frozen()
        if node.store.stream is not None:
            return self._source(ReplaySource(node.store.stream), inner)
        return _through(self._barrier_of(node, inner), [self.blocks(node.input, inner)], inner)

    def _chain(self, node: Node, scope: Scope) -> Iterator[Block]:
        if not isinstance(node, Repeat):
            through = alike(node)
            for source in node.inputs:
                for block in _closing(self.blocks(source, scope)):
                    yield (passed := through(block))
                    if passed.failure is not None:
                        return
            return
        repetition = 0
        while node.count == INFINITE or repetition < node.count:
            gave = False
            for block in _closing(self.blocks(node.input, scope.in_pass(node.number, repetition))):
                gave = gave or len(block) > 0
                yield in_pass(block, node.number, repetition)
                if block.failure is not None:
                    return
            if not gave and node.count == INFINITE:
                return
            repetition += 1


def _has_no_function(node: Node) -> bool:
    return not isinstance(node, Map | Chain) and all(map(_has_no_function, node.inputs))


def _through(barrier: Barrier, sources: Sequence[Iterator[Block]], scope: Scope) -> Iterator[Block]:
    """The blocks that a barrier gives when it is fed from `sources`."""
    try:
        while barrier.wants is not None:
            if barrier.pending:
                yield from barrier.more(scope)
                continue
            number = barrier.wants
            block = next(sources[number], None)
            if block is None:
                yield from barrier.finish(number, scope)
                continue
            yield from barrier.push(number, Block(block.structure, block.columns, block.origins), scope)
            if block.failure is not None and barrier.wants is not None:
                failure = barrier.fail(number, block.failure)
                if failure is not None:
                    yield empty_block(NOWHERE, failure)
                    return
    finally:
        barrier.close()
        for source in sources:
            _close(source)


def _closing(source: Iterator[Block]) -> Iterator[Block]:
    try:
        yield from source
    finally:
        _close(source)


def _close(source: Iterator[Block]) -> None:
    close = getattr(source, "close", None)
    if close is not None:
        close()
