"""Elements looked at: what each feature is like over the first ones, a few as text, and pictures of images."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from penstock.block.collate import leaf_spec
from penstock.block.ragged import Ragged
from penstock.block.spec import Spec
from penstock.block.tree import structure_of
from penstock.dataset import Dataset
from penstock.errors import PenstockError
from penstock.units import format_bytes

_MOST = 1000
_SECONDS = 3.0
_BYTES = 128 * 2**20
_PICTURE = 128
_LONGEST = 60


@dataclass(slots=True)
class Feature:
    """One leaf over the elements that were looked at."""

    name: str
    spec: Spec
    sizes: list[int] = field(default_factory=list)
    least: float = np.inf
    most: float = -np.inf

    def add(self, value: Any) -> None:
        self.spec = self.spec.merge(leaf_spec(value))
        self.sizes.append(nbytes_of(value))
        flat = value.flat_values if isinstance(value, Ragged) else np.asarray(value)
        if flat.dtype.kind in "biuf" and flat.size:
            self.least = min(self.least, float(flat.min()))
            self.most = max(self.most, float(flat.max()))

    @property
    def size_text(self) -> str:
        """Bytes of an element: one number, or from, to and the middle."""
        low, high = min(self.sizes), max(self.sizes)
        if low == high:
            return format_bytes(low)
        middle = format_bytes(float(np.median(self.sizes)))
        return f"{format_bytes(low)} to {format_bytes(high)}, median {middle}"

    @property
    def range_text(self) -> str:
        """The smallest and the largest number, "" where there is none."""
        return f"{self.least:g} to {self.most:g}" if self.least <= self.most else ""


@dataclass(frozen=True, slots=True)
class Look:
    """Features over the first `count` elements, and the first few whole: (name, value) of each leaf."""

    count: int
    features: tuple[Feature, ...]
    samples: tuple[tuple[tuple[str, Any], ...], ...]


def look_at(dataset: Dataset, samples: int, show: Callable[[Any], Any] | None = None) -> Look:
    """Read up to 1000 elements, 128 MB or 3 seconds. Elements may differ in what features they have.

    show: what to look at of each. Raises: whatever reading them does.
    """
    features: dict[str, Feature] = {}
    kept: list[tuple[tuple[str, Any], ...]] = []
    count = nbytes = 0
    deadline = time.monotonic() + _SECONDS
    with dataset.iterator(0) as elements:
        for element in elements:
            shown = element if show is None else show(element)
            structure = structure_of(shown)
            leaves = tuple(zip(structure.names(), structure.flatten(shown), strict=True))
            for name, leaf in leaves:
                feature = features.setdefault(name, Feature(name, leaf_spec(leaf)))
                feature.add(leaf)
                nbytes += feature.sizes[-1]
            if len(kept) < samples:
                kept.append(leaves)
            count += 1
            if count >= _MOST or nbytes > _BYTES or (time.monotonic() > deadline and len(kept) >= samples):
                break
    return Look(count, tuple(features.values()), tuple(kept))


def nbytes_of(value: Any) -> int:
    """Bytes of a leaf; of text in UTF-8."""
    if isinstance(value, str):
        return len(value.encode("utf-8", "surrogatepass"))
    if isinstance(value, bytes):
        return len(value)
    if isinstance(value, np.ndarray) and value.dtype.kind == "O":
        return sum(nbytes_of(part) for part in value.ravel().tolist())
    return int(getattr(value, "nbytes", 8))


def text_of(value: Any) -> str:
    """A leaf on part of a line."""
    if isinstance(value, bytes):
        text = f"{format_bytes(len(value))}: {value[:12]!r}{'...' if len(value) > 12 else ''}"
    elif isinstance(value, str):
        text = repr(value)
    elif isinstance(value, Ragged) or np.ndim(value):
        array = value.flat_values if isinstance(value, Ragged) else np.asarray(value)
        shape = "x".join("?" if size is None else str(size) for size in value.shape)
        few = ", ".join(str(part) for part in array.ravel()[:6].tolist())
        text = f"[{shape}] {few}{', ...' if array.size > 6 else ''}"
    else:
        text = str(value)
    return text if len(text) <= _LONGEST + 30 else f"{text[:_LONGEST]}..."


def picture_of(value: Any) -> bytes | None:
    """A leaf as a small PNG, where it is an image: an encoded one, or uint8 of one or three channels."""
    from penstock.ops.codecs import decode_image, encode_png
    from penstock.ops.image import resize

    if isinstance(value, bytes):
        if not value.startswith((b"\xff\xd8\xff", b"\x89PNG")):
            return None
        try:
            value = decode_image(value, channels=3)
        except PenstockError:
            return None
    if not isinstance(value, np.ndarray) or value.dtype != np.uint8 or value.ndim not in (2, 3):
        return None
    image = value[:, :, np.newaxis] if value.ndim == 2 else value
    height, width, channels = image.shape
    if channels not in (1, 3) or min(height, width) < 4:
        return None
    scale = min(1.0, _PICTURE / max(height, width))
    if scale < 1:
        small = resize(np.ascontiguousarray(image), (max(1, round(height * scale)), max(1, round(width * scale))))
        image = np.clip(np.rint(small), 0, 255).astype(np.uint8)
    return bytes(encode_png(np.ascontiguousarray(image)))
