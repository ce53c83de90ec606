"""The slow twin of each kernel, in NumPy: what a kernel means, and what its tests compare it with.

`philox` has its twin in `penstock.rng.philox_reference`; `gather_rows` has `numpy.take`, `copy_streamed` assignment, a
crop slicing, a flip `[..., ::-1, :]`, the decoders Pillow (in the tests). Images are [..., h, w, c].
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.kernels.record import FOOTER_BYTES, HEADER_BYTES, UNKNOWN_LEFT, FoundRecords, RecordFault
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


def place_rows(rows: Sequence[NDArray[Any]], starts: NDArray[np.int64], out: NDArray[Any]) -> None:
    """As `kernels.packing.place_rows`, a row at a time."""
    flat = out.reshape(-1)
    for row, start in zip(rows, starts.tolist(), strict=True):
        flat[start : start + row.size] = row.ravel()


def assign_bins(
    lengths: NDArray[np.int64], capacities: NDArray[np.int64], used: NDArray[np.int64], *, fullest: bool
) -> NDArray[np.int64]:
    """As `kernels.packing.assign_bins`, with all bins compared at once for each sequence."""
    held = used.reshape(-1, len(capacities))
    bins_of: list[int] = []
    for sequence in lengths:
        fits = (held + sequence <= capacities).all(axis=1)
        if not fits.any():
            break
        bins_of.append(int(np.argmax(np.where(fits, held.sum(axis=1), -1) if fullest else fits)))
        held[bins_of[-1]] += sequence
    return np.array(bins_of, dtype=np.int64)


def mark_segments(
    starts: NDArray[np.int64],
    lengths: NDArray[np.int64],
    ids: NDArray[np.int32],
    segments: NDArray[np.int32],
    positions: NDArray[np.int32],
) -> None:
    """As `kernels.packing.mark_segments`, a piece at a time."""
    flat_segments, flat_positions = segments.reshape(-1), positions.reshape(-1)
    for start, length, number in zip(starts.tolist(), lengths.tolist(), ids.tolist(), strict=True):
        flat_segments[start : start + length] = number
        flat_positions[start : start + length] = np.arange(length)


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


def gather_windows(
    src: NDArray[np.uint8], windows: tuple[int, int, int], indices: NDArray[np.integer], outs: Sequence[NDArray[Any]]
) -> None:
    """Twin of `kernels.gather.gather_windows`, over bytes."""
    _, stride, width = windows
    rows = iter(indices.tolist())
    for out in outs:
        for place in range(len(out)):
            start = next(rows) * stride
            out[place] = src[start : start + width]


def gather_parts(
    sources: Sequence[Sequence[NDArray[Any]]],
    parts: NDArray[np.integer],
    rows: NDArray[np.integer],
    outs: Sequence[Sequence[NDArray[Any]]],
) -> None:
    """Twin of `kernels.gather.gather_parts`."""
    for arrays, targets in zip(sources, outs, strict=True):
        picked = iter([arrays[part][row] for part, row in zip(parts.tolist(), rows.tolist(), strict=True)])
        for target in targets:
            for place in range(len(target)):
                target[place] = next(picked)


def resize_bilinear(images: NDArray[Any], height: int, width: int, antialias: bool = False) -> NDArray[np.float32]:
    """Resize by a weight matrix for each axis, in float64."""
    down = _resize_weights(images.shape[-3], height, antialias)
    across = _resize_weights(images.shape[-2], width, antialias)
    resized = np.einsum("yh,xw,...hwc->...yxc", down, across, images.astype(np.float64), optimize=True)
    single: NDArray[np.float32] = resized.astype(np.float32)
    return single


def _resize_weights(source: int, target: int, antialias: bool) -> NDArray[np.float64]:
    ratio = source / target
    centres = (np.arange(target) + 0.5) * ratio - 0.5
    if antialias:
        distance = np.abs(np.arange(source) - centres[:, None]) / max(ratio, 1.0)
    else:
        distance = np.abs(np.arange(source) - np.clip(centres, 0, source - 1)[:, None])
    weights = np.maximum(1.0 - distance, 0.0)
    normalised: NDArray[np.float64] = weights / weights.sum(axis=1, keepdims=True)
    return normalised


def resize_nearest(images: NDArray[Any], height: int, width: int) -> NDArray[Any]:
    """Resize by taking the pixel whose centre is nearest."""
    rows, columns = _nearest(images.shape[-3], height), _nearest(images.shape[-2], width)
    return images[..., rows[:, None], columns, :]


def _nearest(source: int, target: int) -> NDArray[np.int64]:
    scale = np.float32(source) / np.float32(target)
    centres = (np.arange(target, dtype=np.float32) + np.float32(0.5)) * scale
    return np.minimum(centres.astype(np.int64), source - 1)


def normalize(images: NDArray[Any], mean: NDArray[np.float64], std: NDArray[np.float64]) -> NDArray[np.float32]:
    """`(value / 255 - mean) / std` of uint8, `(value - mean) / std` of anything else, per channel, in float64."""
    values = images.astype(np.float64)
    if images.dtype == np.uint8:
        values /= 255.0
    normalised: NDArray[np.float32] = ((values - mean) / std).astype(np.float32)
    return normalised


def adjust_brightness(images: NDArray[Any], delta: float) -> NDArray[Any]:
    """Add `delta` in units of the full range, as tf.image.adjust_brightness.

    Integers pass through float32 and are clamped; floats are not.
    """
    if _is_float(images.dtype):
        shifted: NDArray[Any] = images + images.dtype.type(delta)
        return shifted
    floats = convert_image_dtype(images, np.dtype(np.float32)) + np.float32(delta)
    return convert_image_dtype(floats, images.dtype, saturate=True)


def adjust_contrast(images: NDArray[Any], factor: float) -> NDArray[Any]:
    """`(value - mean) * factor + mean` with the mean of each channel of each image, as tf.image.adjust_contrast."""
    floats = convert_image_dtype(images, np.dtype(np.float32)).astype(np.float64)
    means = floats.mean(axis=(-3, -2), keepdims=True)
    return convert_image_dtype(((floats - means) * factor + means).astype(np.float32), images.dtype, saturate=True)


def adjust_saturation(images: NDArray[Any], factor: float) -> NDArray[Any]:
    """Saturation times `factor` within [0, 1], by way of HSV and back, as tf.image.adjust_saturation."""
    hue, saturation, value = rgb_to_hsv(convert_image_dtype(images, np.dtype(np.float32)).astype(np.float64))
    adjusted = hsv_to_rgb(hue, np.clip(saturation * factor, 0.0, 1.0), value)
    return convert_image_dtype(adjusted.astype(np.float32), images.dtype, saturate=True)


def adjust_hue(images: NDArray[Any], delta: float) -> NDArray[Any]:
    """Hue plus `delta` of a turn, by way of HSV and back, as tf.image.adjust_hue."""
    hue, saturation, value = rgb_to_hsv(convert_image_dtype(images, np.dtype(np.float32)).astype(np.float64))
    turned = hsv_to_rgb((hue + delta) % 1.0, saturation, value)
    return convert_image_dtype(turned.astype(np.float32), images.dtype, saturate=True)


def adjust_gamma(images: NDArray[Any], gamma: float, gain: float) -> NDArray[Any]:
    """`gain * value ** gamma` in float32 (float16 for float16), as tf.image.adjust_gamma."""
    is_narrow = images.dtype in (np.float16, np.float32)
    floats = images if is_narrow else convert_image_dtype(images, np.dtype(np.float32))
    adjusted = floats.dtype.type(gain) * floats ** floats.dtype.type(gamma)
    return convert_image_dtype(adjusted, images.dtype, saturate=True)


def rgb_to_grayscale(images: NDArray[Any]) -> NDArray[Any]:
    """0.2989 red + 0.5870 green + 0.1140 blue in float32, as tf.image.rgb_to_grayscale."""
    floats = convert_image_dtype(images, np.dtype(np.float32))
    grey = floats[..., :1] * np.float32(0.2989) + floats[..., 1:2] * np.float32(0.587)
    return convert_image_dtype(grey + floats[..., 2:] * np.float32(0.114), images.dtype)


def per_image_standardization(images: NDArray[Any]) -> NDArray[np.float32]:
    """`(value - mean) / max(deviation, 1 / sqrt(values))` of each image, the two reckoned in float64."""
    floats = images.astype(np.float32)
    axes = (-3, -2, -1)
    mean = floats.mean(axes, dtype=np.float64, keepdims=True).astype(np.float32)
    deviation = floats.std(axes, dtype=np.float64, keepdims=True).astype(np.float32)
    least = np.float32(1.0 / np.sqrt(max(1, int(np.prod(images.shape[-3:])))))
    standard: NDArray[np.float32] = (floats - mean) / np.maximum(deviation, least)
    return standard


def rgb_to_hsv(rgb: NDArray[Any]) -> tuple[NDArray[Any], NDArray[Any], NDArray[Any]]:
    """Hue in [0, 1), saturation and value of [..., 3]. Source: TensorFlow, core/kernels/image/adjust_hsv_gpu.cu.h."""
    red, green, blue = rgb[..., 0], rgb[..., 1], rgb[..., 2]
    value = rgb.max(axis=-1)
    spread = value - rgb.min(axis=-1)
    with np.errstate(divide="ignore", invalid="ignore"):
        saturation = np.where(value > 0, spread / value, 0.0)
        green_or_blue = np.where(green == value, (blue - red) / spread + 2.0, (red - green) / spread + 4.0)
        sixths = np.where(red == value, (green - blue) / spread, green_or_blue)
    hue = np.where(spread > 0, sixths / 6.0, 0.0)
    return hue % 1.0, saturation, value


def hsv_to_rgb(hue: NDArray[Any], saturation: NDArray[Any], value: NDArray[Any]) -> NDArray[Any]:
    """[..., 3] of hue, saturation and value."""
    position = (hue[..., None] * 6.0 + np.array([5.0, 3.0, 1.0])) % 6.0
    share = np.clip(np.minimum(position, 4.0 - position), 0.0, 1.0)
    rgb: NDArray[Any] = value[..., None] * (1.0 - saturation[..., None] * share)
    return rgb


def fused_image(
    image: NDArray[Any],
    *,
    region: tuple[int, int, int, int] | None = None,
    size: tuple[int, int] | None = None,
    antialias: bool = False,
    steps: Sequence[tuple[Any, ...]] = (),
    index: int = 0,
) -> NDArray[Any]:
    """What `fused_pixels` makes of the image with number `index` of its block, step by step."""
    if region is not None:
        top, left, height, width = region
        image = image[top : top + height, left : left + width]
    if size is not None:
        image = resize_bilinear(image, *size, antialias)
    for name, *values in steps:
        image = _STEPS[name](image, *(v[index] if name in _PER_IMAGE else v for v in values))
    return image


_PER_IMAGE = ("flip_left_right", "adjust_brightness", "adjust_contrast", "adjust_saturation", "adjust_hue")
_STEPS: dict[str, Callable[..., NDArray[Any]]] = {
    "flip_left_right": lambda x, flip: x[:, ::-1] if flip else x,
    "round": lambda x: np.clip(np.rint(x), 0, 255).astype(np.uint8),
    "adjust_brightness": adjust_brightness,
    "adjust_contrast": adjust_contrast,
    "adjust_saturation": adjust_saturation,
    "adjust_hue": adjust_hue,
    "convert_image_dtype": lambda x, dtype, saturate: convert_image_dtype(x, np.dtype(dtype), saturate),
    "cast": lambda x, dtype: x.astype(np.int64).astype(dtype) if dtype == "uint8" else x.astype(dtype),
    "affine": lambda x, scale, offset: x.astype(np.float32) * np.float32(scale) + np.float32(offset),
    "multiply": lambda x, values: x * np.float32(values),
    "add": lambda x, values: x + np.float32(values),
    "subtract": lambda x, values: x - np.float32(values),
    "divide": lambda x, values: x / np.float32(values),
    "channels_first": lambda x: np.moveaxis(x, -1, 0),
}


def convert_image_dtype(images: NDArray[Any], dtype: np.dtype[Any], saturate: bool = False) -> NDArray[Any]:
    """Convert between floats of [0, 1] and integers of [0, max], as tf.image.convert_image_dtype.

    Units: integers widen and narrow by powers of two; floats become integers times `max + 0.5`, cut towards zero.
    """
    if images.dtype == dtype:
        return images.copy()
    source_float, target_float = _is_float(images.dtype), _is_float(dtype)
    if source_float and target_float:
        return images.astype(dtype)
    if target_float:
        scaled: NDArray[Any] = images.astype(dtype) * np.asarray(1.0 / np.iinfo(images.dtype).max, dtype)
        return scaled
    limits = np.iinfo(dtype)
    if source_float:
        return _cut(images * np.asarray(limits.max + 0.5, images.dtype), dtype, saturate)
    return _rescale_integers(images, dtype, saturate)


def _rescale_integers(images: NDArray[Any], dtype: np.dtype[Any], saturate: bool) -> NDArray[Any]:
    source_max, target_max = int(np.iinfo(images.dtype).max), int(np.iinfo(dtype).max)
    if source_max > target_max:
        return _cut(images // images.dtype.type((source_max + 1) // (target_max + 1)), dtype, saturate)
    widened: NDArray[Any] = _cut(images, dtype, saturate) * dtype.type((target_max + 1) // (source_max + 1))
    return widened


def _cut(values: NDArray[Any], dtype: np.dtype[Any], saturate: bool) -> NDArray[Any]:
    """To integers, towards zero; NaN is 0.

    Out of range: clamped if `saturate`, else cut to int32 (int64 for targets of 32 bits or more), whose low bits stay.
    """
    limits = np.iinfo(dtype)
    if values.dtype.kind in "iu":
        if saturate:
            source = np.iinfo(values.dtype)
            values = np.clip(values, max(limits.min, source.min), min(limits.max, source.max))
        return values.astype(dtype)
    low, high = float(limits.min), float(limits.max)
    if not saturate:
        high = 2.0 ** (31 if dtype.itemsize <= 2 else 63)
        low = -high
    if not saturate or high > limits.max:  # float64 rounds the largest int64 up
        high = float(np.nextafter(high, 0.0))
    whole = np.clip(np.nan_to_num(values.astype(np.float64), nan=0.0), low, high)
    return whole.astype(dtype) if saturate else whole.astype(np.int64).astype(dtype)


def _is_float(dtype: np.dtype[Any]) -> bool:
    return not np.issubdtype(dtype, np.integer)


def masked_crc(data: bytes) -> int:
    """CRC-32C (Castagnoli, reflected 0x82F63B78), bit by bit; turned by 15 and a constant added, as TFRecord has it."""
    crc = 0xFFFFFFFF
    for byte in data:
        crc ^= byte
        for _ in range(8):
            crc = crc >> 1 ^ (0x82F63B78 if crc & 1 else 0)
    crc ^= 0xFFFFFFFF
    return ((crc >> 15 | crc << 17) + 0xA282EAD8) & 0xFFFFFFFF


def frame_record(data: bytes) -> tuple[bytes, bytes]:
    """As `kernels.record.frame_record`."""
    length = len(data).to_bytes(8, "little")
    return length + masked_crc(length).to_bytes(4, "little"), masked_crc(data).to_bytes(4, "little")


def scan_records(content: bytes, left: int = UNKNOWN_LEFT, *, verify: bool, skips: bool) -> FoundRecords:
    """As `kernels.record.scan_records`, over bytes."""
    starts: list[int] = []
    stops: list[int] = []
    faults: list[RecordFault] = []
    at, wanted, ended = 0, 0, False
    while not ended:
        header = content[at : at + HEADER_BYTES]
        if len(header) < HEADER_BYTES:
            wanted = HEADER_BYTES
            break
        computed, stored = masked_crc(header[:8]), int.from_bytes(header[8:], "little")
        taken = min(int.from_bytes(header[:8], "little") + HEADER_BYTES + FOOTER_BYTES, UNKNOWN_LEFT)
        if computed != stored:
            faults.append(RecordFault(at, "length", computed, stored))
            ended = True
        elif taken > max(0, left - at):
            faults.append(RecordFault(at, "cut", max(0, left - at), taken))
            ended = True
        elif at + taken > len(content):
            wanted = taken
            break
        else:
            begin, end = at + HEADER_BYTES, at + taken - FOOTER_BYTES
            computed, stored = masked_crc(content[begin:end]), int.from_bytes(content[end : at + taken], "little")
            if not verify or computed == stored:
                starts.append(begin)
                stops.append(end)
            else:
                faults.append(RecordFault(at, "data", computed, stored))
                ended = not skips
            at += 0 if ended else taken
    return FoundRecords(np.array(starts, np.int64), np.array(stops, np.int64), at, wanted, ended, faults)
