"""One sample as the bytes that a shard holds of it: a tf.train.Example, or the members of a tar file."""

from __future__ import annotations

import io
import tarfile
from collections.abc import Callable
from typing import Any

import numpy as np

from penstock.block.ragged import Ragged
from penstock.cli.convert.sources import Sample, Source, image_format
from penstock.errors import UnsupportedValueError
from penstock.ops.codecs import decode_image, encode_jpeg
from penstock.ops.image import resize
from penstock.ops.serializing import serialize_example

_QUALITY = 95
_EXTENSIONS = {"jpeg": "jpg"}
# What a folder's features are called in WebDataset's convention.
_MEMBERS = {"image/class/label": "cls", "image/class/text": "txt", "image/filename": "filename"}


def encoder(source: Source, kind: str, side: int | None) -> Callable[..., bytes]:
    """What makes, of the number of an element and the element, what `kind` ("tfrecord" or "tar") holds of it."""
    if kind == "tfrecord" and side is None and source.record_of is not None:
        same = source.record_of
        return lambda _, element: same(element)

    def encode(number: Any, *element: Any) -> bytes:
        sample = source.sample_of(*element)
        if side is not None:
            sample = resized(sample, side)
        return as_example(sample) if kind == "tfrecord" else as_members(int(number), sample)

    return encode


def as_example(sample: Sample) -> bytes:
    """Raises: InvalidArgumentError: a value that no Example holds; names it."""
    if list(sample) == ["record"]:
        return bytes(sample["record"])
    return serialize_example({name: _numbers(value) for name, value in sample.items()})


def as_members(number: int, sample: Sample) -> bytes:
    """The members `<number>.<field>` of a tar file, each a header and its bytes."""
    parts = []
    for field, content in _fields(sample).items():
        info = tarfile.TarInfo(f"{number:09d}.{field}")
        info.size = len(content)
        parts += [info.tobuf(tarfile.PAX_FORMAT), content, bytes(-len(content) % tarfile.BLOCKSIZE)]
    return b"".join(parts)


def resized(sample: Sample, side: int) -> dict[str, Any]:
    """The sample, its images as JPEGs whose shorter side is at most `side`; a JPEG that is small enough stays.

    Raises: DecodeError: an image is damaged.
    """
    found: dict[str, Any] = {}
    for name, value in sample.items():
        kind = image_format(value) if isinstance(value, bytes) else None
        if kind is None:
            found[name] = value
        else:
            found["jpg" if name == kind and "jpg" not in sample else name] = _smaller(value, kind, side)
    if "image/format" in found and "image/encoded" in found:
        found["image/format"] = "jpeg"
    return found


def _smaller(content: bytes, kind: str, side: int) -> bytes:
    image = decode_image(content, apply_exif_orientation=True)
    height, width, channels = image.shape
    if min(height, width) <= side and kind == "jpeg":
        return content
    if channels in (2, 4):  # a JPEG holds no transparency
        image = decode_image(content, channels - 1, apply_exif_orientation=True)
    if min(height, width) > side:
        scale = side / min(height, width)
        size = (max(side, round(height * scale)), max(side, round(width * scale)))
        image = np.clip(np.rint(resize(image, size, antialias=True)), 0, 255).astype(np.uint8)
    return encode_jpeg(image, quality=_QUALITY)


def _numbers(value: Any) -> Any:
    """What an Example can hold of it: moments and spans of time as their count."""
    if isinstance(value, Ragged):
        raise UnsupportedValueError(
            "convert: an Example holds no rows of unequal length",
            got=repr(value),
            remedy="leave the column out by --columns",
        )
    array = np.asarray(value)
    return array.astype(np.int64) if array.dtype.kind in "mM" else value


def _fields(sample: Sample) -> dict[str, bytes]:
    found: dict[str, bytes] = {}
    for name, value in sample.items():
        if name == "image/encoded" and isinstance(value, bytes):
            kind = image_format(value) or "img"
            found[_EXTENSIONS.get(kind, kind)] = value
        elif name == "__key__":
            found.setdefault("key", _content(value)[0])
        elif name != "image/format" or "image/encoded" not in sample:
            field = _MEMBERS.get(name, name.replace("/", "."))
            content, suffix = _content(value)
            found[field + suffix] = content
    return found


def _content(value: Any) -> tuple[bytes, str]:
    """A value as bytes, and what to add to the name of its field: numbers as text, arrays as .npy."""
    if isinstance(value, bytes):
        return value, ""
    if isinstance(value, str):
        return value.encode(), ""
    array = np.asarray(value)
    if isinstance(value, Ragged) or array.dtype.kind not in "biufcmM":
        raise UnsupportedValueError(
            "convert: a value that no member holds", got=f"{value!r:.80}", expected="bytes, text, numbers, arrays",
            remedy="convert to TFRecord",
        )  # fmt: skip
    if array.ndim == 0:
        return str(array[()]).encode(), ""
    written = io.BytesIO()
    np.save(written, array, allow_pickle=False)
    return written.getvalue(), ".npy"
