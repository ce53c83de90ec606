"""Serialized Examples of a block, parsed by one native call into columns; what has one shape goes into the batch.

Slow twin: the op on each record. A record at fault raises; the block then goes by rows, which say which one and why.
"""

from __future__ import annotations

import math
from itertools import pairwise
from typing import Any

import numpy as np

from penstock.block.columns import Array, BytesColumn, Column, FreshColumn, PackedColumn, RowsColumn, SpanColumn
from penstock.block.spec import BYTES, Spec
from penstock.kernels.example import Column as Parsed
from penstock.ops.features import Feature, FixedLenFeature, FixedLenSequenceFeature
from penstock.ops.parsing import Place, flat_of, parsed, plan
from penstock.ops.program import Ref, Step

OPS_ON_BLOCKS = frozenset({"examples.parse_single_example", "examples.parse_example"})


def parse_rows(step: Step, values: list[Any], place: Place) -> tuple[Column, ...] | None:
    """The features of each row, where rows are one record each; None: row by row.

    `place`: memory for the rows of a part of the result. Raises: DecodeError: a record is at fault.
    """
    arguments = dict(zip(("serialized", "features"), step.args, strict=False)) | dict(step.kwargs)
    source, features = arguments.get("serialized"), arguments.get("features")
    column = values[source.index] if isinstance(source, Ref) else None
    if not isinstance(column, BytesColumn) or column.spec != Spec((), BYTES):
        return None
    op = step.op.partition(".")[2]
    made = plan(op, features, "single")
    outs = made.outs(len(column), place)
    records = column.packed if isinstance(column, PackedColumn) else column.values.tolist()
    columns = parsed(op, made, records, outs, is_lone=False)
    each = zip(made.features, outs, columns, strict=True)
    return tuple(_column(feature, out, found, len(column)) for feature, out, found in each)


def _column(feature: Feature, out: Array | None, found: Parsed | None, count: int) -> Column:
    if found is None:
        assert out is not None
        return FreshColumn(out, out)
    flat = flat_of(found)
    if isinstance(feature, FixedLenFeature):
        return BytesColumn(flat.reshape(count, *feature.shape), BYTES)
    shape = feature.shape if isinstance(feature, FixedLenSequenceFeature) else ()
    lengths = found.lengths // math.prod(shape)
    ends = np.cumsum(lengths)
    if not shape:
        return SpanColumn(flat, ends - lengths, lengths, feature.dtype)
    items = flat.reshape(-1, *shape)
    return RowsColumn([items[start:stop] for start, stop in pairwise([0, *ends.tolist()])], feature.dtype)
