"""A bounded folder of bytes that were read from URLs. What came first stays; nothing is evicted.

Under a shuffle of each epoch a cache that evicts what was used longest ago hits c + (1 - c) ln(1 - c) of what is asked
for, where c is the share that fits; one that keeps what came first hits c: at 35 %, 7 % against 35 %.

Laws. The files here never hold more than the limit, whoever writes and whoever is killed: bytes are counted, under a
lock, before their file is made. A file under its own name is whole: it was written elsewhere and moved. It holds what
it says, of the object it says, or is not used: its head says so, and a checksum. A full disk, or one that fails, is
told once and costs speed alone.

One entry is a part of an object: URL, start and stop give its name; what the object was then stands in its head. It is
given again only for an object that is the same still: as pinned, or as it is found the first time in each process.
"""

from __future__ import annotations

import errno
import fcntl
import hashlib
import io
import json
import os
import struct
import threading
import warnings
import zlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from typing import Any

from penstock.errors import InvalidArgumentError, PenstockWarning
from penstock.storage.client import ObjectFacts
from penstock.storage.fault import Fault
from penstock.storage.ranges import Request

_MAGIC = b"penstock cache 1\n"
_HEAD = struct.Struct("<IQI")  # bytes of the facts, bytes of the data, CRC-32 of both
_COUNT_BYTES = 20


@dataclass(frozen=True, slots=True)
class _Entry:
    facts: ObjectFacts
    data: bytes


class DiskCache:
    """Bytes by request, in `directory`, at most `limit_bytes` with what describes them.

    Safe under several threads and processes; their limits may differ, and each keeps its own.
    Raises: InvalidArgumentError: the directory cannot be made or written.
    """

    def __init__(self, directory: str, limit_bytes: int) -> None:
        self._entries = os.path.join(directory, "entries")
        self._unfinished = os.path.join(directory, "unfinished")
        self._count = os.path.join(directory, "bytes")
        self._limit = limit_bytes
        self._lock = threading.Lock()
        self._trusted: set[str] = set()
        self._failed = False
        try:
            os.makedirs(self._entries, exist_ok=True)
            os.makedirs(self._unfinished, exist_ok=True)
            with self._counting() as count:
                stale = [path for path in _files(self._unfinished) if _unlink_stale(path)]
                if stale or not count.is_known:
                    count.value = sum(_size(path) for path in (*_files(self._entries), *_files(self._unfinished)))
        except OSError as error:
            raise InvalidArgumentError(
                "RemoteOptions: cache_directory", got=f"{directory!r}: {error.strerror}",
                expected="a directory that can be written",
            ) from error  # fmt: skip

    # -- reading --------------------------------------------------------------------------------------------------

    def trusted(self, request: Request) -> bytes | None:
        """The bytes, if they are here and it is known that the object is the same still."""
        name = _name(request)
        if request.pinned is None and name not in self._trusted:
            return None
        entry = self._entry(name)
        return None if entry is None or not _is_of(entry.facts, request.pinned) else entry.data

    def has(self, request: Request) -> bool:
        """Whether there is an entry, of whatever the object was."""
        return os.path.exists(self._path(_name(request)))

    def checked(self, request: Request, facts_now: Callable[[], ObjectFacts]) -> bytes | None:
        """The bytes, if they are here and the object is the same still; asked of the store once a process.

        Raises: whatever `facts_now` does.
        """
        if request.pinned is not None:
            return self.trusted(request)
        name = _name(request)
        entry = self._entry(name)
        if entry is None:
            return None
        if name not in self._trusted:
            if entry.facts.identity is None or facts_now().identity != entry.facts.identity:
                return None
            self._trusted.add(name)
        return entry.data

    def _entry(self, name: str) -> _Entry | None:
        path = self._path(name)
        try:
            with open(path, "rb", buffering=0) as file:
                entry = _unpacked(file)
                found = None if entry is not None else os.fstat(file.fileno())
        except OSError:
            return None
        if found is not None:
            self._drop(path, found)
        return entry

    # -- keeping --------------------------------------------------------------------------------------------------

    def keep(self, request: Request, data: bytes, facts: ObjectFacts) -> None:
        """Keep what was read, if there is room for it and the object can be told from what it may become."""
        if self._failed or facts.identity is None:
            return
        name, head = _name(request), _head(data, facts)
        if len(head) + len(data) > self._limit:
            return
        try:
            if self._write(name, head, data):
                self._trusted.add(name)
        except OSError as error:
            self._failed = True
            what = "the disk is full" if error.errno in (errno.ENOSPC, errno.EDQUOT) else str(error.strerror)
            warnings.warn(
                f"the cache in {os.path.dirname(self._entries)} keeps nothing more: {what}", PenstockWarning,
                stacklevel=2,
            )  # fmt: skip

    def _write(self, name: str, head: bytes, data: bytes) -> bool:
        """Whether it is here now. Raises: OSError; nothing is left then."""
        nbytes, path = len(head) + len(data), self._path(name)
        unfinished = os.path.join(self._unfinished, f"{name}-{os.getpid()}-{threading.get_ident()}")
        with self._counting() as count:
            if _begins_with(path, head):
                return True  # another process was faster
            if count.value + nbytes > self._limit:
                return False
            count.value += nbytes
            count.write()  # before there is a file: who is killed here loses room, and breaks no bound
            descriptor = os.open(unfinished, os.O_RDWR | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)  # as long as its writer lives
                _reserve(descriptor, nbytes)
            except BaseException:
                self._give_up(descriptor, unfinished, count, nbytes)
                raise
        try:
            with open(descriptor, "wb", closefd=False) as file:
                file.write(head)
                file.write(data)
            try:
                os.link(unfinished, path)
            except FileExistsError:
                with self._counting() as count:
                    replaced = _size(path)
                    os.rename(unfinished, path)
                    count.value -= replaced
            else:
                os.unlink(unfinished)
        except BaseException:
            with self._counting() as count:
                self._give_up(descriptor, unfinished, count, nbytes)
            raise
        os.close(descriptor)
        return True

    def _give_up(self, descriptor: int, unfinished: str, count: _Count, nbytes: int) -> None:
        os.close(descriptor)
        with suppress(FileNotFoundError):
            os.unlink(unfinished)
            count.value -= nbytes

    def _drop(self, path: str, found: os.stat_result) -> None:
        """Remove a damaged entry, if it is still that file."""
        with suppress(OSError), self._counting() as count:
            now = os.stat(path)
            if (now.st_ino, now.st_mtime_ns, now.st_size) == (found.st_ino, found.st_mtime_ns, found.st_size):
                os.unlink(path)
                count.value -= now.st_size

    @contextmanager
    def _counting(self) -> Iterator[_Count]:
        """The count of bytes, while no other thread or process may change it; written back at the end."""
        with self._lock:
            descriptor = os.open(self._count, os.O_RDWR | os.O_CREAT | os.O_CLOEXEC, 0o644)
            try:
                fcntl.flock(descriptor, fcntl.LOCK_EX)
                count = _Count(descriptor)
                try:
                    yield count
                finally:
                    count.write()
            finally:
                os.close(descriptor)

    def _path(self, name: str) -> str:
        return os.path.join(self._entries, name)


class _Count:
    """A number in a file; `is_known`: it holds one."""

    def __init__(self, descriptor: int) -> None:
        self._descriptor = descriptor
        text = os.pread(descriptor, _COUNT_BYTES, 0)
        self.is_known = len(text) == _COUNT_BYTES and text.isdigit()
        self.value = int(text) if self.is_known else 0
        self._written = self.value if self.is_known else -1

    def write(self) -> None:
        self.value = max(0, self.value)
        if self.value != self._written:
            os.pwrite(self._descriptor, b"%0*d" % (_COUNT_BYTES, self.value), 0)
            self._written = self.value


def _name(request: Request) -> str:
    text = f"{request.url}\n{request.start}\n{request.stop}"
    return hashlib.blake2b(text.encode(errors="surrogateescape"), digest_size=20).hexdigest()


def _is_of(facts: ObjectFacts, pinned: ObjectFacts | None) -> bool:
    if pinned is None:
        return True
    try:
        pinned.check(facts)
    except Fault:
        return False
    return facts.identity is not None and facts.identity == pinned.identity


def _head(data: bytes, facts: ObjectFacts) -> bytes:
    """What stands before `data` in its file."""
    told = json.dumps([facts.size, facts.etag, facts.modified_s]).encode()
    return _MAGIC + _HEAD.pack(len(told), len(data), zlib.crc32(data, zlib.crc32(told))) + told


def _begins_with(path: str, head: bytes) -> bool:
    try:
        with open(path, "rb") as file:
            return file.read(len(head)) == head
    except OSError:
        return False


def _unpacked(file: io.FileIO) -> _Entry | None:
    """What a file holds; None for one that is cut short or damaged. Cost: one copy and a checksum."""
    start = len(_MAGIC) + _HEAD.size
    head = file.read(start)
    if len(head) < start or not head.startswith(_MAGIC):
        return None
    told_bytes, data_bytes, checksum = _HEAD.unpack_from(head, len(_MAGIC))
    if os.fstat(file.fileno()).st_size != start + told_bytes + data_bytes:
        return None
    told, data = file.read(told_bytes), file.readall()
    if len(data) != data_bytes or zlib.crc32(data, zlib.crc32(told)) != checksum:
        return None
    facts: Any = json.loads(told)
    return _Entry(ObjectFacts(*facts), data)


def _files(directory: str) -> list[str]:
    with os.scandir(directory) as entries:
        return [entry.path for entry in entries]


def _size(path: str) -> int:
    try:
        return os.stat(path).st_size
    except OSError:
        return 0


def _unlink_stale(path: str) -> bool:
    """Remove an unfinished file whose writer is gone; whether it was."""
    try:
        descriptor = os.open(path, os.O_RDWR | os.O_CLOEXEC)
    except OSError:
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        os.unlink(path)
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)


def _reserve(descriptor: int, nbytes: int) -> None:
    """Room on the disk. Raises: OSError: it is full."""
    try:
        os.posix_fallocate(descriptor, 0, nbytes)
    except OSError as error:
        if error.errno not in (errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS):
            raise
        os.ftruncate(descriptor, nbytes)
