"""Bytes of local files by range."""

from __future__ import annotations

from penstock import _native

FileReader = _native.FileReader
"""A regular file, open for as long as the object lives: pieces of it and the bounds of its lines, without the GIL.

`read_pieces(starts, lengths, is_line)` gives bytes objects, of lines without their end; pieces that follow one another
are read at once. `line_bounds()` says where each line begins and the last one ends, [lines + 1] uint64.
Raises: OSError: missing, unreadable, not a regular file, or shorter than asked.
"""


def read_file(path: str, offset: int = 0, length: int | None = None) -> bytes:
    """`length` bytes from `offset`, or all that follow: exactly those, or an error.

    Raises: OSError: missing, unreadable, not a regular file, or shorter than asked.
    Cost: one copy, from the page cache into the result; releases the GIL.
    """
    return _native.read_file(path, offset, length)


def read_totals() -> tuple[float, int]:
    """Seconds in calls that read files here, and bytes read, of the calling thread since it began. Cost: 0.1 us."""
    return _native.read_totals()
