"""The members of a tar archive in order: name, where the data lies, how much of it. ustar, GNU and pax, from a stream.

Not by tarfile, which ends in silence at a broken header, so that the rest of a shard is lost, and reads as much as a
header claims. Here that is an error with file and offset, no header may claim more than its limit, and data is not read
unless asked for. The two agree on every archive that is whole (tests/unit/formats/test_tar.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Protocol

from penstock.errors import DecodeError

BLOCK = 512
MAX_EXTENSION_BYTES = 2**20
"""What a long name or a list of attributes may take."""
_DAMAGED = 'the archive is damaged: copy or write it anew; on_error="skip" takes the samples before it'

_NOT_SPARSE = "write the archive without --sparse"

_NO_DATA = frozenset(b"123456")  # links, devices, folders, pipes
_ZEROS = bytes(BLOCK)


class Source(Protocol):
    """Bytes in order."""

    @property
    def name(self) -> str:
        """For errors."""

    @property
    def offset(self) -> int:
        """Of the next byte."""

    def read(self, size: int) -> bytes:
        """`size` bytes, fewer only at the end."""

    def skip(self, size: int) -> int:
        """Pass over `size` bytes; how many there were."""

    def finish(self) -> None:
        """Read what is packed to its end, where its checksum is. Raises: DecodeError: it does not fit."""


@dataclass(frozen=True, slots=True)
class Member:
    """A file in an archive: `size` bytes from `offset` on. `start`: of its header."""

    name: str
    offset: int
    size: int
    start: int


def members(source: Source) -> Iterator[Member]:
    """The regular files of an archive. After each, its data is read or passed over, as the caller likes.

    Raises: DecodeError: a header that is none, cut short, or claims what cannot be; no archive at all.
    """
    name: str | None = None
    size: int | None = None
    first = True
    while True:
        start = source.offset
        header = source.read(BLOCK)
        if first and not header:
            raise _broken(source, start, "the archive is empty", remedy="write it anew")
        if not header or header == _ZEROS:
            return
        if len(header) < BLOCK:
            raise _broken(source, start, "a header is cut short", f"{len(header)} bytes", str(BLOCK))
        _check(source, start, header)
        first = False
        kind = header[156]
        own = _number(source, start, header[124:136])
        if kind in b"LKxXg":
            content = _extension(source, start, own)
            if kind == ord("L"):
                name = content.split(b"\0", 1)[0].decode("utf-8", "surrogateescape")
            elif kind in b"xX":
                said, size = _attributes(source, start, content, size)
                name = said if said is not None else name
            continue
        if kind == ord("S"):
            raise _broken(source, start, "a sparse file", expected="whole ones", remedy=_NOT_SPARSE)
        found = name if name is not None else _name(header)
        length = size if size is not None else own
        name = size = None
        if kind in _NO_DATA or (kind == 0 and found.endswith("/")):
            continue
        member = Member(found, source.offset, length, start)
        end = member.offset + -(-length // BLOCK) * BLOCK
        if kind in b"0\x007":
            yield member
        _pass_over(source, member, end)


def _pass_over(source: Source, member: Member, end: int) -> None:
    """Go on behind the data of a member, and behind what fills its last block."""
    missing = end - source.offset
    if missing and source.skip(missing) < missing and source.offset < member.offset + member.size:
        raise cut_short(source.name, member, source.offset - member.offset)


def cut_short(path: str, member: Member, got: int) -> DecodeError:
    """The error for a member whose data ends early."""
    return DecodeError(
        f"member {member.name!r} is cut short", got=f"{got} bytes", expected=f"{member.size}, as its header says",
        where=f"{path}, byte {member.start}", remedy=_DAMAGED,
    )  # fmt: skip


def _broken(
    source: Source,
    start: int,
    what: str,
    got: str | None = None,
    expected: str | None = None,
    *,
    remedy: str = _DAMAGED,
) -> DecodeError:
    return DecodeError(what, got=got, expected=expected, where=f"{source.name}, byte {start}", remedy=remedy)


def _check(source: Source, start: int, header: bytes) -> None:
    """Raises: DecodeError: the sum of the header's bytes is not the one it holds."""
    said = header[148:156]
    unsigned = sum(header) - sum(said) + 8 * 32
    expected = _octal(said)
    if expected == unsigned:
        return
    signed = unsigned - 256 * sum(byte > 127 for byte in header[:148] + header[156:])  # as old programs counted
    if expected != signed:
        remedy = _DAMAGED if start else "is it a tar archive? A packed one ends with .tgz or .tar.gz"
        raise _broken(source, start, "not a tar header", f"checksum {said!r}", f"{unsigned:o}", remedy=remedy)


def _octal(field: bytes) -> int | None:
    text = field.replace(b"\0", b" ").strip()
    if not text:
        return 0
    return int(text, 8) if all(48 <= byte < 56 for byte in text) else None


def _number(source: Source, start: int, field: bytes) -> int:
    """A size: octal digits, or, after a byte 0x80, a number of base 256."""
    number = int.from_bytes(field[1:], "big") if field[0] == 0x80 else _octal(field)
    if number is None or number >= 2**63:
        raise _broken(source, start, "a size that is none", repr(field), "octal digits")
    return number


def _name(header: bytes) -> str:
    name = header[:100].split(b"\0", 1)[0]
    if header[257:263] == b"ustar\0" and (prefix := header[345:500].split(b"\0", 1)[0]):
        name = prefix + b"/" + name
    return name.decode("utf-8", "surrogateescape")


def _extension(source: Source, start: int, size: int) -> bytes:
    """What stands behind a header that speaks of the next one."""
    if size > MAX_EXTENSION_BYTES:
        raise _broken(
            source, start, "a header extension is too long", f"{size} bytes", f"at most {MAX_EXTENSION_BYTES}"
        )
    content = source.read(size)
    padding = -size % BLOCK
    if len(content) < size or source.skip(padding) < padding:
        raise _broken(source, start, "a header extension is cut short", f"{len(content)} bytes", f"{size}")
    return content


def _attributes(source: Source, start: int, content: bytes, size: int | None) -> tuple[str | None, int | None]:
    """Name and size among pax attributes, each written as length, key and value with a line end."""
    name: str | None = None
    place = 0
    while place < len(content) and content[place]:
        digits, _, _ = content[place : place + 20].partition(b" ")
        length = int(digits) if digits.isdigit() else 0
        record = content[place : place + length]
        key, mark, value = record[len(digits) + 1 :].partition(b"=")
        if length < len(digits) + 3 or len(record) < length or not mark or not value.endswith(b"\n"):
            raise _broken(source, start, "pax attributes that are none", repr(content[place : place + 40]))
        if key == b"path":
            name = value[:-1].decode("utf-8", "surrogateescape")
        elif key == b"size":
            if not value[:-1].isdigit() or len(value) > 20 or int(value) >= 2**63:
                raise _broken(source, start, "a size that is none", repr(value[:40]), "digits")
            size = int(value)
        elif key.startswith(b"GNU.sparse"):
            raise _broken(source, start, "a sparse file", expected="whole ones", remedy=_NOT_SPARSE)
        place += length
    return name, size
