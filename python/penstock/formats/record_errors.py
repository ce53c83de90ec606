"""What is told of a TFRecord file that is damaged: file, byte, what was got and expected, what to do."""

from __future__ import annotations

import os

from penstock.errors import DecodeError, PenstockError, ReadError
from penstock.formats.files import LocalFile
from penstock.kernels.record import RecordFault

_NO_RECORDS = 'is it a TFRecord file? A packed one needs compression_type="GZIP" or "ZLIB"'
_DAMAGED = "the file is damaged: copy or write it anew"


def record_error(file: LocalFile, fault: RecordFault, offset: int | None = None) -> PenstockError:
    """The error for a fault of the record that begins at byte `offset` (None: where the fault says) of the file."""
    at = fault.at if offset is None else offset
    where = f"{file.path}, record at byte {at}"
    got, expected = fault.got, fault.expected
    if fault.kind == "unread":
        reason = os.strerror(got) if got else "it ended early"
        return ReadError("cannot read the file", got=reason, where=where)
    if fault.kind == "length":
        return DecodeError(
            "the checksum of a record's length does not fit", got=f"{got:08x}", expected=f"{expected:08x}, as stored",
            where=where, remedy=_DAMAGED if at else _NO_RECORDS,
        )  # fmt: skip
    if fault.kind == "data":
        return DecodeError(
            "the checksum of a record's data does not fit", got=f"{got:08x}", expected=f"{expected:08x}, as stored",
            where=where,
            remedy=f'{_DAMAGED}; on_error="skip" leaves such records out, verify=False takes them as they are',
        )  # fmt: skip
    if fault.kind == "cut":
        return DecodeError(
            "a record is cut short", got=f"{got} bytes up to the end of the file", expected=f"{expected}", where=where,
            remedy='write the file anew; on_error="skip" takes the records before it',
        )  # fmt: skip
    return DecodeError(
        "a record is not where its index has it", got=f"{got} bytes of data", expected=f"{expected - 16}", where=where,
        remedy="the file was changed under its index, or the index is damaged: remove the index",
    )  # fmt: skip
