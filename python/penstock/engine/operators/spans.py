"""Steps on rows that lie in one array (words, their numbers), and on texts, for a block at once."""

from __future__ import annotations

from itertools import chain
from typing import Any

import numpy as np

from penstock.block.columns import Array, BytesColumn, Column, SpanColumn
from penstock.kernels.packing import place_spans
from penstock.ops.program import Ref, Step
from penstock.ops.words import check_lengths, decoded, pad, pad_value, tokenize_batch


def span_step(step: Step, values: list[Any]) -> Column | Array | None:
    """The step for all rows, or None: then it runs as any other. Raises: what it raises on a row."""
    if len(step.references()) != 1 or not isinstance(step.args[0], Ref):
        return None
    source, rest = values[step.args[0].index], step.args[1:]
    if isinstance(source, SpanColumn):
        if step.op == "py.side" and rest == (0,):
            return source.lengths.astype(np.int64)
        if step.op == "py.size":
            return source.lengths.astype(np.int64)
        if step.op == "method.getitem" and len(rest) == 1 and isinstance(rest[0], slice):
            return _sliced(source, rest[0])
        if step.op == "words.pad" and source.items.dtype.kind != "O":
            return _padded(source, *rest, **dict(step.kwargs))
    if step.op == "words.tokenize" and isinstance(source, BytesColumn) and source.values.ndim == 1:
        return _tokenized(source, *rest, **dict(step.kwargs))
    return None


def _sliced(source: SpanColumn, part: slice) -> SpanColumn | None:
    """`row[start:stop]` of each row: no item is copied."""
    bounds = (part.start, part.stop)
    if part.step not in (None, 1) or not all(bound is None or type(bound) is int for bound in bounds):
        return None
    lengths = source.lengths
    start, stop = (
        default if bound is None else np.clip(bound + lengths if bound < 0 else bound, 0, lengths)
        for bound, default in ((part.start, np.zeros_like(lengths)), (part.stop, lengths))
    )
    return SpanColumn(source.items, source.starts + start, np.maximum(stop - start, 0), source.dtype)


def _padded(source: SpanColumn, length: Any, value: Any = None, truncate: bool = True) -> Array:
    pad(source.row(0), length, value, truncate)  # which says what is wrong with the arguments
    check_lengths(source.lengths, length, truncate)
    count = len(source)
    out = np.full((count, length), pad_value(value, source.items), dtype=source.dtype)
    if length:
        places = np.arange(count, dtype=np.int64) * length
        place_spans(source.items, source.starts, np.minimum(source.lengths, length), places, out)
    return out


def _tokenized(
    source: BytesColumn, tokenizer: Any, add_special_tokens: bool = True, dtype: Any = np.int32
) -> SpanColumn:
    rows = tokenize_batch(decoded(source.values.tolist()), tokenizer, add_special_tokens, dtype)
    lengths = np.fromiter(map(len, rows), dtype=np.int64, count=len(rows))
    items = np.fromiter(chain.from_iterable(rows), dtype=np.dtype(dtype), count=int(lengths.sum()))
    return SpanColumn(items, np.cumsum(lengths) - lengths, lengths, items.dtype)
