"""JPEG files of any size, drawn once and kept in the temporary folder of this machine."""

from __future__ import annotations

import tempfile
from pathlib import Path

import numpy as np
from PIL import Image

DISTINCT = 8


def photographs(count: int, height: int, width: int) -> list[str]:
    """Paths of `count` photographs, of which eight differ."""
    folder = Path(tempfile.gettempdir(), "penstock-faults", f"{height}x{width}")
    if not folder.exists():
        _draw(folder, height, width)
    names = sorted(map(str, folder.glob("*.jpg")))
    return [names[number % DISTINCT] for number in range(count)]


def _draw(folder: Path, height: int, width: int) -> None:
    """Smooth colours with some grain, about a byte for each four pixels; moved into place when they are whole."""
    folder.parent.mkdir(parents=True, exist_ok=True)
    drawn = Path(tempfile.mkdtemp(dir=folder.parent))
    for number in range(DISTINCT):
        rng = np.random.default_rng(number)
        smooth = np.asarray(Image.fromarray(rng.integers(24, 232, (12, 16, 3), dtype=np.uint8)).resize((width, height)))
        grain = np.resize(rng.integers(0, 25, (257, 1), dtype=np.uint8), (height, width, 1))
        Image.fromarray(smooth + grain).save(drawn / f"{number}.jpg", quality=85)
    try:
        drawn.rename(folder)
    except OSError:  # drawn by another script meanwhile
        if not folder.exists():
            raise
