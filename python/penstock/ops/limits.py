"""How many pixels a header may claim: `Options.max_image_pixels` of the pipeline that this thread works for.

Ops are called by the user's functions, which know nothing of options; so the limit is said around them, by thread.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager

from penstock.kernels.fused import LIMIT_PIXELS


class _Limits(threading.local):
    pixels: int = LIMIT_PIXELS


_limits = _Limits()


@contextmanager
def image_limit(pixels: int | None) -> Iterator[None]:
    """While open, decoders of this thread refuse images of more than `pixels`; None changes nothing."""
    previous = _limits.pixels
    if pixels is not None:
        _limits.pixels = pixels
    try:
        yield
    finally:
        _limits.pixels = previous


def max_image_pixels() -> int:
    """The limit of the pipeline this thread works for; outside of one, the default."""
    return _limits.pixels
