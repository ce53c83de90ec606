"""Counter-based random streams: a draw depends on what it is for, never on when or where it is made.

Philox4x32-10. The 64-bit key is derived from (seed, epoch, pass, node number); the 128-bit counter is, from its
lowest word: draw block, op number, low and high half of the origin's 64-bit identity. So every element, op and draw
has its own numbers, whatever thread, process, host or block produces it. `philox_reference` here and `philox` in Rust
(crates/penstock-kernels/src/philox.rs) are bit-identical.

Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011; constants from Random123.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock import _native
from penstock.errors import InvalidArgumentError

_MULTIPLIERS = (np.uint64(0xD2511F53), np.uint64(0xCD9E8D57))
_WEYL = (0x9E3779B9, 0xBB67AE85)
_MASK = np.uint64(0xFFFFFFFF)
_ROUNDS = 10

UInt32s = NDArray[np.uint32]
UInt64s = NDArray[np.uint64]


def derive_key(*parts: int | str) -> int:
    """A 64-bit stream key from what the stream is for; equal parts give equal keys on every machine and version."""
    text = "\x1f".join(f"{type(part).__name__}:{part}" for part in parts)
    return int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")


def mix_ids(left: UInt64s, right: UInt64s | int) -> UInt64s:
    """Join two identities into one, row by row.

    Shapes: left [n] uint64; right [n] uint64 or one integer; result [n] uint64.
    Source: the finaliser of SplitMix64 (Steele, Lea, Flood 2014) over left + golden * (right + 1).
    """
    with np.errstate(over="ignore"):
        other = np.asarray(right, dtype=np.uint64) + np.uint64(1)
        mixed = left + other * np.uint64(0x9E3779B97F4A7C15)
        mixed = (mixed ^ (mixed >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
        mixed = (mixed ^ (mixed >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
        result: UInt64s = mixed ^ (mixed >> np.uint64(31))
        return result


def philox_reference(key: int, ids: UInt64s, op: int, draws: int) -> UInt32s:
    """`draws` random 32-bit words for each identity: the slow twin of `_native.philox`.

    Shapes: ids [n] uint64; result [n, draws] uint32. Word d of a row is word d % 4 of the Philox block at counter
    (d // 4, op, id low, id high) under the key (key low, key high).
    """
    blocks = -(-draws // 4)
    ids = np.ascontiguousarray(ids, dtype=np.uint64)
    shape = (len(ids), blocks)
    c0 = np.broadcast_to(np.arange(blocks, dtype=np.uint64), shape)
    c1 = np.full(shape, op, dtype=np.uint64)
    c2 = np.broadcast_to((ids & _MASK)[:, None], shape)
    c3 = np.broadcast_to((ids >> np.uint64(32))[:, None], shape)
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(_ROUNDS):
        p0, p1 = c0 * _MULTIPLIERS[0], c2 * _MULTIPLIERS[1]
        c0, c1, c2, c3 = (
            (p1 >> np.uint64(32)) ^ c1 ^ np.uint64(k0),
            p1 & _MASK,
            (p0 >> np.uint64(32)) ^ c3 ^ np.uint64(k1),
            p0 & _MASK,
        )
        k0, k1 = (k0 + _WEYL[0]) & 0xFFFFFFFF, (k1 + _WEYL[1]) & 0xFFFFFFFF
    words = np.stack([c0, c1, c2, c3], axis=-1).astype(np.uint32)
    return np.ascontiguousarray(words.reshape(len(ids), blocks * 4)[:, :draws])


class Rng:
    """The random numbers of one element in one op: the same however, wherever and whenever they are drawn.

    The methods have the names and defaults of `numpy.random.Generator`; `numpy()` gives a Generator for the rest of
    them. Successive calls give successive numbers. Cost: about 2 us a call.
    """

    __slots__ = ("_id", "_key", "_op", "_position")

    def __init__(self, key: int, origin_id: int = 0, op: int = 0, position: int = 0) -> None:
        self._key = key
        self._id = origin_id
        self._op = op
        self._position = position

    def _words(self, count: int) -> UInt32s:
        words: UInt32s = _native.philox_words(self._key, self._id, self._op, self._position, count)
        self._position += count
        return words

    def _uint64(self, count: int) -> UInt64s:
        words = self._words(2 * count)
        return words[0::2].astype(np.uint64) | (words[1::2].astype(np.uint64) << np.uint64(32))

    def _shaped(self, values: NDArray[Any], size: int | tuple[int, ...] | None) -> Any:
        return values[0].item() if size is None else values.reshape(size)

    def random(self, size: int | tuple[int, ...] | None = None) -> Any:
        """Uniform float64 in [0, 1), 53 bits."""
        return self._shaped((self._uint64(_count(size)) >> np.uint64(11)) * 2.0**-53, size)

    def uniform(self, low: float = 0.0, high: float = 1.0, size: int | tuple[int, ...] | None = None) -> Any:
        """Uniform float64 in [low, high)."""
        return low + (high - low) * self.random(size)

    def integers(self, low: int, high: int | None = None, size: int | tuple[int, ...] | None = None) -> Any:
        """Uniform int64 in [low, high), or [0, low). Bias below 2**-32 (multiply-shift, Lemire 2019, no rejection)."""
        low, high = (0, low) if high is None else (low, high)
        span = high - low
        if not 0 < span <= 2**32:
            raise InvalidArgumentError(
                "an empty or too wide range", got=f"[{low}, {high})", expected="1 to 2**32 values"
            )
        bits = self._uint64(_count(size))
        upper = (bits >> np.uint64(32)) * np.uint64(span)
        lower = ((bits & _MASK) * np.uint64(span)) >> np.uint64(32)
        return self._shaped(low + ((upper + lower) >> np.uint64(32)).astype(np.int64), size)

    def normal(self, loc: float = 0.0, scale: float = 1.0, size: int | tuple[int, ...] | None = None) -> Any:
        """Normal float64 (Box-Muller, one draw a pair)."""
        count = _count(size)
        pairs = self.random(2 * count)
        values = np.sqrt(-2.0 * np.log1p(-pairs[:count])) * np.cos(2.0 * np.pi * pairs[count:])
        return self._shaped(loc + scale * values, size)

    def permutation(self, x: int | NDArray[Any]) -> NDArray[Any]:
        """A random order of `range(x)`, or of the rows of an array."""
        rows = np.arange(x) if isinstance(x, int | np.integer) else np.asarray(x)
        shuffled: NDArray[Any] = rows[np.argsort(self._uint64(len(rows)), kind="stable")]
        return shuffled

    def choice(self, a: int | NDArray[Any], size: int | None = None, replace: bool = True) -> Any:
        """One or `size` of `range(a)`, or of the rows of an array, with or without replacement."""
        rows = np.arange(a) if isinstance(a, int | np.integer) else np.asarray(a)
        if replace:
            return rows[self.integers(len(rows), size=size)]
        if _count(size) > len(rows):
            raise InvalidArgumentError("more rows than there are", got=size, expected=f"at most {len(rows)}")
        picked = self.permutation(rows)[: _count(size)]
        return picked[0] if size is None else picked

    def numpy(self) -> np.random.Generator:
        """A `numpy.random.Generator` seeded by this stream, for the distributions not offered here."""
        return np.random.Generator(np.random.Philox(key=int(self._uint64(1)[0])))


def position_of(rng: Rng) -> int:
    """How many words of its stream are behind it: where the next draw begins."""
    return rng._position


def _count(size: int | tuple[int, ...] | None) -> int:
    return 1 if size is None else int(np.prod(size))


@dataclass(frozen=True, slots=True)
class BlockStreams:
    """The random streams of the elements of a block: a key for each function; identities, computed when asked for."""

    keys: tuple[int, ...]
    ids: Callable[[], UInt64s]

    def of_row(self, row: int, call: int, op: int, position: int) -> Rng:
        """The stream `op` of one element for function `call`, from word `position` on."""
        return Rng(self.keys[call], int(self.ids()[row]), op, position)


class _Scope(threading.local):
    """What the random ops of this thread draw from: row `row` of the block a map is working on, or nothing.

    position: where in its stream the next op begins, for the one op that is told.
    """

    key: int | None = None
    ids: Callable[[], UInt64s] | None = None
    row: int = 0
    op: int = 0
    position: int = 0


_scope = _Scope()


@contextmanager
def element_scope(key: int, ids: Callable[[], UInt64s]) -> Iterator[_Scope]:
    """While open, random ops of this thread draw from the stream `key`; set `.row` and `.op = 0` before each element.

    `ids` gives the identities of the block's elements, [n] uint64; it is called when the first op draws, so a map
    without randomness never computes them.
    """
    previous = (_scope.key, _scope.ids, _scope.row, _scope.op, _scope.position)
    _scope.key, _scope.ids, _scope.row, _scope.op, _scope.position = key, ids, 0, 0, 0
    try:
        yield _scope
    finally:
        _scope.key, _scope.ids, _scope.row, _scope.op, _scope.position = previous


@contextmanager
def draw_at(place: tuple[int, int, int] | None) -> Iterator[None]:
    """While open, the next op draws at (op, position, call) of the current element's stream; None: where it is."""
    previous = (_scope.op, _scope.position)
    if place is not None:
        _scope.op, _scope.position, _ = place
    try:
        yield
    finally:
        if place is not None:
            _scope.op, _scope.position = previous


def scoped_rng() -> Rng:
    """The stream of the next op on the current element; outside a pipeline, one of fresh entropy (as in tf.image).

    Ops are numbered in the order in which the function calls them.
    """
    if _scope.key is None or _scope.ids is None:
        fresh = np.random.SeedSequence().generate_state(1, np.uint64)
        return Rng(int(fresh[0]))
    rng = Rng(_scope.key, int(_scope.ids()[_scope.row]), _scope.op, _scope.position)
    _scope.op += 1
    _scope.position = 0
    return rng


def ops_drawn() -> int:
    """How many streams the current element's ops have taken so far."""
    return _scope.op
