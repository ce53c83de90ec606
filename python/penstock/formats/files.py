"""Files as a dataset holds them: a path and a size, opened when first read, found changed before they mislead.

A file is measured when the dataset is made. Law: bytes are never read from a file of another size than was measured,
nor from an object behind a URL whose ETag or time of change is another.
"""

from __future__ import annotations

import io
import mmap
import os
import stat
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from penstock.errors import InvalidArgumentError, ReadError
from penstock.kernels.file import FileReader
from penstock.kernels.record import RecordFault, record_bounds, skip_records
from penstock.storage.client import ObjectFacts
from penstock.storage.meter import metered
from penstock.storage.objects import facts_of
from penstock.storage.stream import ObjectStream
from penstock.storage.url import is_remote, require_known, shown


@dataclass(frozen=True, slots=True)
class LocalFile:
    """A regular file, and its size in bytes when it was measured."""

    path: str
    size: int

    @property
    def source(self) -> str:
        """What to give to whoever opens it: the path, or the URL."""
        return self.path

    def check(self, size: int) -> None:
        """Raises: ReadError: its size is now another."""
        if size != self.size:
            raise ReadError(
                "the file has changed since the dataset was made",
                got=f"{size} bytes", expected=f"{self.size} bytes", where=self.path,
                remedy="make the dataset anew, and write files elsewhere before moving them into place",
            )  # fmt: skip

    def changed_ns(self) -> int:
        """When it was last changed. Raises: ReadError: it is gone."""
        try:
            return os.stat(self.path).st_mtime_ns
        except OSError as error:
            raise unreadable(self.path, error) from error


@dataclass(frozen=True, slots=True)
class RemoteFile(LocalFile):
    """An object behind a URL, and what described it when it was measured. `path`: the URL as it may be shown."""

    url: str = ""
    etag: str | None = None
    modified_s: float = 0.0

    @property
    def facts(self) -> ObjectFacts:
        """As storage knows it."""
        return ObjectFacts(self.size, self.etag, self.modified_s)

    @property
    def source(self) -> str:
        return self.url


class Stream(Protocol):
    """Bytes in order."""

    def read(self, size: int = -1, /) -> bytes:
        """Up to `size` bytes; none at the end."""

    def close(self) -> None:
        """Give up what is open."""


def opened(file: LocalFile, start: int = 0) -> Stream:
    """The bytes of `file` from byte `start` on. Raises: ReadError: missing, or another than was measured.

    Of an object, pieces to come are read ahead; that it has changed is told when they are read.
    """
    if isinstance(file, RemoteFile):
        return ObjectStream(file.url, file.facts, start)
    stream = open(file.path, "rb", buffering=0)  # noqa: SIM115  # closed by whoever asked for it
    try:
        file.check(os.fstat(stream.fileno()).st_size)
    except ReadError:
        stream.close()
        raise
    stream.seek(start)
    return _MeteredFile(stream)


class _MeteredFile:
    """A local file whose reads are counted."""

    def __init__(self, file: io.FileIO) -> None:
        self._file = file

    def read(self, size: int = -1, /) -> bytes:
        return metered(self._file.read, size)

    def close(self) -> None:
        self._file.close()


def measured(path: str) -> LocalFile:
    """The file at `path` as it is now; of a URL, a RemoteFile.

    Raises: ReadError: missing, a directory, or no regular file.
    """
    return measured_all([path])[0]


def measured_all(paths: Sequence[str]) -> list[LocalFile]:
    """The files at `paths` as they are now; those behind URLs are asked about at once. Raises: as `measured`."""
    urls = [path for path in paths if is_remote(path)]
    facts = iter(facts_of(urls) if urls else [])
    return [_remote(path, next(facts)) if is_remote(path) else _local(path) for path in paths]


def require_local(file: LocalFile, what: str) -> None:
    """Raises: InvalidArgumentError: it is behind a URL, and `what` needs it here."""
    if isinstance(file, RemoteFile):
        raise InvalidArgumentError(
            f"{what} needs a file of this machine", got=file.path, expected="a local path",
            remedy="copy it here first",
        )  # fmt: skip


def _remote(url: str, facts: ObjectFacts) -> RemoteFile:
    return RemoteFile(shown(url), facts.size, url, facts.etag, facts.modified_s)


def _local(path: str) -> LocalFile:
    require_known(path)
    try:
        found = os.stat(path)
    except (OSError, ValueError) as error:  # ValueError: a NUL in the name
        raise unreadable(path, error) from error
    if not stat.S_ISREG(found.st_mode):
        kind = "a directory" if stat.S_ISDIR(found.st_mode) else "not a regular file"
        raise ReadError("cannot read the file", got=kind, expected="a file", where=path)
    return LocalFile(path, found.st_size)


def unreadable(path: str, error: Exception) -> ReadError:
    """What to raise for an error of the system."""
    reason = getattr(error, "strerror", None) or str(error)
    return ReadError("cannot read the file", got=reason, where=path)


class MappedFile:
    """The bytes of a file, mapped into memory and read as they are touched.

    `is_scattered`: little of it is read at a place, so the system should not read ahead.
    The size is checked before each use: `view()`. What shrinks in the microseconds between that and the copy ends the
    process (SIGBUS), as with any memory map; so does a disk that fails.
    """

    def __init__(self, file: LocalFile, *, is_scattered: bool = False) -> None:
        self._file = file
        try:
            with open(file.path, "rb") as opened:
                file.check(os.fstat(opened.fileno()).st_size)
                self._map = mmap.mmap(opened.fileno(), 0, access=mmap.ACCESS_READ)
            if is_scattered and hasattr(mmap, "MADV_RANDOM"):
                self._map.madvise(mmap.MADV_RANDOM)
        except OSError as error:
            raise error if isinstance(error, ReadError) else unreadable(file.path, error) from error
        self._bytes = np.frombuffer(self._map, dtype=np.uint8)

    def view(self) -> NDArray[np.uint8]:
        """All bytes of the file, read-only, [size]. Raises: ReadError: the file has changed. Cost: one system call."""
        self._file.check(self._map.size())
        return self._bytes


class PieceFile:
    """A file read by position."""

    def __init__(self, file: LocalFile) -> None:
        self._file = file
        try:
            self._reader = FileReader(file.path)
            file.check(self._reader.size())
        except OSError as error:
            raise error if isinstance(error, ReadError) else unreadable(file.path, error) from error

    def checked(self) -> FileReader:
        """What reads it. Raises: ReadError: it has changed."""
        try:
            self._file.check(self._reader.size())
        except OSError as error:
            raise error if isinstance(error, ReadError) else unreadable(self._file.path, error) from error
        return self._reader

    def pieces(self, starts: NDArray[Any], lengths: NDArray[Any], *, is_line: bool = False) -> Sequence[bytes]:
        """`lengths[i]` bytes from `starts[i]` on, each; of lines without their end.

        Raises: ReadError: the file cannot be read, or has changed.
        """
        reader = self.checked()
        try:
            return reader.read_pieces(starts.astype(np.uint64), lengths.astype(np.uint64), is_line)
        except OSError as error:
            raise unreadable(self._file.path, error) from error

    def line_bounds(self) -> NDArray[np.uint64]:
        """Where each line begins, and where the last one ends: [lines + 1] uint64."""
        try:
            return self._reader.line_bounds()
        except OSError as error:
            raise unreadable(self._file.path, error) from error

    def record_bounds(self) -> tuple[NDArray[np.uint64], RecordFault | None]:
        """Where each TFRecord begins and the last one ends, [records + 1], up to one whose length is wrong."""
        try:
            return record_bounds(self._reader, self._file.size)
        except OSError as error:
            raise unreadable(self._file.path, error) from error

    def skip_records(self, count: int) -> tuple[int, int]:
        """How many TFRecords up to `count` could be passed over, by their lengths, and where the next begins."""
        try:
            return skip_records(self._reader, self._file.size, count)
        except OSError as error:
            raise unreadable(self._file.path, error) from error
