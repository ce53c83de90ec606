"""TFRecord files from start to end: records found in what was read, as they lie, one native call for each piece."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from penstock.block.packed import Packed
from penstock.errors import DecodeError, PenstockError
from penstock.formats.files import LocalFile
from penstock.formats.record_errors import record_error
from penstock.formats.streams import ByteStream
from penstock.kernels.record import HEADER_BYTES, UNKNOWN_LEFT, RecordFault, scan_records

READ_BYTES = 2**20
"""Read at once: each piece is a block, and a block costs the engine as much as some hundred small records."""


@dataclass(frozen=True, slots=True)
class RecordChunk:
    """Some records, what ended them, and what was left out among them or after them."""

    packed: Packed
    error: PenstockError | None = None
    skipped: tuple[PenstockError, ...] = ()


def read_tfrecords(
    file: LocalFile, compression: str, *, verify: bool, skips: bool, chunk_bytes: int, offset: int = 0
) -> Iterator[RecordChunk]:
    """The records of a file as they are read. `offset`: where the first begins, in a file that is not packed.

    `verify`: check the data of each too. `skips`: records with bad data are left out and told, and what cannot be read
    because of a bad length, or an end that comes too soon, too; else the first of these ends the file with its error.
    Raises: ReadError; DecodeError: it cannot be unpacked, and does not skip.
    Cost: one read and one native pass; records are not copied.
    """
    held, wanted = b"", HEADER_BYTES
    with ByteStream(file, compression, offset) as stream:
        while True:
            left = UNKNOWN_LEFT if compression else file.size - offset
            unpacking: DecodeError | None = None
            try:
                data, is_end = _more(stream, held, wanted, chunk_bytes, trusted=not compression)
            except CutError as cut:
                data, is_end, unpacking = cut.data, True, cut.error
            content = np.frombuffer(data, dtype=np.uint8)
            found = scan_records(content, left, verify=verify, skips=skips)
            errors = [record_error(file, fault, offset + fault.at) for fault in found.faults]
            if is_end and not found.ended:
                rest = len(data) - found.consumed
                if unpacking is not None:
                    errors.append(unpacking)
                elif rest:
                    errors.append(record_error(file, RecordFault(offset + found.consumed, "cut", rest, found.wanted)))
            packed = Packed(content, found.starts, found.stops)
            if skips:
                yield RecordChunk(packed, skipped=tuple(errors))
            elif len(found.starts) or errors:
                yield RecordChunk(packed, errors[0] if errors else None)
            if is_end or found.ended or (errors and not skips):
                return
            offset += found.consumed
            held, wanted = data[found.consumed :], found.wanted


class CutError(Exception):
    """A packed file could not be unpacked further; `data` is what came before."""

    def __init__(self, data: bytes, error: DecodeError) -> None:
        super().__init__(str(error))
        self.data = data
        self.error = error


def _more(stream: ByteStream, held: bytes, wanted: int, chunk_bytes: int, *, trusted: bool) -> tuple[bytes, bool]:
    """`held` and what follows it, at least `wanted` bytes; whether the end was reached.

    `trusted`: that many bytes are in the file, so they may be read at once; else memory grows with what comes.
    """
    parts, size = [held], len(held)
    while size < wanted or len(parts) == 1:
        try:
            data = stream.read(max(chunk_bytes, wanted - size) if trusted else chunk_bytes)
        except DecodeError as error:
            raise CutError(b"".join(parts), error) from None
        if not data:
            return b"".join(parts), True
        parts.append(data)
        size += len(data)
    return b"".join(parts), False
