"""NumPy functions on a whole column at once, where that gives each row what the call on the row alone gives.

A form takes the column, [n, ...], in the place of the row, and axes as they count in a row: `np.flip(row, 0)` is
`np.flip(column, 1)`. Only what moves, picks or compares values, or computes with integers, is done so; the sum of a row
of floats depends on how NumPy walks the array. A form raises `ByRow` for arguments it does not know.

Slow twin: the call on each row (engine.operators.programs), which the tests compare.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.ops.math import cast, one_hot

Array = NDArray[Any]
Form = Callable[..., Array]

_PAD_MODES = frozenset({"constant", "edge", "reflect", "symmetric", "wrap"})


class ByRow(Exception):  # noqa: N818  # no error: the rows are computed one by one
    """These arguments have no form for a whole column."""


def _axis(axis: Any, rank: int) -> int:
    """An axis of a row of `rank` as one of the column."""
    if not isinstance(axis, int | np.integer) or isinstance(axis, bool) or not -rank <= axis < rank:
        raise ByRow
    return int(axis) % rank + 1


def _axes(axis: Any, rank: int) -> tuple[int, ...]:
    """Axes of a row, None for all of them, as those of the column."""
    if axis is None:
        return tuple(range(1, rank + 1))
    return tuple(_axis(one, rank) for one in (axis if isinstance(axis, tuple | list) else (axis,)))


def _flat(x: Array) -> Array:
    return x.reshape(len(x), -1)


def _integers(x: Array) -> Array:
    if x.dtype.kind not in "iub":
        raise ByRow
    return x


def _plain(keywords: dict[str, Any], *known: str) -> None:
    if set(keywords) - set(known):
        raise ByRow


def _columns(arrays: Sequence[Any], count: int) -> list[Array]:
    """Columns and constants as columns, all of one rank."""
    if not isinstance(arrays, tuple | list):
        raise ByRow
    given = [
        part.values if isinstance(part, Rows) else np.broadcast_to(np.asarray(part), (count, *np.shape(part)))
        for part in arrays
    ]
    if len({array.ndim for array in given}) != 1:
        raise ByRow
    return given


class Rows:
    """A column among the items of a sequence, told apart from constant arrays."""

    __slots__ = ("values",)

    def __init__(self, values: Array) -> None:
        self.values = values

    def __len__(self) -> int:
        return len(self.values)


def _count(arrays: Any) -> int:
    return next(len(part) for part in arrays if isinstance(part, Rows))


# --- places --------------------------------------------------------------------------------------------------------


def _transpose(a: Array, axes: Any = None) -> Array:
    rank = a.ndim - 1
    order = range(rank)[::-1] if axes is None else axes
    return np.transpose(a, (0, *_axes(tuple(order), rank)))


def _moveaxis(a: Array, source: Any, destination: Any) -> Array:
    return np.moveaxis(a, _axes(source, a.ndim - 1), _axes(destination, a.ndim - 1))


def _swapaxes(a: Array, axis1: Any, axis2: Any) -> Array:
    return np.swapaxes(a, _axis(axis1, a.ndim - 1), _axis(axis2, a.ndim - 1))


def _expand_dims(a: Array, axis: Any) -> Array:
    axes = axis if isinstance(axis, tuple | list) else (axis,)
    return np.expand_dims(a, _axes(tuple(axes), a.ndim - 1 + len(axes)))


def _squeeze(a: Array, axis: Any = None) -> Array:
    if axis is None:
        return np.squeeze(a, tuple(place for place in range(1, a.ndim) if a.shape[place] == 1))
    return np.squeeze(a, _axes(axis, a.ndim - 1))


def _flip(m: Array, axis: Any = None) -> Array:
    return np.flip(m, _axes(axis, m.ndim - 1))


def _rot90(m: Array, k: int = 1, axes: Any = (0, 1)) -> Array:
    first, second = axes
    return np.rot90(m, k, (_axis(first, m.ndim - 1), _axis(second, m.ndim - 1)))


def _roll(a: Array, shift: Any, axis: Any = None) -> Array:
    if axis is None:
        return np.roll(_flat(a), shift, 1).reshape(a.shape)
    return np.roll(a, shift, _axes(axis, a.ndim - 1))


def _reshape(a: Array, shape: Any) -> Array:
    return a.reshape(len(a), *(shape if isinstance(shape, tuple | list) else (shape,)))


def _ravel(a: Array) -> Array:
    return _flat(a)


def _repeat(a: Array, repeats: Any, axis: Any = None) -> Array:
    if not isinstance(repeats, int | np.integer):
        raise ByRow
    return np.repeat(_flat(a), repeats, 1) if axis is None else np.repeat(a, repeats, _axis(axis, a.ndim - 1))


def _tile(A: Array, reps: Any) -> Array:  # noqa: N803  # NumPy's name
    times = tuple(reps) if isinstance(reps, tuple | list) else (reps,)
    rank = A.ndim - 1
    lifted = A.reshape(len(A), *(1,) * (len(times) - rank), *A.shape[1:])
    return np.tile(lifted, (1, *(1,) * (rank - len(times)), *times))


def _pad(array: Array, pad_width: Any, mode: Any = "constant", **keywords: Any) -> Array:
    _plain(keywords, "constant_values")
    widths = np.asarray(pad_width)
    if mode not in _PAD_MODES or widths.dtype.kind not in "iu" or np.ndim(keywords.get("constant_values", 0)):
        raise ByRow
    widths = np.broadcast_to(widths, (array.ndim - 1, 2))
    return np.pad(array, [(0, 0), *map(tuple, widths.tolist())], mode, **keywords)


def _broadcast_to(array: Array, shape: Any) -> Array:
    shape = tuple(shape) if isinstance(shape, tuple | list) else (shape,)
    lifted = array.reshape(len(array), *(1,) * (len(shape) - array.ndim + 1), *array.shape[1:])
    return np.broadcast_to(lifted, (len(array), *shape))


def _take(a: Array, indices: Any, axis: Any = None, mode: Any = "raise") -> Array:
    column = _flat(a) if axis is None else a
    taken: Array = np.take(column, indices, 1 if axis is None else _axis(axis, a.ndim - 1), mode=mode)
    return taken


# --- several arrays ------------------------------------------------------------------------------------------------


def _stack(arrays: Any, axis: Any = 0) -> Array:
    given = _columns(arrays, _count(arrays))
    return np.stack(given, _axis(axis, given[0].ndim))


def _concatenate(arrays: Any, axis: Any = 0) -> Array:
    given = _columns(arrays, _count(arrays))
    return np.concatenate(given, _axis(axis, given[0].ndim - 1))


def _hstack(tup: Any) -> Array:
    given = [a if a.ndim > 1 else a[:, None] for a in _columns(tup, _count(tup))]
    return np.concatenate(given, 1 if given[0].ndim == 2 else 2)


def _vstack(tup: Any) -> Array:
    given = [a.reshape(len(a), 1, -1) if a.ndim < 3 else a for a in _columns(tup, _count(tup))]
    return np.concatenate(given, 1)


# --- values --------------------------------------------------------------------------------------------------------


def _of_integers(function: Callable[..., Any]) -> Form:
    def form(a: Array, axis: Any = None, **keywords: Any) -> Array:
        _plain(keywords, "keepdims", "dtype")
        if np.dtype(keywords.get("dtype", np.int64)).kind not in "iub":
            raise ByRow
        result: Array = function(_integers(a), axis=_axes(axis, a.ndim - 1), **keywords)
        return result

    return form


def _of_truth(function: Callable[..., Any]) -> Form:
    def form(a: Array, axis: Any = None, keepdims: bool = False) -> Array:
        result: Array = function(a, axis=_axes(axis, a.ndim - 1), keepdims=keepdims)
        return result

    return form


def _along_one(function: Callable[..., Any], *known: str) -> Form:
    """Functions of one axis that treat each line alone, in order; without an axis, of the row made flat."""

    def form(a: Array, axis: Any = None, **keywords: Any) -> Array:
        _plain(keywords, *known)
        result: Array = (
            function(_flat(a), axis=1, **keywords)
            if axis is None
            else function(a, axis=_axis(axis, a.ndim - 1), **keywords)
        )
        return result

    return form


def _lines(function: Callable[..., Any], *known: str) -> Form:
    """The same, with the last axis where none is named."""
    inner = _along_one(function, *known)

    def form(a: Array, axis: Any = -1, **keywords: Any) -> Array:
        return inner(a, axis, **keywords)

    return form


def _diff(a: Array, n: int = 1, axis: Any = -1) -> Array:
    return np.diff(a, n, _axis(axis, a.ndim - 1))


def _round(a: Array, decimals: int = 0) -> Array:
    return np.round(a, decimals)


def _nan_to_num(x: Array, copy: bool = True, nan: Any = 0.0, posinf: Any = None, neginf: Any = None) -> Array:
    if any(np.ndim(value) for value in (nan, posinf, neginf) if value is not None):
        raise ByRow
    return np.nan_to_num(x, copy=True, nan=nan, posinf=posinf, neginf=neginf)


def _like(function: Callable[..., Any]) -> Form:
    def form(a: Array, dtype: Any = None) -> Array:
        result: Array = function(a, dtype)
        return result

    return form


def _full_like(a: Array, fill_value: Any, dtype: Any = None) -> Array:
    if np.ndim(fill_value):
        raise ByRow
    return np.full_like(a, fill_value, dtype)


FORMS: dict[str, Form] = {
    "transpose": _transpose,
    "moveaxis": _moveaxis,
    "swapaxes": _swapaxes,
    "expand_dims": _expand_dims,
    "squeeze": _squeeze,
    "flip": _flip,
    "fliplr": lambda m: _flip(m, 1),
    "flipud": lambda m: _flip(m, 0),
    "rot90": _rot90,
    "roll": _roll,
    "reshape": _reshape,
    "ravel": _ravel,
    "repeat": _repeat,
    "tile": _tile,
    "pad": _pad,
    "broadcast_to": _broadcast_to,
    "take": _take,
    "stack": _stack,
    "concatenate": _concatenate,
    "hstack": _hstack,
    "vstack": _vstack,
    "any": _of_truth(np.any),
    "all": _of_truth(np.all),
    "argmax": _along_one(np.argmax),
    "argmin": _along_one(np.argmin),
    "cumsum": _along_one(np.cumsum, "dtype"),
    "cumprod": _along_one(np.cumprod, "dtype"),
    "sort": _lines(np.sort, "kind"),
    "argsort": _lines(np.argsort, "kind"),
    "diff": _diff,
    "round": _round,
    "around": _round,
    "nan_to_num": _nan_to_num,
    "zeros_like": _like(np.zeros_like),
    "ones_like": _like(np.ones_like),
    "full_like": _full_like,
}
"""Functions that move, pick or compare values, by name."""

INTEGER_FORMS: dict[str, Form] = {
    **{name: _of_integers(getattr(np, name)) for name in ("sum", "prod")},
    **{name: _of_integers(getattr(np, name)) for name in ("min", "max", "amin", "amax")},
}
"""Functions that are exact for integers alone."""

_METHOD_NAMES = "sum prod min max any all argmin argmax cumsum cumprod round swapaxes ravel squeeze repeat take".split()

OP_FORMS: dict[str, Form] = {
    "math.cast": cast,
    "math.one_hot": one_hot,
}
"""Ops that compute each value from its own place, so that a column is to them as a row is."""

METHOD_FORMS: dict[str, Form] = {
    **{name: {**FORMS, **INTEGER_FORMS}[name] for name in _METHOD_NAMES},
    "flatten": _ravel,
    "copy": lambda a: a.copy(),
    "transpose": lambda a, *axes: _transpose(a, axes[0] if len(axes) == 1 else axes or None),
}
"""The same as methods of arrays."""
