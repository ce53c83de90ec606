"""Sources over files of numbers. A file is measured when the source is made; nothing but a header is read then."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np

from penstock.errors import InvalidArgumentError, Location, PenstockError, user_location
from penstock.formats.arrays import ArrayLayout, array_layout
from penstock.formats.files import LocalFile, measured, require_local
from penstock.graph.nodes import ArrayFile
from penstock.options import require_integer
from penstock.verbs.base import Verbs


class FileVerbs(Verbs):
    """Constructors of datasets over files of numbers."""

    @classmethod
    def from_array_file(
        cls, path: str | os.PathLike[str], dtype: Any = None, shape: Sequence[int | None] | None = None
    ) -> Self:
        """The rows of an array in a file: .npy, or nothing but numbers of `dtype`.

        `shape`: of the whole array, -1 or None first for as many rows as there are; None is one axis. What a .npy
        header says needs not be said, and may not be contradicted. Rows are read as they are asked for, shuffled ones
        straight into their batch; the file may be larger than memory.
        Raises: ReadError: missing, a directory, or changed since; DecodeError: the size does not fit the shape.
        """
        where = user_location()
        file, layout = _layout("from_array_file", path, dtype, shape, where)
        row = layout.shape[1:]
        width = int(np.prod(row, dtype=np.int64)) * layout.dtype.itemsize
        node = ArrayFile(
            location=where, name="from_array_file", file=file, offset=layout.offset, stride=width, dtype=layout.dtype,
            shape=row, count=layout.shape[0],
        )  # fmt: skip
        return cls._of(node)

    @classmethod
    def tokens(cls, path: str | os.PathLike[str], dtype: Any, length: int, stride: int | None = None) -> Self:
        """Windows of `length` tokens from a flat file of them: window i begins at token `i * stride`.

        `stride` is `length` unless said; smaller, windows overlap: `tokens(path, "uint16", 1025, 1024)` gives inputs
        and the targets one to the right. Tokens at the end that fill no window are left out. `dtype` None: a .npy says
        it.
        Raises: as `from_array_file`; InvalidArgumentError: fewer tokens than one window.
        """
        where = user_location()
        size = require_integer("tokens", "length", length, minimum=1, where=where) or 1
        step = size if stride is None else require_integer("tokens", "stride", stride, minimum=1, where=where) or 1
        file, layout = _layout("tokens", path, dtype, None, where)
        if len(layout.shape) != 1:
            raise InvalidArgumentError(
                "tokens: not a flat file", got=f"shape {layout.shape}", expected="one axis",
                where=f"{where}: {file.path}",
            )  # fmt: skip
        count = (layout.shape[0] - size) // step + 1
        if count < 1:
            raise InvalidArgumentError(
                "tokens: the file has less than one window", got=f"{layout.shape[0]} tokens",
                expected=f"at least length={size}", where=f"{where}: {file.path}",
            )  # fmt: skip
        node = ArrayFile(
            location=where, name="tokens", file=file, offset=layout.offset, stride=step * layout.dtype.itemsize,
            dtype=layout.dtype, shape=(size,), count=count,
        )  # fmt: skip
        return cls._of(node)


def _layout(
    verb: str, path: Any, dtype: Any, shape: Sequence[int | None] | None, where: Location
) -> tuple[LocalFile, ArrayLayout]:
    if not isinstance(path, str | os.PathLike):
        raise InvalidArgumentError(f"{verb}: path", got=repr(path), expected="a path", where=where)
    try:
        said = None if dtype is None else np.dtype(getattr(dtype, "as_numpy_dtype", dtype))
    except TypeError:
        raise InvalidArgumentError(f"{verb}: dtype", got=repr(dtype), expected="a NumPy dtype", where=where) from None
    sizes = None if shape is None else _sizes(verb, shape, where)
    try:
        file = measured(os.fsdecode(path))
        require_local(file, "an array that is mapped")
        return file, array_layout(file, said, sizes)
    except PenstockError as error:
        raise error.at(f"{verb} at {where}") from error.__cause__


def _sizes(verb: str, shape: Any, where: Location) -> tuple[int, ...]:
    sizes = tuple(shape) if isinstance(shape, Sequence) and not isinstance(shape, str) else ()
    known = [size for size in sizes[1:] if not isinstance(size, int | np.integer) or size < 1]
    first = sizes[0] if sizes else 0
    if not sizes or known or not (first is None or (isinstance(first, int | np.integer) and first >= -1)):
        expected = "sizes above 0, of which the first may be -1"
        raise InvalidArgumentError(f"{verb}: shape", got=repr(shape), expected=expected, where=where)
    return tuple(-1 if size is None else int(size) for size in sizes)
