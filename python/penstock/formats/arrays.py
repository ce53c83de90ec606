"""Files that hold one array: NumPy's .npy, or nothing but numbers. Where it lies, and of what shape it is."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.errors import DecodeError, InvalidArgumentError
from penstock.formats.files import LocalFile, unreadable

_MAGIC = b"\x93NUMPY"


@dataclass(frozen=True, slots=True)
class ArrayLayout:
    """A C-ordered array of numbers in a file: `shape` of `dtype` from byte `offset` to the end."""

    dtype: np.dtype[Any]
    shape: tuple[int, ...]
    offset: int


def array_layout(file: LocalFile, dtype: np.dtype[Any] | None, shape: Sequence[int] | None) -> ArrayLayout:
    """The array in `file`: as a .npy header says, else as `dtype` and `shape` do; the two must agree.

    `shape` may begin with -1, for as many rows as there are; None is one axis. Only the header is read.
    Raises: DecodeError: a broken header, or sizes that do not agree; InvalidArgumentError: a raw file and no dtype.
    """
    try:
        with open(file.path, "rb") as opened:
            if opened.read(len(_MAGIC)) == _MAGIC:
                opened.seek(0)
                return _agreed(file, _npy_layout(file, opened), dtype, shape)
    except OSError as error:
        raise unreadable(file.path, error) from error
    if dtype is None:
        raise InvalidArgumentError(
            "a file without a .npy header needs its dtype said", where=file.path, remedy='say dtype="uint16", or so'
        )
    require_numbers(file.path, dtype)
    return _raw_layout(file, dtype, shape)


def require_numbers(where: str, dtype: np.dtype[Any]) -> None:
    """Raises: InvalidArgumentError: `dtype` is not of numbers, dates or truths, which a file can hold as they are."""
    if dtype.kind not in "biufcmM" and not (dtype.kind == "V" and dtype.names is None and dtype.num >= 256):
        raise InvalidArgumentError("not a dtype of numbers", got=str(dtype), expected="numbers", where=where)


def _npy_layout(file: LocalFile, opened: Any) -> ArrayLayout:
    formats: Any = np.lib.format
    try:
        version = formats.read_magic(opened)
        if version not in ((1, 0), (2, 0)):  # 3.0 is for names of fields, which are refused below anyway
            raise ValueError(f"version {version[0]}.{version[1]}")
        read = formats.read_array_header_1_0 if version == (1, 0) else formats.read_array_header_2_0
        shape, is_fortran, dtype = read(opened)
    except ValueError as error:
        raise DecodeError("a broken .npy header", got=str(error), where=file.path) from error
    if dtype.hasobject or dtype.kind in "SUO":
        raise DecodeError(
            "an array file of text or objects", got=str(dtype), expected="numbers", where=file.path,
            remedy="numpy.load it and use from_tensor_slices",
        )  # fmt: skip
    if is_fortran and len(shape) > 1:
        raise DecodeError(
            "an array in Fortran order, whose rows are not in one piece", where=file.path,
            remedy="save numpy.ascontiguousarray(array)",
        )  # fmt: skip
    return ArrayLayout(dtype, shape, opened.tell())


def _agreed(
    file: LocalFile, layout: ArrayLayout, dtype: np.dtype[Any] | None, shape: Sequence[int] | None
) -> ArrayLayout:
    if not layout.shape:
        raise DecodeError("a single number has no rows", got="shape ()", where=file.path)
    if dtype is not None and dtype != layout.dtype:
        if layout.dtype.kind != "V" or layout.dtype.itemsize != dtype.itemsize:  # what numpy.save makes of bfloat16
            raise InvalidArgumentError(
                "another dtype than the file's", got=str(dtype), expected=str(layout.dtype), where=file.path
            )
        layout = ArrayLayout(dtype, layout.shape, layout.offset)
    require_numbers(file.path, layout.dtype)
    if shape is not None and tuple(shape)[1:] != layout.shape[1:]:
        raise InvalidArgumentError(
            "another shape than the file's", got=tuple(shape), expected=layout.shape, where=file.path
        )
    wanted = layout.offset + math.prod(layout.shape) * layout.dtype.itemsize
    if wanted != file.size:
        raise DecodeError(
            "the file is cut short" if file.size < wanted else "the file is longer than its header says",
            got=f"{file.size} bytes", expected=f"{wanted} for shape {layout.shape} of {layout.dtype}", where=file.path,
        )  # fmt: skip
    return layout


def _raw_layout(file: LocalFile, dtype: np.dtype[Any], shape: Sequence[int] | None) -> ArrayLayout:
    if not file.size:
        raise DecodeError("the file is empty", got="0 bytes", where=file.path)
    row = () if shape is None else tuple(shape)[1:]
    row_bytes = math.prod(row) * dtype.itemsize
    rows = file.size // row_bytes if row_bytes else 0
    said = rows if shape is None or shape[0] in (-1, None) else int(shape[0])
    if said * row_bytes != file.size:
        expected = f"a multiple of {row_bytes}" if said == rows else f"{said * row_bytes}"
        raise DecodeError(
            "the size of the file does not fit", got=f"{file.size} bytes",
            expected=f"{expected} for rows of shape {row} of {dtype}", where=file.path,
        )  # fmt: skip
    return ArrayLayout(dtype, (rows, *row), 0)
