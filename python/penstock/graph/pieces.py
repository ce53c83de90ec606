"""Where the pieces that a source is read in come to lie in what verbs make of it: a shuffle above visits them in turn.

Computed from the graph alone, and the same before and after every rule: an order may not hang on which are skipped.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.formats.store import Pieces
from penstock.graph.node import Node, becomes_index_driven
from penstock.graph.nodes import (
    AssertCardinality,
    Batch,
    Cache,
    Chain,
    Concatenate,
    Enumerate,
    FormatRows,
    IgnoreErrors,
    Map,
    Prefetch,
    Repeat,
    Shard,
    Shuffle,
    Skip,
    Stride,
    Take,
    WithOptions,
    Zip,
)

_ALIKE = (Map, Chain, Enumerate, Prefetch, WithOptions, IgnoreErrors, AssertCardinality, Cache)
_MOST = 1_000_000

Bounds = NDArray[np.int64]


def pieces_of_shuffle(node: Shuffle) -> Pieces | None:
    """The pieces below a shuffle, and how much of them it mixes at a time: its buffer, if one is said."""
    if node.window is not None or not becomes_index_driven(node.input):
        return None
    pieces = pieces_of(node.input)
    if pieces is None:
        return None
    return Pieces(pieces.rows, pieces.together if node.buffer_size is None else node.buffer_size)


def pieces_of(node: Node) -> Pieces | None:
    """The pieces in which the elements of `node` are read; None where any is as cheap as the next, or shuffled."""
    if isinstance(node, FormatRows):
        return node.store.pieces
    if isinstance(node, _ALIKE):
        return pieces_of(node.input)
    if isinstance(node, Take | Skip | Shard | Stride):
        return _sliced(node)
    if isinstance(node, Repeat):
        pieces = pieces_of(node.input)
        small = pieces is not None and 0 <= node.count * len(pieces.rows) <= _MOST
        return Pieces(pieces.rows * node.count, pieces.together) if pieces is not None and small else None
    if isinstance(node, Batch):
        pieces = pieces_of(node.input)
        if pieces is None:
            return None
        bounds = -(-_bounds(pieces) // node.batch_size)
        return _pieces(np.minimum(bounds, node.cardinality()), max(1, pieces.together // node.batch_size))
    if isinstance(node, Zip):
        parts = [pieces for source in node.inputs if (pieces := pieces_of(source)) is not None]
        if not parts:
            return None
        bounds = np.unique(np.concatenate([_bounds(pieces) for pieces in parts]))
        return _pieces(np.minimum(bounds, node.cardinality()), min(pieces.together for pieces in parts))
    return _concatenated(node) if isinstance(node, Concatenate) else None


def _bounds(pieces: Pieces) -> Bounds:
    return np.array(pieces.bounds(), dtype=np.int64)


def _pieces(bounds: Bounds, together: int) -> Pieces:
    return Pieces(tuple(row for row in np.diff(bounds).tolist() if row), together)


def _sliced(node: Take | Skip | Shard | Stride) -> Pieces | None:
    pieces = pieces_of(node.input)
    count = node.cardinality()
    if pieces is None or count < 0:
        return None
    start, step = 0, 1
    if isinstance(node, Stride):
        start, step = node.start, node.step
    elif isinstance(node, Skip):
        start = node.input.cardinality() - count
    elif isinstance(node, Shard):
        start, step = node.index, node.num_shards
    bounds = _bounds(pieces)
    if step < 0:  # element i is start - i * -step, so those at or above a bound come before it
        return _pieces(np.clip((start - bounds) // -step + 1, 0, count)[::-1], max(1, pieces.together // -step))
    return _pieces(np.clip(-((start - bounds) // step), 0, count), max(1, pieces.together // step))


def _concatenated(node: Concatenate) -> Pieces | None:
    parts = [pieces_of(source) for source in node.inputs]
    together = [pieces.together for pieces in parts if pieces is not None]
    if not together:
        return None
    rows: list[int] = []
    for source, pieces in zip(node.inputs, parts, strict=True):
        if pieces is not None:
            rows += pieces.rows
            continue
        count, size = source.cardinality(), max(1, min(together) // 4)  # any parts will do: they cost nothing to mix
        if count < 0 or count // size > _MOST:
            return None
        rows += [size] * (count // size) + ([count % size] if count % size else [])
    return Pieces(tuple(rows), min(together))
