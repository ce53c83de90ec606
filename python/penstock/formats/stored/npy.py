"""`.npy` files that are written row by row, at any place, and get their header when they are finished."""

from __future__ import annotations

import math
import os
from typing import Any

import numpy as np

from penstock.block.columns import Array, Indices
from penstock.errors import WriteError

_ALIGNMENT = 64
_DIGITS = 20  # of the largest number of rows


def unwritable(path: str, error: OSError) -> WriteError:
    """What to raise when the system refuses to write."""
    return WriteError(
        "cannot write what is kept", got=error.strerror or str(error), where=path,
        remedy="nothing of it stays behind; make room, or name another directory",
    )  # fmt: skip


def bytes_of(array: Array) -> Array:
    """The bytes of an array in C order, [nbytes] uint8; no copy where it lies so."""
    flat = np.ascontiguousarray(array).reshape(-1)
    return flat.view(np.uint8) if flat.size and flat.itemsize else np.empty(0, dtype=np.uint8)


class ArrayWriter:
    """One file: an array of any number of rows of one shape. Not safe for threads. Raises: WriteError throughout."""

    def __init__(self, path: str, dtype: np.dtype[Any], row_shape: tuple[int, ...]) -> None:
        self.path = path
        self.dtype = dtype
        self.row_shape = row_shape
        self._start = len(_header(dtype, (10**_DIGITS, *row_shape), 0))
        try:
            self._file = open(path, "xb+", buffering=0)  # noqa: SIM115  # closed by `finish` or `close`
        except OSError as error:
            raise unwritable(path, error) from error

    @property
    def row_bytes(self) -> int:
        return math.prod(self.row_shape) * self.dtype.itemsize

    def write(self, row: int, data: Array | bytes) -> None:
        """Whole rows, as bytes, from row `row` on."""
        view = memoryview(data)  # type: ignore[arg-type]  # NumPy does not say that arrays are buffers
        try:
            if view.nbytes:
                self._file.seek(self._start + row * self.row_bytes)
            while view.nbytes:
                view = view[self._file.write(view) :]
        except OSError as error:
            raise unwritable(self.path, error) from error

    def scatter(self, positions: Indices, rows: Array) -> None:
        """Row i of `rows` to position positions[i]."""
        breaks = np.flatnonzero(np.diff(positions) != 1) + 1
        for start, stop in zip([0, *breaks.tolist()], [*breaks.tolist(), len(positions)], strict=True):
            self.write(int(positions[start]), bytes_of(rows[start:stop]))

    def view(self, rows: int) -> Array:
        """The first `rows` rows as they are now, read-only; all of them must have been written."""
        shape = (rows, *self.row_shape)
        if not rows * self.row_bytes:
            return np.empty(shape, dtype=self.dtype)
        raw = np.memmap(self.path, np.uint8, "r", self._start, (rows * self.row_bytes,))
        return np.asarray(raw).view(self.dtype).reshape(shape)

    def reshape(self, row_shape: tuple[int, ...]) -> None:
        """From now on rows of another, smaller shape: what was written stays where it is."""
        self.row_shape = row_shape

    def finish(self, rows: int) -> None:
        """Write the header, have all of it on the disk, and close."""
        try:
            self._file.seek(0)
            self._file.write(_header(self.dtype, (rows, *self.row_shape), self._start))
            self._file.truncate(self._start + rows * self.row_bytes)
            os.fsync(self._file.fileno())
        except OSError as error:
            raise unwritable(self.path, error) from error
        finally:
            self.close()

    def close(self) -> None:
        self._file.close()

    def __del__(self) -> None:
        if hasattr(self, "_file"):
            self.close()


def write_array(path: str, array: Array) -> None:
    """A whole array as a file. Raises: WriteError."""
    writer = ArrayWriter(path, array.dtype, array.shape[1:])
    try:
        writer.write(0, bytes_of(array))
        writer.finish(len(array))
    finally:
        writer.close()


def _header(dtype: np.dtype[Any], shape: tuple[int, ...], size: int) -> bytes:
    """A .npy header, version 1.0, of at least `size` bytes: it is padded, so that a longer one fits in its place."""
    descr = f"|V{dtype.itemsize}" if dtype.kind == "V" else np.lib.format.dtype_to_descr(dtype)  # as NumPy's own
    text = repr({"descr": descr, "fortran_order": False, "shape": shape}).encode("latin1")
    length = max(size, -(-(10 + len(text) + 1) // _ALIGNMENT) * _ALIGNMENT)
    return b"\x93NUMPY\x01\x00" + (length - 10).to_bytes(2, "little") + text.ljust(length - 11) + b"\n"
