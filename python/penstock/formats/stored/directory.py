"""Entries of a directory: written beside under a name of their own, complete from one moment to the next, or gone.

Law: what bears no dot before its name is complete. A writer holds a lock for as long as it lives, so what a dead one
left behind is known, and removed by whoever writes next. Two may write the same entry at once: the first to rename its
own wins, and the other finds it there.
"""

from __future__ import annotations

import os
import secrets
import shutil
import weakref
from pathlib import Path

from penstock.errors import WriteError
from penstock.formats.stored.manifest import NAME, Manifest
from penstock.formats.stored.npy import unwritable

_PREFIX = ".writing-"
_LOCK = ".lock"


class Draft:
    """A folder that is being written. `commit` makes it an entry; `discard`, or the end of the process, removes it."""

    def __init__(self, directory: Path) -> None:
        """Raises: WriteError: the directory cannot be made, or not be written to."""
        self.directory = directory
        try:
            directory.mkdir(parents=True, exist_ok=True)
            sweep(directory)
            token, lock = _locked(directory)
            self.folder = directory / f"{_PREFIX}{token}"
            self._end = weakref.finalize(self, _remove, self.folder, lock, os.getpid())
            self.folder.mkdir()
        except OSError as error:
            raise unwritable(str(directory), error) from error

    def commit(self, name: str, manifest: Manifest) -> bool:
        """Make it the entry `name`; its files must have been finished. False: there is one, and this is removed."""
        try:
            path = self.folder / NAME
            with path.open("x", encoding="utf-8") as file:
                file.write(manifest.to_json())
                file.flush()
                os.fsync(file.fileno())
            _sync(self.folder)
            try:
                self.folder.rename(self.directory / name)
            except OSError:
                if not (self.directory / name / NAME).exists():
                    raise
                return False
            _sync(self.directory)
        except OSError as error:
            raise unwritable(str(self.folder), error) from error
        finally:
            self.discard()
        return True

    def discard(self) -> None:
        """Remove it, if it has not become an entry. Idempotent."""
        self._end()


def entries(directory: Path) -> list[Path]:
    """The complete entries, the latest first; none of a directory that is not there."""
    try:
        found = [Path(entry.path) for entry in os.scandir(directory) if not entry.name.startswith(".")]
        held = [(entry.stat().st_mtime_ns, entry.name, entry) for entry in found if (entry / NAME).is_file()]
    except OSError:
        return []
    return [entry for _, _, entry in sorted(held, reverse=True)]


def remove(entry: Path) -> None:
    """Take an entry away: it is no longer one before the first of its files goes. Who has it open keeps it."""
    gone = entry.with_name(f"{_PREFIX}{secrets.token_hex(8)}")
    try:
        entry.rename(gone)
    except OSError:  # another was there first, or it may not be written to
        return
    shutil.rmtree(gone, ignore_errors=True)


def sweep(directory: Path) -> None:
    """Remove what writers left that no longer live."""
    try:
        locks = list(directory.glob(f"{_PREFIX}*{_LOCK}"))
    except OSError:
        return
    for path in locks:
        lock = _try_lock(path)
        if lock is not None:
            _remove(path.with_name(path.name.removesuffix(_LOCK)), lock, os.getpid())


class _Lock:
    """An open, locked file."""

    def __init__(self, path: Path, handle: int) -> None:
        self.path = path
        self.handle = handle

    def release(self) -> None:
        self.path.unlink(missing_ok=True)
        os.close(self.handle)


def _locked(directory: Path) -> tuple[str, _Lock]:
    """A token nobody else has, and its lock."""
    for _ in range(100):
        token = secrets.token_hex(8)
        lock = _try_lock(directory / f"{_PREFIX}{token}{_LOCK}", os.O_CREAT | os.O_EXCL)
        if lock is not None:
            return token, lock
    raise WriteError("cannot lock a file in the directory", where=str(directory))


def _try_lock(path: Path, flags: int = 0) -> _Lock | None:
    """The lock, or None where its writer lives, or it cannot be told whether it does."""
    try:
        handle = os.open(path, os.O_RDWR | os.O_CLOEXEC | flags, 0o644)
    except FileNotFoundError:
        return None
    except OSError:
        if flags:
            raise
        return None
    try:
        import fcntl

        fcntl.flock(handle, fcntl.LOCK_EX | fcntl.LOCK_NB)
        if not os.fstat(handle).st_nlink:  # a sweeper came between, and took the file away
            raise BlockingIOError
    except (ImportError, OSError) as error:
        if flags and not isinstance(error, BlockingIOError):  # a file system without locks: nobody sweeps there
            return _Lock(path, handle)
        os.close(handle)
        return None
    return _Lock(path, handle)


def _remove(folder: Path, lock: _Lock, pid: int) -> None:
    if os.getpid() != pid:  # a forked child, whose parent writes on
        return
    shutil.rmtree(folder, ignore_errors=True)
    lock.release()


def _sync(folder: Path) -> None:
    """Have the names in a folder on the disk."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:  # where folders cannot be opened
        return
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def files_of(folder: Path) -> dict[str, int]:
    """The size of each file in a folder."""
    with os.scandir(folder) as found:
        return {entry.name: entry.stat().st_size for entry in sorted(found, key=lambda e: e.name)}
