"""Records of one length, between a header and a footer."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from penstock.errors import DecodeError
from penstock.formats.files import LocalFile
from penstock.formats.streams import ByteStream


@dataclass(frozen=True, slots=True)
class RecordLayout:
    """Bytes of a record, and of what stands before the first and after the last."""

    record_bytes: int
    header_bytes: int
    footer_bytes: int

    def count(self, file: LocalFile) -> int:
        """Records of an unpacked file. Raises: DecodeError: its size does not fit. An empty file has none."""
        if not file.size:
            return 0
        return self._count(file, file.size)

    def _count(self, file: LocalFile, size: int) -> int:
        body = size - self.header_bytes - self.footer_bytes
        if body < 0 or body % self.record_bytes:
            raise DecodeError(
                "the size of the file does not fit", got=f"{size} bytes",
                expected=f"a multiple of record_bytes={self.record_bytes} and {self.header_bytes + self.footer_bytes} "
                "of header and footer",
                where=file.path,
            )  # fmt: skip
        return body // self.record_bytes


def read_records(file: LocalFile, compression: str, layout: RecordLayout, chunk_bytes: int) -> Iterator[list[bytes]]:
    """The records of a packed file in lists, as they are read.

    Raises: DecodeError: the unpacked size does not fit, told when its end is reached.
    """
    size = layout.record_bytes
    total, held = 0, b""
    to_skip = layout.header_bytes
    with ByteStream(file, compression) as stream:
        while data := stream.read(max(chunk_bytes, size)):
            total += len(data)
            gone = min(to_skip, len(data))
            to_skip -= gone
            held = held + data[gone:] if gone else held + data
            whole = max(0, len(held) - layout.footer_bytes) // size * size
            if whole:
                yield [held[start : start + size] for start in range(0, whole, size)]
                held = held[whole:]
    if total:
        layout._count(file, total)
