"""What every element of a block draws from its own stream, at once: bit for bit what `penstock.Rng` gives each.

Normal numbers are not here: logarithm and cosine are the same to the last bit only one element at a time.
Slow twin: `penstock.Rng`, which the tests compare.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.random import philox
from penstock.ops.program import Draw, Ref, Step, substitute
from penstock.rng import UInt64s

Array = NDArray[Any]
Bits = Callable[[int], UInt64s]
Size = int | tuple[int, ...] | None

_MASK = np.uint64(0xFFFFFFFF)
_SPARE = 64  # words that may be made and not used, before rows are better made one by one


def _bits(key: int, ids: UInt64s, draw: Draw, count: int) -> UInt64s | None:
    """[n, count] random 64-bit integers from the place of `draw` on; None where most words made would be wasted."""
    if draw.position > 2 * count + _SPARE:
        return None
    words = philox(key, ids, draw.op, draw.position + 2 * count)[:, draw.position :]
    bits: UInt64s = words[:, 0::2].astype(np.uint64) | (words[:, 1::2].astype(np.uint64) << np.uint64(32))
    return bits


def _count(size: Size) -> int:
    return 1 if size is None else int(np.prod(size))


def _shaped(values: Array, size: Size) -> Array:
    if size is None:
        return values[:, 0]
    return values.reshape(len(values), *(size if isinstance(size, tuple | list) else (size,)))


def _random(bits: Bits, size: Size = None) -> Array:
    return _shaped((bits(_count(size)) >> np.uint64(11)) * 2.0**-53, size)


def _uniform(bits: Bits, low: float = 0.0, high: float = 1.0, size: Size = None) -> Array | None:
    if not all(type(bound) in (int, float) and abs(bound) < 2**53 for bound in (low, high)):
        return None
    result: Array = low + (high - low) * _random(bits, size)
    return result


def _integers(bits: Bits, low: int, high: int | None = None, size: Size = None) -> Array | None:
    low, high = (0, low) if high is None else (low, high)
    if type(low) is not int or type(high) is not int or not 0 < high - low <= 2**32:
        return None
    drawn, span = bits(_count(size)), np.uint64(high - low)
    upper = (drawn >> np.uint64(32)) * span
    lower = ((drawn & _MASK) * span) >> np.uint64(32)
    return _shaped(low + ((upper + lower) >> np.uint64(32)).astype(np.int64), size)


def _permutation(bits: Bits, x: Any) -> Array:
    rows = np.arange(x) if isinstance(x, int | np.integer) else np.asarray(x)
    shuffled: Array = rows[np.argsort(bits(len(rows)), axis=1, kind="stable")]
    return shuffled


def _choice(bits: Bits, a: Any, size: int | None = None, replace: bool = True) -> Array | None:
    rows = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)
    if replace:
        places = _integers(bits, len(rows), size=size)
        return None if places is None else np.asarray(rows[places])
    if _count(size) > len(rows):
        return None
    picked = _permutation(bits, rows)[:, : _count(size)]
    return picked[:, 0] if size is None else picked


class _Sparse(Exception):  # noqa: N818  # no error: rows are made one by one
    """Too many words before the ones that are wanted."""


_DRAWS: dict[str, Callable[..., Array | None]] = {
    "rng.random": _random,
    "rng.uniform": _uniform,
    "rng.integers": _integers,
    "rng.permutation": _permutation,
    "rng.choice": _choice,
}
BLOCK_DRAWS = frozenset(_DRAWS)
"""The steps that `draw_block` knows."""


def draw_block(step: Step, key: int, ids: UInt64s) -> Array | None:
    """What a step of `BLOCK_DRAWS` gives each element, [n, ...]; None where only rows say it.

    Cost: about 3 ns a word; a place deep in a stream costs the words before it.
    """
    args, kwargs, draw = step.args, dict(step.kwargs), step.draw
    assert draw is not None
    values: list[Ref] = []
    substitute((args, kwargs), values.append)
    if values:
        return None

    def bits(count: int) -> UInt64s:
        found = _bits(key, ids, draw, count)
        if found is None:
            raise _Sparse
        return found

    try:
        return _DRAWS[step.op](bits, *args, **kwargs)
    except _Sparse:
        return None
