"""TFRecords of several files by their places: read where they follow one another, else gathered from mapped files."""

from __future__ import annotations

import threading
from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from penstock.block.packed import Packed
from penstock.formats.files import LocalFile, MappedFile, PieceFile
from penstock.kernels.record import RecordFault, gather_records, read_records

_MAPPED_BELOW_BYTES = 16 * 1024
"""Runs of records shorter than this cost more to ask the system for than to copy from a map."""


class RecordPlaces:
    """The records of some files. Files are opened, and mapped, when they are first read; for several threads."""

    def __init__(self, files: Sequence[LocalFile]) -> None:
        self._files = files
        self._lock = threading.Lock()
        self._pieces: dict[int, PieceFile] = {}
        self._maps: dict[int, MappedFile] = {}

    def read(
        self, numbers: NDArray[np.int64], starts: NDArray[np.uint64], stops: NDArray[np.uint64], *, verify: bool
    ) -> tuple[Packed, RecordFault | None]:
        """Row i: the data of the record from `starts[i]` to `stops[i]` of file `numbers[i]`.

        Gives the rows up to the first that is wrong, and what is wrong with it. One native call for all of them.
        Raises: ReadError: a file has changed, or cannot be read.
        """
        used, within = np.unique(numbers, return_inverse=True)
        within = within.astype(np.int64, copy=False)
        breaks = (starts[1:] != stops[:-1]) | (numbers[1:] != numbers[:-1])
        runs = 1 + int(np.count_nonzero(breaks))
        nbytes = int(stops.sum(dtype=np.float64) - starts.sum(dtype=np.float64))
        if runs * _MAPPED_BELOW_BYTES <= nbytes:
            readers = [self._piece(number).checked() for number in used.tolist()]
            return read_records(readers, within, starts, stops, verify=verify)
        views = [self._map(number).view() for number in used.tolist()]
        return gather_records(views, within, starts, stops, verify=verify)

    def _piece(self, number: int) -> PieceFile:
        with self._lock:
            if number not in self._pieces:
                self._pieces[number] = PieceFile(self._files[number])
            return self._pieces[number]

    def _map(self, number: int) -> MappedFile:
        with self._lock:
            if number not in self._maps:
                self._maps[number] = MappedFile(self._files[number], is_scattered=True)
            return self._maps[number]
