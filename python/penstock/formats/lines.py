r"""Text files as lines: what stands between newlines, without them, and without a carriage return before them.

Bytes after the last newline are a line too; nothing after it is none. A line is bytes, or text in an encoding.
"""

from __future__ import annotations

import codecs
from collections.abc import Iterator
from typing import Any

import numpy as np

from penstock.block.packed import Packed
from penstock.errors import DecodeError, InvalidArgumentError
from penstock.formats.files import LocalFile
from penstock.formats.streams import ByteStream

_NEWLINE, _RETURN = b"\n\r"


def require_encoding(verb: str, encoding: Any, where: Any) -> str | None:
    """The name of an encoding in which a newline is one byte and no part of another character; None stays None."""
    if encoding is None:
        return None
    try:
        known = codecs.lookup(encoding)
        if known.encode("a\n")[0] == b"a\n":
            return str(encoding)
    except (LookupError, TypeError):
        pass
    raise InvalidArgumentError(
        f"{verb}: encoding", got=repr(encoding), expected='"utf-8", or another that keeps newlines as one byte',
        where=where,
    )  # fmt: skip


def read_pieces(file: LocalFile, compression: str, chunk_bytes: int) -> Iterator[Packed]:
    """The lines of a file as they are read, in bytes, none taken out of what it lies in.

    Raises: ReadError, DecodeError: the file cannot be read or unpacked. Cost: some 10 ns a line.
    """
    unfinished: list[bytes] = []
    with ByteStream(file, compression) as stream:
        while chunk := stream.read(chunk_bytes):
            last = chunk.rfind(b"\n")
            if last < 0:
                unfinished.append(chunk)
                continue
            yield _pieces(b"".join([*unfinished, chunk[: last + 1]]))
            unfinished = [chunk[last + 1 :]]
    rest = b"".join(unfinished)
    if rest:
        yield _pieces(rest)


def _pieces(whole: bytes) -> Packed:
    content = np.frombuffer(whole, dtype=np.uint8)
    ends = np.flatnonzero(content == _NEWLINE)
    starts = np.append(0, ends + 1)
    if whole.endswith(b"\n"):
        starts = starts[:-1]
    else:
        ends = np.append(ends, len(whole))
    if b"\r" in whole:
        ends = ends - ((ends > starts) & (content[np.maximum(ends - 1, 0)] == _RETURN))
    return Packed(content, starts, ends)


def read_lines(
    file: LocalFile, compression: str, encoding: str, chunk_bytes: int
) -> Iterator[tuple[list[str], DecodeError | None]]:
    """The lines of a file as text, in lists, as they are read; the last may come with the error that ends them.

    Raises: ReadError, DecodeError: the file cannot be read or unpacked. Cost: one list a chunk, some 50 ns a line.
    """
    for lines, number, offset in raw_lines(file, compression, chunk_bytes):
        yield _finished(file, lines, encoding, number, offset)


def raw_lines(file: LocalFile, compression: str, chunk_bytes: int) -> Iterator[tuple[list[bytes], int, int]]:
    """The lines of a file as they are read, carriage returns and all; the number of the first, and where it begins.

    Raises: as `read_lines`.
    """
    number, offset = 1, 0
    unfinished: list[bytes] = []
    with ByteStream(file, compression) as stream:
        while chunk := stream.read(chunk_bytes):
            if b"\n" not in chunk:
                unfinished.append(chunk)
                continue
            lines = b"".join([*unfinished, chunk]).split(b"\n")
            unfinished = [lines.pop()]
            yield lines, number, offset
            number += len(lines)
            offset += sum(map(len, lines)) + len(lines)
    rest = b"".join(unfinished)
    if rest:
        yield [rest], number, offset


def _finished(
    file: LocalFile, lines: list[bytes], encoding: str, number: int, offset: int
) -> tuple[list[str], DecodeError | None]:
    """Lines without carriage returns, decoded; the error of the first that cannot be."""
    texts: list[str] = []
    try:
        for line in lines:
            texts.append(line.decode(encoding))  # noqa: PERF401  # those before one that fails are kept
    except UnicodeDecodeError as error:
        place = offset + sum(map(len, lines[: len(texts)])) + len(texts) + error.start
        return _stripped(texts), not_text(file, encoding, error, number + len(texts), place)
    return _stripped(texts), None


def _stripped(texts: list[str]) -> list[str]:
    return [text.removesuffix("\r") for text in texts]


def not_text(file: LocalFile, encoding: str, error: UnicodeDecodeError, line: int, offset: int) -> DecodeError:
    """The error for bytes that are no text: file, line and byte offset."""
    got = " ".join(f"{byte:02x}" for byte in error.object[error.start : error.start + 4])
    return DecodeError(
        f"invalid {encoding}: {error.reason}", got=got, where=f"{file.path}, line {line}, byte {offset}",
        remedy='leave encoding out for bytes, or say the one it is in (encoding="latin-1")',
    )  # fmt: skip
