"""Bytes of local files by range."""

from __future__ import annotations

from penstock import _native


def read_file(path: str, offset: int = 0, length: int | None = None) -> bytes:
    """`length` bytes from `offset`, or all that follow: exactly those, or an error.

    Raises: OSError: missing, unreadable, not a regular file, or shorter than asked.
    Cost: one copy, from the page cache into the result; releases the GIL.
    """
    return _native.read_file(path, offset, length)
