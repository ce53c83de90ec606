"""The fused step on texts, on a block: one native call where rows hold a text or a row of words each.

Raises where a row fails, so that the block goes back to the single ops, which say which row and why.
"""

from __future__ import annotations

from typing import Any

import numpy as np

from penstock.block.collate import column_of
from penstock.block.columns import ArrayColumn, BytesColumn, Column, Indices, PackedColumn, RowsColumn, SpanColumn
from penstock.block.packed import Packed
from penstock.block.spec import STR, text_array
from penstock.kernels.text import number_rows, text_rows
from penstock.ops.fused import FusedTexts
from penstock.ops.text_steps import NUMBERS, ROWS, TextStep, apply, native


def run_texts(fused: FusedTexts, source: Column) -> Column:
    """What the steps make of each row.

    Raises: TextError: a row is no UTF-8; InvalidArgumentError: what its text is cannot be treated so.
    """
    flat = _flat(source)
    ends_as_words = _ends_as_words(fused.steps, flat is not None and flat[1] is not None)
    if flat is None or ends_as_words is None:
        return _by_row(fused.steps, source)
    texts, splits = flat
    is_str = source.dtype == STR
    last = fused.steps[-1]
    if last.name in NUMBERS:
        steps = [native(step, is_str) for step in fused.steps[:-1]]
        dtype = np.dtype(last.dtype)
        numbers, ends = number_rows(texts, splits, steps, native(last, is_str), dtype)
        return SpanColumn.of_splits(numbers, ends, dtype) if ends_as_words else ArrayColumn(numbers)
    made, ends = text_rows(texts, splits, [native(step, is_str) for step in fused.steps])
    items = text_array(made, source.dtype)
    return SpanColumn.of_splits(items, ends, source.dtype) if ends_as_words else BytesColumn(items, source.dtype)


def _flat(source: Column) -> tuple[list[Any] | Packed, Indices | None] | None:
    """The texts of all rows, and where each row of them ends; None for rows that are neither texts nor words."""
    if isinstance(source, PackedColumn):
        return source.packed, None
    if isinstance(source, BytesColumn):
        shape = source.values.shape
        if len(shape) > 2:
            return None
        splits = None if len(shape) == 1 else np.arange(shape[0] + 1, dtype=np.int64) * shape[1]
        return source.values.ravel().tolist(), splits
    if isinstance(source, SpanColumn) and source.items.dtype.kind == "O":
        whole = source.compact()
        return whole.items.tolist(), np.append(0, np.cumsum(whole.lengths))
    if isinstance(source, RowsColumn) and source.dtype.kind in "SU" and all(row.ndim == 1 for row in source.values):
        return np.concatenate(source.values).tolist(), np.append(0, np.cumsum([len(row) for row in source.values]))
    return None


def _ends_as_words(steps: tuple[TextStep, ...], is_words: bool) -> bool | None:
    """Whether rows of one text, or of words, end as rows of words; None where a step asks for something else."""
    for step in steps:
        if step.name == "split":
            if is_words:
                return None
            is_words = True
        elif step.name in ROWS or step.name == "join":
            if not is_words:
                return None
            is_words = step.name != "join"
    return is_words


def _by_row(steps: tuple[TextStep, ...], source: Column) -> Column:
    rows = []
    for row in source.rows():
        for step in steps:
            row = apply(step.name, row, step)  # noqa: PLW2901  # taken from step to step
        rows.append(row)
    return column_of(rows)
