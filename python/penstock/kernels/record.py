"""TFRecord framing: records found, checked, read by place, framed.

A record is the length of its data (u64), the masked CRC-32C of those 8 bytes, the data, and its masked CRC-32C, all
little-endian. Every length is checked before it is used; nothing is read past what is there.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from penstock import _native
from penstock.block.packed import Packed
from penstock.kernels.file import FileReader

HEADER_BYTES = 12
FOOTER_BYTES = 4
UNKNOWN_LEFT = 2**64 - 1

Kind = Literal["length", "data", "cut", "other", "unread"]


class RecordFault(NamedTuple):
    """What is wrong with the record at `at`: a byte, or the row of those that were asked for.

    length, data: its checksum is `got`, stored is `expected`. cut: `got` bytes are left, it takes `expected`. other:
    its data has `got` bytes, its place `expected` with the frame. unread: the system's error number is `got`.
    """

    at: int
    kind: Kind
    got: int
    expected: int

    @classmethod
    def of(cls, told: _native.RecordFault | None) -> RecordFault | None:
        """The fault that the native module tells of."""
        return None if told is None else cls(*told)  # type: ignore[arg-type]  # kinds are those above


class FoundRecords(NamedTuple):
    """The records in some bytes: where the data of each lies, how far they were looked through, and what is wrong.

    ended: nothing can follow the last fault. wanted: bytes of the next record, which begins at `consumed`, as far as is
    known.
    """

    starts: NDArray[np.int64]
    stops: NDArray[np.int64]
    consumed: int
    wanted: int
    ended: bool
    faults: Sequence[RecordFault]


def scan_records(data: NDArray[np.uint8], left: int = UNKNOWN_LEFT, *, verify: bool, skips: bool) -> FoundRecords:
    """The records that lie whole in `data`, the first of which begins a record.

    `left`: bytes of the file from there on. `verify`: check the data too. `skips`: leave out records whose data is bad
    and go on; else the first fault ends it.
    Cost: one pass (benchmarks/compare/records.py); releases the GIL.
    """
    starts, stops, consumed, wanted, ended, faults = _native.scan_records(data, left, verify, skips)
    told: list[RecordFault] = [RecordFault(*fault) for fault in faults]  # type: ignore[arg-type]  # as above
    return FoundRecords(starts, stops, consumed, wanted, ended, told)


def record_bounds(file: FileReader, size: int) -> tuple[NDArray[np.uint64], RecordFault | None]:
    """Where each record begins and the last one ends, [records + 1], up to one whose length is wrong.

    Raises: OSError. Cost: a pass over the file; of records above 256 KB only their headers are read.
    """
    bounds, fault = _native.record_bounds(file, size)
    return bounds, RecordFault.of(fault)


def skip_records(file: FileReader, size: int, count: int) -> tuple[int, int]:
    """How many records up to `count` could be passed over, and where the next begins. Raises: OSError."""
    skipped, offset, _ = _native.skip_records(file, size, count)
    return skipped, offset


def read_records(
    files: Sequence[FileReader],
    numbers: NDArray[np.int64],
    starts: NDArray[np.uint64],
    stops: NDArray[np.uint64],
    *,
    verify: bool,
) -> tuple[Packed, RecordFault | None]:
    """Records by their places: row i is from `starts[i]` to `stops[i]` of file `numbers[i]`, its frame among them.

    Gives the rows up to the first that is wrong, and what is wrong with it. Records that follow one another are read at
    once. Raises: OSError, MemoryError. Cost: one copy, from the page cache; releases the GIL.
    """
    data, begins, ends, fault = _native.read_records(files, numbers, starts, stops, verify)
    return Packed(data, begins, ends), RecordFault.of(fault)


def gather_records(
    files: Sequence[NDArray[np.uint8]],
    numbers: NDArray[np.int64],
    starts: NDArray[np.uint64],
    stops: NDArray[np.uint64],
    *,
    verify: bool,
) -> tuple[Packed, RecordFault | None]:
    """As `read_records`, of files that are mapped into memory, [size] each: for records that lie apart.

    Cost: of 600 bytes each, a quarter of reading them one by one (benchmarks/compare/records.py).
    """
    data, bounds, fault = _native.gather_records(files, numbers, starts, stops, verify)
    return Packed(data, bounds[:-1], bounds[1:]), RecordFault.of(fault)


def frame_record(data: bytes) -> tuple[bytes, bytes]:
    """What stands before and after `data` in a file. Cost: one pass; releases the GIL."""
    return _native.frame_record(data)
