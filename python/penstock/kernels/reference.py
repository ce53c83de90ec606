"""The slow twin of each kernel, in NumPy: what a kernel means, and what its tests compare it with.

`philox` has its twin in `penstock.rng.philox_reference`; `gather_rows` has `numpy.take`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from penstock.rng import philox_reference

_TABLE_MAX = 256
_FEISTEL_ROUNDS = 8
_TABLE_OP, _FEISTEL_OP = 0xFFFFFFF0, 0xFFFFFFF1


def permute(key: int, n: int, positions: NDArray[np.integer]) -> NDArray[np.int64]:
    """The images of `positions` under the permutation of `[0, n)`: bit-identical to `_native.permute`.

    Shapes: positions [m] integers in [0, n); result [m] int64.
    """
    values = np.asarray(positions, dtype=np.int64)
    if len(values) and not (0 <= values.min() and values.max() < n):
        raise IndexError(f"a position is outside [0, {n})")
    if n <= _TABLE_MAX:
        return _fisher_yates(key, n)[values]
    values = _feistel(key, n, values)
    while (outside := values >= n).any():
        values[outside] = _feistel(key, n, values[outside])
    return values


def _fisher_yates(key: int, n: int) -> NDArray[np.int64]:
    table = np.arange(n, dtype=np.int64)
    words = philox_reference(key, np.array([n], dtype=np.uint64), _TABLE_OP, 16 * (n + 16))[0].tolist()
    position = 0
    for last in range(n - 1, 0, -1):
        bound = last + 1
        while True:
            product = words[position] * bound
            position += 1
            if product % 2**32 >= 2**32 % bound:
                break
        chosen = product >> 32
        table[last], table[chosen] = table[chosen], table[last]
    return table


def _feistel(key: int, n: int, values: NDArray[np.int64]) -> NDArray[np.int64]:
    bits = (n - 1).bit_length()
    low_bits, high_bits = bits // 2, bits - bits // 2
    keys = philox_reference(key, np.array([n], dtype=np.uint64), _FEISTEL_OP, _FEISTEL_ROUNDS)[0]
    low = (values & ((1 << low_bits) - 1)).astype(np.uint32)
    high = (values >> low_bits).astype(np.uint32)
    for even, odd in keys.reshape(-1, 2):
        low ^= _mix(high ^ even) >> np.uint32(32 - low_bits)
        high ^= _mix(low ^ odd) >> np.uint32(32 - high_bits)
    return (high.astype(np.int64) << low_bits) | low.astype(np.int64)


def _mix(value: NDArray[np.uint32]) -> NDArray[np.uint32]:
    first = value * np.uint32(0x7FEB352D)
    return (first ^ (first >> np.uint32(15))) * np.uint32(0x846CA68B)
