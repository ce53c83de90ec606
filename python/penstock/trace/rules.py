"""The NumPy functions and array methods a traced function may use, each with its rule for blocks.

A rule is a promise: the result for each row is that of the call on the row alone, to the last bit. What keeps it by one
call on the whole column is ELEMENTWISE or ALONG; what does not (sums of floats, exponentials, whatever depends on how
NumPy walks an array) is ROW. Where rows differ in shape, everything runs row by row.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.trace.whole import FORMS


class Kind(enum.Enum):
    """How a function runs on a block."""

    ELEMENTWISE = "one call on the whole block"
    ALONG = "one call on the whole block, with axes counted from those of a row"
    INTEGERS = "one call on the whole block for integers and bools, row by row for floats"
    ROW = "row by row"


_ELEMENTWISE_UFUNCS = """
    add subtract multiply divide true_divide floor_divide remainder mod fmod negative positive absolute fabs sign
    bitwise_and bitwise_or bitwise_xor invert left_shift right_shift logical_and logical_or logical_xor logical_not
    less less_equal greater greater_equal equal not_equal maximum minimum floor ceil trunc rint sqrt square reciprocal
    isnan isinf isfinite signbit copysign gcd lcm
"""
_ROW_UFUNCS = """
    exp exp2 expm1 log log2 log10 log1p power float_power cbrt sin cos tan arcsin arccos arctan arctan2 sinh cosh tanh
    arcsinh arccosh arctanh hypot deg2rad rad2deg degrees radians logaddexp logaddexp2 fmax fmin heaviside matmul
"""
_INTEGERS = "sum prod min max amin amax"
_ROW = """
    mean std var median percentile quantile average ptp nansum nanmean nanmin nanmax nanstd nanvar nanmedian
    count_nonzero isclose allclose array_equal dot inner outer cross tensordot einsum trace diagonal tril triu
    dstack column_stack append insert delete atleast_1d atleast_2d atleast_3d unique flatnonzero nonzero argwhere
    searchsorted digitize interp bincount convolve correlate compress extract select choose partition argpartition
    split array_split linalg.norm
"""
_METHODS = """
    sum prod min max mean std var any all argmin argmax cumsum cumprod round clip transpose swapaxes flatten ravel
    squeeze repeat copy take
"""

ELEMENTWISE_UFUNCS = frozenset(f"np.{name}" for name in _ELEMENTWISE_UFUNCS.split())
"""Ufuncs that IEEE 754 or integer arithmetic defines to the last bit. All others run row by row."""

FUNCTIONS: dict[str, Kind] = {
    **{f"np.{name}": Kind.ROW for name in (*_ROW.split(), *_ROW_UFUNCS.split())},
    **dict.fromkeys(sorted(ELEMENTWISE_UFUNCS), Kind.ELEMENTWISE),
    **{f"np.{name}": Kind.ALONG for name in FORMS},
    **{f"np.{name}": Kind.INTEGERS for name in _INTEGERS.split()},
    **dict.fromkeys(("np.where", "np.clip"), Kind.ELEMENTWISE),
}

SHAPED_BY_VALUES = frozenset(
    f"np.{name}" for name in "unique flatnonzero nonzero argwhere bincount compress extract delete".split()
)
"""Functions whose result has a shape that depends on what the rows hold."""

ANSWERED = ("np.ndim", "np.shape", "np.size")
"""Functions answered while tracing, by what is the same for every row."""


@dataclass(frozen=True, slots=True)
class Method:
    """An array method: how it computes on one value."""

    compute: Callable[..., Any]


def _astype(x: Any, dtype: Any) -> Any:
    return np.asarray(x).astype(dtype)[()]


def _method(name: str) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


METHODS: dict[str, Method] = {
    "astype": Method(_astype),
    "reshape": Method(_method("reshape")),
    "getitem": Method(lambda x, index: x[index]),
    **{name: Method(_method(name)) for name in _METHODS.split()},
}
