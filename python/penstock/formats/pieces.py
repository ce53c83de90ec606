"""Elements of several files, one file after another: which file a position is in, and the files, opened when needed."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence

import numpy as np

from penstock.block.columns import Column, Indices
from penstock.formats.files import LocalFile, PieceFile
from penstock.formats.store import Memory


class OpenPieces:
    """`counts`: elements of each file."""

    def __init__(self, files: Sequence[LocalFile], counts: Sequence[int]) -> None:
        self._files = files
        self._stops = np.cumsum(counts, dtype=np.int64)
        self._starts = self._stops - np.asarray(counts, dtype=np.int64)
        self._lock = threading.Lock()
        self._opened: dict[int, PieceFile] = {}

    def by_file(self, positions: Indices) -> Iterator[tuple[int, Indices, Indices]]:
        """For each file that is needed: its number, places in `positions`, and the elements' numbers in it."""
        numbers = np.searchsorted(self._stops, positions, side="right")
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            yield number, places, positions[places] - self._starts[number]

    def file(self, number: int) -> PieceFile:
        """File `number`. Raises: ReadError: missing, or changed."""
        with self._lock:
            if number not in self._opened:
                self._opened[number] = PieceFile(self._files[number])
            return self._opened[number]

    def read_batches(self, positions: Indices, counts: Indices, memory: Memory) -> tuple[Column, ...] | None:
        """None: rows are Python objects on their own."""
        return None
