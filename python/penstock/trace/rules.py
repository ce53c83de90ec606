"""The NumPy functions and array methods a traced function may use, each with its rule for blocks.

ELEMENTWISE: one NumPy call on the whole column does to each row what a call on the row does, to the last bit. ROW:
results depend on how NumPy walks an array (sums, exponentials), so it is called row by row; so is everything where rows
differ in shape. INTERNAL: astype, reshape and indexing, which have a form of their own for blocks.
"""

from __future__ import annotations

import enum
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np


class Kind(enum.Enum):
    """How an op runs on a block."""

    ELEMENTWISE = "elementwise"
    ROW = "row"
    INTERNAL = "internal"


_ELEMENTWISE = """
    add subtract multiply divide true_divide floor_divide remainder mod fmod negative positive absolute fabs sign
    bitwise_and bitwise_or bitwise_xor invert left_shift right_shift logical_and logical_or logical_xor logical_not
    less less_equal greater greater_equal equal not_equal maximum minimum fmax fmin floor ceil trunc rint sqrt square
    isnan isinf isfinite
"""
_ROW = """
    sum mean std var min max amin amax prod any all argmin argmax cumsum cumprod sort argsort median percentile quantile
    stack concatenate hstack vstack dstack expand_dims squeeze transpose moveaxis swapaxes reshape ravel flip fliplr
    flipud rot90 roll pad tile repeat broadcast_to diff dot unique round around take zeros_like ones_like full_like
    nan_to_num atleast_1d atleast_2d atleast_3d
"""
_ROW_METHODS = """
    sum mean std var min max prod any all argmin argmax cumsum cumprod round clip transpose swapaxes flatten ravel
    squeeze repeat copy
"""

ELEMENTWISE_UFUNCS = frozenset(f"np.{name}" for name in _ELEMENTWISE.split())
"""Ufuncs that IEEE 754 or integer arithmetic defines to the last bit. The others (exp, sin, power) run row by row."""

FUNCTIONS: dict[str, Kind] = {
    **{f"np.{name}": Kind.ROW for name in _ROW.split()},
    "np.where": Kind.ELEMENTWISE,
    "np.clip": Kind.ELEMENTWISE,
}


@dataclass(frozen=True, slots=True)
class Method:
    """An array method: how it computes on one value, and its kind."""

    compute: Callable[..., Any]
    kind: Kind


def _astype(x: Any, dtype: Any) -> Any:
    return np.asarray(x).astype(dtype)[()]


def _method(name: str) -> Callable[..., Any]:
    return lambda x, *args, **kwargs: getattr(x, name)(*args, **kwargs)


METHODS: dict[str, Method] = {
    "astype": Method(_astype, Kind.INTERNAL),
    "reshape": Method(_method("reshape"), Kind.INTERNAL),
    "getitem": Method(lambda x, index: x[index], Kind.INTERNAL),
    **{name: Method(_method(name), Kind.ROW) for name in _ROW_METHODS.split()},
}
