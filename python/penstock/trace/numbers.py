"""Python numbers under trace: what a random stream returns without a size, or the side of a shape.

Between themselves they follow Python (integers without bound, errors at a division by zero); with an array they take
its dtype, as NumPy has it, so a program must tell them from arrays of no dimension.
"""

from __future__ import annotations

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.block.collate import column_of

_NUMBERS = frozenset({bool, int, float, complex})


def is_number(value: Any) -> bool:
    """Whether `value` is a Python number and not NumPy's (float64 is a subclass of float)."""
    return type(value) in _NUMBERS


def as_row(value: Any) -> Any:
    """`value`, a leaf of one function's result, as the next function sees it."""
    return column_of([value]).row(0)


PYTHON: dict[str, Callable[..., Any]] = {
    **{name: getattr(operator, name) for name in "add sub mul truediv floordiv mod pow lshift rshift".split()},
    **{name: getattr(operator, name) for name in "lt le gt ge eq ne neg pos abs invert xor".split()},
    "and": operator.and_,
    "or": operator.or_,
    "side": lambda x, axis: int(np.shape(x)[axis]),
    "size": lambda x: int(np.size(x)),
    "leaf": as_row,
}
"""What a step `py.name` does to the numbers of one element."""

EXACT_ON_FLOATS = frozenset(f"py.{name}" for name in "add sub mul lt le gt ge eq ne neg pos abs".split())
"""Those that one NumPy call does to a column of floats as Python does to each."""
