"""Typed faces of the image kernels: any strides, dtype and leading axis in, C-contiguous arrays out.

Arguments are taken as valid (the ops check them, with better words than a kernel could). uint8 and float32 run
natively; the few dtypes beyond go through the slow twin in `reference`, where it gives the same values.
"""

from __future__ import annotations

from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from penstock import _native
from penstock.kernels import reference
from penstock.kernels.fused import LIMIT_PIXELS, fused_pixels

Image = NDArray[Any]


def decode_jpeg(
    data: bytes,
    channels: int = 0,
    limit_pixels: int = LIMIT_PIXELS,
    *,
    allow_truncated: bool = False,
    oriented: bool = False,
) -> NDArray[np.uint8]:
    """Decode a whole JPEG.

    allow_truncated: a file that ends within its pixels gives those before its end, and grey (128) below; nothing else
    that is wrong passes. oriented: upright, as its EXIF orientation says.

    Shapes: [h, w, c] uint8; c is 1 or 3, for `channels` 0 what is stored. CMYK becomes RGB.
    Raises: DecodeError: empty, another format, truncated, corrupt, or more than `limit_pixels` (checked first).
    Cost: 0.8 ms for 500 x 375 on one core (docs/decisions/2026-11-21-jpeg-library.md); releases the GIL.
    Source: libjpeg-turbo, accurate DCT, fancy upsampling; within 2 of the pixels that Pillow gives.
    """
    return _native.decode_jpeg(data, channels, limit_pixels, allow_truncated, oriented)


def decode_png(
    data: bytes, channels: int = 0, wide: bool = False, limit_pixels: int = LIMIT_PIXELS, *, oriented: bool = False
) -> NDArray[np.uint8] | NDArray[np.uint16]:
    """Decode a whole PNG, to uint16 if `wide`; upright by its EXIF if `oriented`.

    Shapes: [h, w, c]; c is 1 to 4, for `channels` 0 what is stored (a palette is 3, or 4 with transparency).
    Units: 16 stored bits become 8 by their upper byte; 8 become 16 times 257.
    Raises: DecodeError: as `decode_jpeg`.
    """
    decode = _native.decode_png_u16 if wide else _native.decode_png_u8
    return decode(data, channels, limit_pixels, oriented)


def decode_jpeg_region(
    data: bytes,
    region: tuple[int, int, int, int],
    channels: int = 0,
    limit_pixels: int = LIMIT_PIXELS,
    *,
    allow_truncated: bool = False,
    oriented: bool = False,
) -> NDArray[np.uint8]:
    """Decode the region (top, left, height, width) of a JPEG: equal to that part of `decode_jpeg`, read no further.

    Raises: DecodeError: as `decode_jpeg`, or a region not inside the image. Rows below the region are not decoded: that
    the file has an end is checked (from its last bytes), other damage there goes unseen.
    """
    return _native.decode_jpeg_region(data, region, channels, limit_pixels, allow_truncated, oriented)


def decode_bitmap(
    data: bytes, channels: int = 0, limit_pixels: int = LIMIT_PIXELS, *, oriented: bool = False
) -> NDArray[np.uint8]:
    """Decode a BMP, the first frame of a GIF, or a WebP (upright by its EXIF if `oriented`).

    Shapes: [h, w, c] uint8; c is 1 to 4, for `channels` 0 what is stored (of a GIF 3, of the others 3 or 4).
    Raises: DecodeError: as `decode_jpeg`.
    """
    return _native.decode_bitmap(data, channels, limit_pixels, oriented)


def encode_jpeg(
    image: NDArray[np.uint8],
    quality: int = 95,
    *,
    progressive: bool = False,
    optimize: bool = False,
    halves_chroma: bool = True,
) -> bytes:
    """The bytes of a JPEG: of one channel or three, 4:2:0 or 4:4:4. Raises: ValueError: no JPEG holds the shape."""
    return _native.encode_jpeg(np.ascontiguousarray(image), quality, progressive, optimize, halves_chroma)


def encode_png(image: NDArray[np.uint8] | NDArray[np.uint16], level: int | None = None) -> bytes:
    """The bytes of a PNG of 1 to 4 channels; `level` of deflate 0 to 9, or None for a balance of size and speed."""
    wide = image.dtype == np.uint16
    samples = np.ascontiguousarray(image, dtype=">u2" if wide else np.uint8)
    return _native.encode_png(samples.view(np.uint8), wide, level)


def resize_bilinear(images: Image, height: int, width: int, antialias: bool = False) -> NDArray[np.float32]:
    """`resize` by the method "bilinear"."""
    return resize(images, height, width, "bilinear", antialias)


def resize(
    images: Image, height: int, width: int, method: str = "bilinear", antialias: bool = False
) -> NDArray[np.float32]:
    """Resize to float32, half-pixel centres, by "bilinear", "bicubic", "lanczos3" or "area" (which has no antialias).

    Shapes: images [..., h, w, c]; result [..., height, width, c]. Dtypes beyond uint8 and float32 pass through float32.
    Cost: one pass over the rows that are needed, as many kept as the filter is high; releases the GIL.
    Source: tf.image.resize; within 1e-4 of its range (tests/unit/kernels/test_image.py).
    """
    if images.dtype not in (np.uint8, np.float32):
        images = images.astype(np.float32)
    resized = _native.resize_by(_four_axes(images), height, width, method, antialias)
    return resized.reshape(*images.shape[:-3], *resized.shape[1:])


def resize_nearest(images: Image, height: int, width: int) -> Image:
    """Resize by taking the nearest pixel, half-pixel centres; any dtype is kept.

    Shapes: images [..., h, w, c]; result [..., height, width, c].
    """
    resized = _native.resize_nearest(_bytes(images), height, width).view(images.dtype)
    return resized.reshape(*images.shape[:-3], *resized.shape[1:])


def flip_left_right(images: Image) -> Image:
    """Mirror the columns of [..., h, w, c]; any dtype."""
    if images.size == 0:
        return images.copy()
    return _native.flip_left_right(_bytes(images)).view(images.dtype).reshape(images.shape)


def crop(images: Image, top: int, left: int, height: int, width: int) -> Image:
    """A C-contiguous copy of a region of [..., h, w, c]; any dtype. A contiguous image is read only where needed."""
    if not images.flags.c_contiguous or images.size == 0:
        return np.array(images[..., top : top + height, left : left + width, :], order="C")
    cropped = _native.crop(_bytes(images), top, left, height, width).view(images.dtype)
    return cropped.reshape(*images.shape[:-3], height, width, images.shape[-1])


def normalize(images: Image, mean: NDArray[np.float64], std: NDArray[np.float64]) -> NDArray[np.float32]:
    """`(value / 255 - mean) / std` of uint8, `(value - mean) / std` of anything else, per channel.

    Shapes: images [..., c]; mean and std [c]. Source: within 3e-7 of (255 + mean) / std of
    kernels.reference.normalize.
    """
    if images.dtype == np.uint8:
        scale, offset = 1.0 / (255.0 * std), -mean / std
        flat = _native.scale_channels(_flat(images), scale.tolist(), offset.tolist())
    else:
        flat = _native.standardize(_flat(images.astype(np.float32, copy=False)), mean.tolist(), std.tolist())
    return flat.reshape(images.shape)


def adjust_brightness(images: Image, delta: float) -> Image:
    """Add `delta` in units of the full range; integers are clamped, floats not. Bit-identical to the reference."""
    if images.dtype == np.uint8:
        table = reference.adjust_brightness(np.arange(256, dtype=np.uint8), delta)
        return _native.map_bytes(_flat(images), table).reshape(images.shape)
    if images.dtype == np.float32:
        return _native.scale_channels(_flat(images), [1.0], [delta]).reshape(images.shape)
    return reference.adjust_brightness(images, delta)


def adjust_contrast(images: Image, factor: float) -> Image:
    """Scale the distance of each value from its channel's mean, in float32; integers are clamped.

    Shapes: images [..., h, w, c]; each its own means. Source: tf.image.adjust_contrast; within 1 for uint8 and 1e-5 of
    the largest value for floats of kernels.reference.
    """
    return _adjust_color("adjust_contrast", images, factor)


def adjust_saturation(images: Image, factor: float) -> Image:
    """Multiply the saturation (of HSV) of RGB pixels, in float32; integers are clamped.

    Shapes: images [..., h, w, 3]. Source: tf.image.adjust_saturation; tolerances as `adjust_contrast`.
    """
    return _adjust_color("adjust_saturation", images, factor)


def adjust_hue(images: Image, delta: float) -> Image:
    """Turn the hue of RGB by `delta` of a full turn, in float32. Source: tf.image.adjust_hue; tolerances as above."""
    return _adjust_color("adjust_hue", images, delta)


def adjust_gamma(images: Image, gamma: float, gain: float) -> Image:
    """`gain * value ** gamma`, integers clamped. Bit-identical to the reference."""
    if images.dtype == np.uint8:
        table = reference.adjust_gamma(np.arange(256, dtype=np.uint8), gamma, gain)
        return _native.map_bytes(_flat(images), table).reshape(images.shape)
    return reference.adjust_gamma(images, gamma, gain)


def rgb_to_grayscale(images: Image) -> Image:
    """The luma of [..., 3] as [..., 1], in float32. Bit-identical to the reference."""
    if images.dtype not in (np.uint8, np.float32):
        return reference.rgb_to_grayscale(images)
    return _native.rgb_to_grey(_flat(images)).reshape(*images.shape[:-1], 1)


def per_image_standardization(images: Image) -> NDArray[np.float32]:
    """Mean 0 and deviation 1 over each [h, w, c], float32. Within 1e-6 of the largest value of the reference."""
    each = _four_axes(images.astype(np.float32, copy=False))
    out = np.empty(each.shape, np.float32)
    for image, target in zip(each, out, strict=True):
        target[...] = _native.standardize_whole(_flat(image)).reshape(image.shape)
    return out.reshape(images.shape)


def _adjust_color(step: str, images: Image, factor: float) -> Image:
    if images.size == 0:
        return images.copy()
    if images.dtype not in (np.uint8, np.float32):
        floats = images if _is_float(images.dtype) else convert_image_dtype(images, np.dtype(np.float32))
        adjusted = _adjust_color(step, floats.astype(np.float32, copy=False), factor)
        return convert_image_dtype(adjusted, images.dtype, saturate=True)
    each = _four_axes(images)
    out = np.empty(each.shape, images.dtype)
    fused_pixels(list(each), out, steps=[(step, [factor] * len(each))])
    return out.reshape(images.shape)


def _is_float(dtype: np.dtype[Any]) -> bool:
    return not np.issubdtype(dtype, np.integer)


def convert_image_dtype(images: Image, dtype: np.dtype[Any], saturate: bool = False) -> Image:
    """Convert between dtypes whose full range is [0, 1] or [0, max]. Bit-identical to the reference."""
    if images.dtype == np.uint8 and dtype == np.float32:
        return _native.scale_channels(_flat(images), [1.0 / 255.0], [0.0]).reshape(images.shape)
    if images.dtype == np.float32 and dtype == np.uint8:
        return _native.floats_to_bytes(_flat(images), saturate).reshape(images.shape)
    return reference.convert_image_dtype(images, dtype, saturate)


def _flat(images: Image) -> Image:
    return np.ascontiguousarray(images).reshape(-1)


def _four_axes(images: Image) -> Image:
    return np.ascontiguousarray(images).reshape(-1, *images.shape[-3:])


def _bytes(images: Image) -> NDArray[np.uint8]:
    return cast("NDArray[np.uint8]", _four_axes(images).view(np.uint8))
