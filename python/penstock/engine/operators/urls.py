"""The URLs that a block's elements hold: what a function that is called row by row may read is asked for at once."""

from __future__ import annotations

import os
from typing import Any

from penstock.block.block import Block
from penstock.block.columns import BytesColumn
from penstock.storage.surroundings import Expected, Habit
from penstock.storage.url import is_remote


def expected_of(block: Block, habit: Habit) -> Expected | None:
    """What its rows may read, where a leaf holds URLs and `habit` says that it pays; None: nothing is known."""
    for column in block.columns:
        if type(column) is not BytesColumn:  # records that lie packed are no URLs, and stay packed
            continue
        if column.values.ndim == 1 and len(column) and is_remote(_as_text(column.row(0))):
            return Expected(tuple(map(_as_text, column.rows())), habit) if habit.is_worth_it else None
    return None


def _as_text(value: Any) -> str:
    return os.fsdecode(value) if isinstance(value, bytes | str) else ""
