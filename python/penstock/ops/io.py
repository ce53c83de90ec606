"""Files and codecs: `read_file`, `decode_jpeg`, `decode_png`, `decode_raw`."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import DTypeLike, NDArray

from penstock.errors import DecodeError, InvalidArgumentError, ReadError
from penstock.kernels import file
from penstock.kernels import image as kernels
from penstock.ops.dtypes import as_dtype
from penstock.ops.limits import max_image_pixels
from penstock.ops.program import op
from penstock.storage import objects
from penstock.storage.ranges import Request
from penstock.storage.url import is_remote, require_known

FIDELITIES = ("exact", "fast")
FAST_TOLERANCE = 10.0
"""How far `fidelity="fast"` may be from "exact": grey levels of 255, in the mean of an image.

Held to the exact pixels resized with antialias=True, which is what scaled decoding comes to: without antialias, exact
shrinking by two or more aliases, and the two differ by that. On photographs the mean is 0.8 to 4.1, of the worst image
7.4, and single values differ by up to 91 (benchmarks/micro/fast_jpeg.py).
What is left to shrink after the scaling aliases without antialias as ever: beyond 16 times, or one side far more than
the other, nothing is promised of it.
"""


@op
def read_file(path: str | bytes | os.PathLike[Any], offset: int = 0, length: int | None = None) -> bytes:
    """The bytes of a file, or `length` of them from `offset`: exactly those, or an error.

    path: of a local file, or a URL: s3://, gs://, az://, http://, https:// (docs/howto/remote-data.md). A compiled
    function asks for the objects of a whole block at once.
    Units: offset and length in bytes; length None is up to the end.
    Raises: ReadError (an OSError): missing, unreadable, not a file, or shorter than asked; names the file.
    Cost: one copy, from the page cache into the result; of an object, a round trip. Releases the GIL.
    """
    name = os.fsdecode(path)
    if offset < 0 or (length is not None and length < 0):
        raise InvalidArgumentError(
            "read_file: a negative range", got=f"offset={offset}, length={length}", expected="offset and length >= 0"
        )
    if is_remote(name):
        return objects.read(name, offset, None if length is None else offset + length)
    try:
        return file.read_file(name, offset, length)
    except OSError as error:
        require_known(name)
        raise ReadError("cannot read the file", got=error.strerror or str(error), where=name) from error


def read_files(calls: Sequence[Any]) -> list[bytes] | None:
    """`read_file` of each of `calls` (path, offset, length), with all objects asked for at once; None: none is one.

    Raises: as `read_file` does, for the first that fails.
    """
    requests: dict[int, Request] = {}
    for place, (path, offset, length) in enumerate(calls):
        name = os.fsdecode(path)
        if is_remote(name) and offset >= 0 and (length is None or length >= 0):
            requests[place] = Request(name, offset, None if length is None else offset + length)
    if not requests:
        return None
    found = dict(zip(requests, objects.read_many(list(requests.values())), strict=True))
    return [found[place] if place in found else read_file(*call) for place, call in enumerate(calls)]


@op
def decode_jpeg(
    contents: bytes,
    channels: int = 0,
    *,
    fidelity: str = "exact",
    allow_truncated: bool = False,
    apply_exif_orientation: bool = False,
) -> NDArray[np.uint8]:
    """Decode a whole JPEG.

    Shapes: [h, w, c] uint8; c is 1 or 3, for `channels` 0 what is stored (grey 1, anything else 3).
    fidelity: "fast" lets a compiled function that shrinks the image, or a crop of it, to half or less decode it at 1/2,
    1/4 or 1/8 of its size, never below what is asked for: 1.2 to 1.8 times as fast. The one thing in which compiled and
    not compiled differ, by what FAST_TOLERANCE says; not to the bit. By itself, and not shrunk, "fast" is "exact".
    allow_truncated: a file that ends within its pixels gives those before its end, and grey (128) below; anything else
    that is wrong with it, and an end before the first pixel, stays an error.
    apply_exif_orientation: turn the image as its EXIF says, as Pillow's exif_transpose; malformed EXIF counts as none.
    Raises: DecodeError: empty, another format, truncated, corrupt, or more pixels than `Options.max_image_pixels`.
    Cost: 0.8 ms for 500 x 375 on one core (docs/decisions/2026-11-21-jpeg-library.md); releases the GIL.
    Source: libjpeg-turbo, accurate DCT, fancy upsampling; baseline files by a decoder of ours, to the same bits.
    """
    check_choice("decode_jpeg: channels", channels, (0, 1, 3))
    check_choice("decode_jpeg: fidelity", fidelity, FIDELITIES)
    return kernels.decode_jpeg(
        as_bytes("decode_jpeg", contents),
        channels,
        max_image_pixels(),
        allow_truncated=allow_truncated,
        oriented=apply_exif_orientation,
    )


@op
def decode_png(
    contents: bytes, channels: int = 0, dtype: DTypeLike = np.uint8
) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Decode a whole PNG: palette, grey, alpha, 16 bits, interlaced.

    Shapes: [h, w, c]; c is 1 to 4, for `channels` 0 what is stored (a palette is 3, or 4 with transparency).
    Units: `dtype` uint8 or uint16; 16 stored bits become 8 by their upper byte, 8 become 16 times 257.
    Raises: DecodeError: empty, another format, truncated or corrupt; says which.
    """
    check_choice("decode_png: channels", channels, (0, 1, 2, 3, 4))
    target = as_dtype(dtype)
    check_choice("decode_png: dtype", target, (np.dtype(np.uint8), np.dtype(np.uint16)))
    return kernels.decode_png(as_bytes("decode_png", contents), channels, target == np.uint16, max_image_pixels())


@op
def decode_raw(
    input_bytes: bytes | Sequence[bytes] | NDArray[np.object_],
    out_type: DTypeLike,
    little_endian: bool = True,
    fixed_length: int | None = None,
) -> NDArray[Any]:
    """Bytes as the numbers they are the memory of, as tf.io.decode_raw.

    Shapes: bytes give [items]; an array of bytes [...], all of one length, [..., items]. Bools are one byte each.
    fixed_length: in bytes, a multiple of the dtype's: longer ones are cut, shorter ones filled up with zeros.
    Raises: DecodeError: a length that is no multiple of the dtype's, or unequal lengths. Cost: one copy.
    """
    dtype = as_dtype(out_type)
    if dtype.hasobject or (dtype.kind in "SUVMm" and dtype.name != "bfloat16"):
        raise InvalidArgumentError("decode_raw: out_type", got=str(out_type), expected="numbers or bools")
    if fixed_length is not None and (fixed_length <= 0 or fixed_length % dtype.itemsize):
        raise InvalidArgumentError(
            "decode_raw: fixed_length", got=fixed_length, expected=f"a multiple of {dtype.itemsize}, for {dtype}"
        )
    is_many = isinstance(input_bytes, list) or (isinstance(input_bytes, np.ndarray) and input_bytes.ndim > 0)
    given = np.asarray(input_bytes, dtype=object) if is_many else None
    texts = [as_bytes("decode_raw", text) for text in ([input_bytes] if given is None else given.ravel().tolist())]
    if fixed_length is not None:
        texts = [text[:fixed_length].ljust(fixed_length, b"\0") for text in texts]
    length = len(texts[0]) if texts else 0
    odd = next((number for number, text in enumerate(texts) if len(text) != length), None)
    if odd is not None or length % dtype.itemsize:
        raise DecodeError(
            "decode_raw: length" if odd is None else f"decode_raw: length of element {odd}",
            got=f"{length if odd is None else len(texts[odd])} bytes",
            expected=f"a multiple of {dtype.itemsize}, for {dtype}" if odd is None else f"{length}, as the first",
        )
    values = np.frombuffer(bytearray().join(texts), dtype if little_endian else dtype.newbyteorder(">"))
    shape = () if given is None else given.shape
    return values.astype(dtype, copy=False).reshape(*shape, length // dtype.itemsize)


def check_choice(what: str, given: Any, choices: tuple[Any, ...]) -> None:
    """Refuse what is not one of `choices`."""
    if given not in choices:
        raise InvalidArgumentError(what, got=str(given), expected=f"one of {', '.join(map(str, choices))}")


def as_bytes(op: str, contents: Any) -> bytes:
    """The bytes of a file, not its path."""
    if isinstance(contents, np.ndarray) and contents.ndim == 0:
        contents = contents.item()
    if isinstance(contents, bytes):
        return contents
    if isinstance(contents, (bytearray, memoryview)):
        return bytes(contents)
    raise InvalidArgumentError(
        f"{op}: not the bytes of a file",
        got=type(contents).__name__,
        expected="bytes",
        remedy="for a path, call read_file first" if isinstance(contents, (str, os.PathLike)) else None,
    )
