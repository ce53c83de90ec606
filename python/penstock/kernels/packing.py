"""Sequences into bins: which bin each goes to, its tokens in their place, the segment and position of each token."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _native


def place_rows(rows: Sequence[NDArray[Any]], starts: NDArray[np.int64], out: NDArray[Any]) -> None:
    """Copy row i to `out` from its item starts[i] on; what no row covers stays as it is.

    Shapes: rows arrays with the dtype of out; starts [n], counted in items of the flat out; out C-contiguous, without
    Python objects, and sharing no memory with a row. Rows may overlap in out: the later one stays.
    Raises: ValueError, TypeError: arrays that do not fit together; nothing was copied then.
    Cost: one pass over the rows; a row that is not C-contiguous is copied first. Releases the GIL.
    """
    _native.place_rows(list(rows), np.ascontiguousarray(starts, dtype=np.int64), out)


def place_spans(
    src: NDArray[Any],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    places: NDArray[np.int64],
    out: NDArray[Any],
) -> None:
    """Copy the lengths[i] items of `src` from item starts[i] on to `out`, from its item places[i] on.

    As `place_rows`, for rows that lie in one array. Shapes: src [m], without Python objects; starts, lengths, places
    [n]; out C-contiguous, of the dtype of src, sharing no memory with it.
    Raises: ValueError: a span lies outside, or arrays do not fit together; nothing was copied then.
    Cost: one pass; releases the GIL.
    """
    begins, counts, ats = (np.ascontiguousarray(numbers, dtype=np.int64) for numbers in (starts, lengths, places))
    _native.place_spans(np.ascontiguousarray(src), begins, counts, ats, out)


def pad_spans(
    src: NDArray[Any],
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    item: Any,
    outs: Sequence[NDArray[Any]],
) -> None:
    """Copy the lengths[i] items of `src` from item starts[i] on to row i of `outs`, and `item` to the rest of the row.

    Shapes: src [m], without Python objects; starts, lengths [n]; outs arrays [k, width] of the dtype of src,
    C-contiguous and sharing no memory with it, n rows together.
    Raises: ValueError: a span lies outside src or is longer than its row, or arrays do not fit together; nothing was
    copied then. Cost: one pass over outs; releases the GIL.
    """
    begins, counts = (np.ascontiguousarray(numbers, dtype=np.int64) for numbers in (starts, lengths))
    padding = np.array([item], dtype=src.dtype)
    _native.pad_spans(np.ascontiguousarray(src), begins, counts, padding, list(outs))


def assign_bins(
    lengths: NDArray[np.int64], capacities: NDArray[np.int64], used: NDArray[np.int64], *, fullest: bool
) -> NDArray[np.int64]:
    """The bin of each sequence in turn, [m] with m <= n: up to the first that fits into none.

    A sequence goes to the first bin it fits into with all its features, or with `fullest` to the fullest of those (the
    first of equals). Shapes: lengths [n, features]; capacities [features]; used [bins * features], what each bin holds,
    which is counted on. Cost: n times bins, in the worst case.
    """
    bins_of = np.empty(len(lengths), dtype=np.int64)
    flat = np.ascontiguousarray(lengths, dtype=np.int64).ravel()
    return bins_of[: _native.assign_bins(flat, capacities, used, fullest, bins_of)]


def mark_segments(
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    ids: NDArray[np.int32],
    segments: NDArray[np.int32],
    positions: NDArray[np.int32],
) -> None:
    """Write ids[i] to `segments` and 0, 1, ... to `positions` for the lengths[i] items from starts[i] on.

    Shapes: starts, lengths, ids [n], counted in items of the flat segments; segments and positions of one shape,
    C-contiguous. Raises: ValueError: a piece does not lie inside; nothing was written then.
    """
    flat = (np.ascontiguousarray(starts, dtype=np.int64), np.ascontiguousarray(lengths, dtype=np.int64))
    _native.mark_segments(*flat, ids, segments.reshape(-1), positions.reshape(-1))
