"""Image files beyond `decode_jpeg` and `decode_png`: any format, regions, shapes, encoding. Names of tf.io."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from penstock.errors import DecodeError, InvalidArgumentError
from penstock.kernels import fused
from penstock.kernels import image as kernels
from penstock.ops.checks import one_image
from penstock.ops.dtypes import as_dtype
from penstock.ops.io import FIDELITIES, as_bytes, check_choice
from penstock.ops.limits import max_image_pixels
from penstock.ops.program import op

_DTYPES = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.float32))


@op
def decode_image(
    contents: bytes,
    channels: int | None = None,
    dtype: DTypeLike = np.uint8,
    *,
    fidelity: str = "exact",
    allow_truncated: bool = False,
    apply_exif_orientation: bool = False,
) -> NDArray[Any]:
    """Decode a JPEG, PNG, WebP, BMP or GIF, told apart by their first bytes.

    Shapes: [h, w, c], of a GIF its first frame; c is 1 to 4, for `channels` None or 0 what is stored.
    Units: `dtype` uint8, uint16 (8 bits times 256, of a PNG times 257) or float32 in [0, 1]; of a PNG all its 16 bits.
    fidelity: of a JPEG, as `decode_jpeg`. allow_truncated: likewise; files of other formats are whole or an error.
    apply_exif_orientation: of a JPEG, PNG or WebP, as `decode_jpeg`.
    Raises: DecodeError: empty, another format, truncated, corrupt, or too large; says which.
    Differs from tf.io.decode_image: no frames of a GIF but the first (its expand_animations=False).
    """
    data, wanted, target = as_bytes("decode_image", contents), channels or 0, as_dtype(dtype)
    check_choice("decode_image: channels", wanted, (0, 1, 2, 3, 4))
    check_choice("decode_image: dtype", target, _DTYPES)
    check_choice("decode_image: fidelity", fidelity, FIDELITIES)
    pixels = _decode(data, wanted, target != np.uint8, allow_truncated, apply_exif_orientation)
    return pixels if pixels.dtype == target else kernels.convert_image_dtype(pixels, target)


def _decode(data: bytes, channels: int, wide: bool, allow_truncated: bool, oriented: bool) -> NDArray[Any]:
    limit = max_image_pixels()
    if data.startswith(b"\xff\xd8"):
        check_choice("decode_image: channels of a JPEG", channels, (0, 1, 3))
        return kernels.decode_jpeg(data, channels, limit, allow_truncated=allow_truncated, oriented=oriented)
    if data.startswith(b"\x89PNG"):
        return kernels.decode_png(data, channels, wide, limit, oriented=oriented)
    return kernels.decode_bitmap(data, channels, limit, oriented=oriented)


@op
def decode_and_crop_jpeg(
    contents: bytes,
    crop_window: Sequence[int],
    channels: int = 0,
    *,
    fidelity: str = "exact",
    allow_truncated: bool = False,
    apply_exif_orientation: bool = False,
) -> NDArray[np.uint8]:
    """Decode a region (top, left, height, width) of a JPEG, and no more of it than that takes.

    Shapes: [height, width, c] uint8: that part of `decode_jpeg`, with the same options, equal to the last bit.
    apply_exif_orientation: the region is one of the upright image.
    Raises: DecodeError: as `decode_jpeg`, or a region not inside the image. Rows below the region are not decoded: that
    the file has an end is checked, other damage there goes unseen.
    """
    check_choice("decode_and_crop_jpeg: channels", channels, (0, 1, 3))
    check_choice("decode_and_crop_jpeg: fidelity", fidelity, FIDELITIES)
    window = tuple(int(side) for side in np.ravel(np.asarray(crop_window)))
    if len(window) != 4 or min(window) < 0:
        raise InvalidArgumentError(
            "decode_and_crop_jpeg: crop_window",
            got=str(crop_window),
            expected="(top, left, height, width), none below 0",
        )
    top, left, height, width = window
    data = as_bytes("decode_and_crop_jpeg", contents)
    return kernels.decode_jpeg_region(
        data,
        (top, left, height, width),
        channels,
        max_image_pixels(),
        allow_truncated=allow_truncated,
        oriented=apply_exif_orientation,
    )


@op
def extract_jpeg_shape(
    contents: bytes, output_type: DTypeLike = np.int32, *, apply_exif_orientation: bool = False
) -> NDArray[Any]:
    """(height, width, channels) of a JPEG, from its header alone; of the upright image if that is asked for.

    Raises: DecodeError: no JPEG, or no header.
    """
    check_choice("extract_jpeg_shape: output_type", as_dtype(output_type), (np.dtype(np.int32), np.dtype(np.int64)))
    shapes, failures = fused.jpeg_shapes([as_bytes("extract_jpeg_shape", contents)], apply_exif_orientation)
    for _, reason in failures:
        raise DecodeError(reason)
    shape: NDArray[Any] = shapes[0].astype(output_type)
    return shape


@op
def encode_jpeg(
    image: ArrayLike,
    quality: int = 95,
    progressive: bool = False,
    optimize_size: bool = False,
    chroma_downsampling: bool = True,
) -> bytes:
    """The bytes of a JPEG. Shapes: image [h, w, 1 or 3] uint8. chroma_downsampling: 4:2:0, otherwise 4:4:4."""
    array = one_image("encode_jpeg", image)
    if (
        array.dtype != np.uint8
        or array.shape[-1] not in (1, 3)
        or not 1 <= min(array.shape) <= max(array.shape) <= 65500
    ):
        raise InvalidArgumentError(
            "encode_jpeg: no JPEG holds it", got=f"{array.dtype} {array.shape}", expected="uint8, [h, w, 1 or 3]"
        )
    if not 1 <= quality <= 100:
        raise InvalidArgumentError("encode_jpeg: quality", got=quality, expected="1 to 100")
    return kernels.encode_jpeg(
        array, quality, progressive=progressive, optimize=optimize_size, halves_chroma=chroma_downsampling
    )


@op
def encode_png(image: ArrayLike, compression: int = -1) -> bytes:
    """The bytes of a PNG. Shapes: image [h, w, 1 to 4] uint8 or uint16. compression: 0 to 9, or -1 for a balance."""
    array = one_image("encode_png", image)
    if array.dtype not in (np.uint8, np.uint16) or not 1 <= array.shape[-1] <= 4 or array.size == 0:
        raise InvalidArgumentError(
            "encode_png: no PNG holds it",
            got=f"{array.dtype} {array.shape}",
            expected="uint8 or uint16, [h, w, 1 to 4]",
        )
    check_choice("encode_png: compression", compression, tuple(range(-1, 10)))
    return kernels.encode_png(array, None if compression < 0 else compression)
