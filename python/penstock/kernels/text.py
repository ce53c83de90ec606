"""Texts of rows through several steps, or to numbers, in one call."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _native
from penstock.block.packed import Packed
from penstock.errors import DecodeError

Splits = NDArray[np.int64]

WordTable = _native.WordTable
"""Words (bytes, or str as its UTF-8), each once, numbered in order. Raises ValueError with the places of a pair."""
TextPattern = _native.TextPattern
"""A regular expression and what its matches become. Raises ValueError: what is wrong with either."""


class TextError(DecodeError):
    """A text is not what a step takes. `row`: which; `offset`: the byte of it, as the step found it."""

    row: int
    offset: int


def text_rows(
    texts: list[Any] | Packed, splits: Splits | None, steps: Sequence[tuple[Any, ...]]
) -> tuple[list[Any], Splits]:
    """The texts that `steps` make of each row, end to end, and where each row of them ends.

    texts: all bytes, or all str, which stay what they are, or `Packed` bytes; one a row, or row r has those from
    splits[r] to below splits[r + 1].
    steps: ("lower", utf8), ("upper", utf8), ("strip", utf8), ("split", utf8, separator, most), ("replace", TextPattern,
    all), ("drop", WordTable), ("ngrams", widths, separator), ("join", separator). str is read as UTF-8 anyway.
    Raises: TextError: a text is no UTF-8. Cost: one pass; releases the GIL while it works.
    """
    made, ends = _given(_native.text_rows(texts, splits, list(steps), None, False))
    return made, ends


def number_rows(
    texts: list[Any] | Packed,
    splits: Splits | None,
    steps: Sequence[tuple[Any, ...]],
    number: tuple[Any, ...],
    dtype: np.dtype[Any],
) -> tuple[NDArray[Any], Splits]:
    """As `text_rows`, the number of each text in its place, of int32 or int64; no object is made for a text.

    number: ("id", WordTable, missing, buckets), ("hash", buckets), ("length", in_characters). Numbers have to fit.
    """
    made, ends = _given(_native.text_rows(texts, splits, list(steps), number, dtype.itemsize == 4))
    return made, ends


def _given(result: tuple[Any, Any, tuple[int, int, str] | None]) -> tuple[Any, Splits]:
    made, ends, fault = result
    if fault is None:
        return made, ends
    row, offset, reason = fault
    error = TextError(
        reason, where=f"byte {offset} of the text",
        remedy='leave encoding out to treat bytes as ASCII, or say TextLineDataset(encoding=...) the one they are in',
    )  # fmt: skip
    error.row, error.offset = row, offset
    raise error
