"""Arithmetic on whole elements: `cast`; look-ups: `gather`, `one_hot`. Names and numerics of TensorFlow."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from penstock.errors import InvalidArgumentError
from penstock.ops.dtypes import as_dtype
from penstock.ops.program import op


@op
def cast(x: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """Convert the values of an array or number, as C converts: floats are cut towards zero, integers wrap.

    Shapes: any; kept. dtype: NumPy's or TensorFlow's, or its name ("bfloat16").
    Cost: one pass; NumPy's own, so the GIL is released for its dtypes.
    """
    try:
        target = as_dtype(dtype)
        return np.asarray(x).astype(target)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            "cast: values that cannot be converted",
            got=f"{np.asarray(x).dtype} to {dtype!r}",
            expected="numbers and a numeric dtype",
        ) from error


@op
def gather(params: ArrayLike, indices: ArrayLike) -> NDArray[Any]:
    """The rows of `params` at `indices`: `params[indices]`, where it may be a traced value that looks up.

    Shapes: params [n, ...], indices [...] integers; result [*indices.shape, *params.shape[1:]].
    Raises: InvalidArgumentError: an index that is negative or not below n. Source: tf.gather, with axis 0.
    """
    table, places = np.asarray(params), _integers("gather", indices)
    if table.ndim == 0 or (places.size and not (0 <= places.min() and places.max() < len(table))):
        raise InvalidArgumentError(
            "gather: an index outside the table",
            got=f"indices from {places.min()} to {places.max()}" if places.size else "no indices",
            expected=f"from 0 to {len(table) - 1}" if table.ndim else "a table of at least one dimension",
        )
    found: NDArray[Any] = np.take(table, places, axis=0)
    return found


@op
def one_hot(indices: ArrayLike, depth: int, dtype: DTypeLike = np.float32) -> NDArray[Any]:
    """1 at the place that each index names among `depth`, 0 elsewhere; zeros alone for an index that is none of them.

    Shapes: indices [...] integers; result [..., depth]. Source: tf.one_hot, with its defaults.
    """
    if depth < 0:
        raise InvalidArgumentError("one_hot: a negative depth", got=depth, expected=">= 0")
    places = _integers("one_hot", indices)
    marked: NDArray[Any] = (places[..., None] == np.arange(depth)).astype(as_dtype(dtype))
    return marked


def _integers(name: str, indices: ArrayLike) -> NDArray[Any]:
    places = np.asarray(indices)
    if places.dtype.kind not in "iu":
        raise InvalidArgumentError(f"{name}: indices that are no integers", got=f"dtype {places.dtype}")
    return places
