"""Small images for the tests: a photograph, made of waves, and its encodings by Pillow."""

from __future__ import annotations

import io

import numpy as np
from PIL import Image


def photo(height: int = 48, width: int = 64, channels: int = 3) -> np.ndarray:
    """Smooth colours with a little noise: what JPEG is made for."""
    rows, columns = np.mgrid[:height, :width]
    waves = [np.sin(rows / (5 + c)) + np.cos(columns / (7 - c)) for c in range(channels)]
    noise = np.random.default_rng(height * width).normal(0, 4, (height, width, channels))
    return np.clip(np.stack(waves, -1) * 50 + 128 + noise, 0, 255).astype(np.uint8)


def encode(image: np.ndarray | Image.Image, file_format: str, **options: object) -> bytes:
    """The bytes of `image` as a file."""
    pillow = (
        image if isinstance(image, Image.Image) else Image.fromarray(image[..., 0] if image.shape[-1] == 1 else image)
    )
    buffer = io.BytesIO()
    pillow.save(buffer, file_format, **options)
    return buffer.getvalue()


def pillow_decode(data: bytes, mode: str | None = None) -> np.ndarray:
    """The pixels that Pillow reads, [h, w, c]."""
    image = Image.open(io.BytesIO(data))
    array = np.asarray(image if mode is None else image.convert(mode))
    return array if array.ndim == 3 else array[..., None]
