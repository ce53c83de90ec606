"""Where the records of TFRecord files lie: found once, when a plan needs records by number, and kept on disk.

An index is a .npy of uint64: a version, the size and the time of change of the file it is of, then where each record
begins and the last one ends. It is read through a memory map, written beside its place and moved there, and built anew
where it is not of the file as it is. What it says is checked again with every record that is read by it.
"""

from __future__ import annotations

import hashlib
import os
import tempfile
import threading
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.formats.files import LocalFile, PieceFile, unreadable
from penstock.formats.record_errors import record_error

Bounds: TypeAlias = NDArray[np.uint64]

KEPT_FROM_BYTES = 16 * 2**20
"""Files below this size are indexed anew in a few ms: the cache folder of the user is kept clear of them."""

_VERSION = 0x70656E7374_01
_HEAD = 3
_THREADS = 8


class RecordIndex:
    """The bounds of every record of some files, for as long as the dataset lives.

    Cost: one pass over each file, several at a time, unless its index is kept; 8 bytes a record, of a kept one mapped.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._found: dict[str, tuple[int, Bounds]] = {}

    def bounds(self, files: Sequence[LocalFile], folder: str | None) -> list[Bounds]:
        """For each file where each record begins, and where the last one ends: [records + 1].

        `folder`: where indices are kept, made if it is not there; None: the cache folder of the user.
        Raises: ReadError: a file cannot be read, or has another size than when it was measured; DecodeError: a length
        in it is wrong.
        """
        with self._lock:
            missing = [file for file in dict.fromkeys(files) if not self._is_known(file)]
            if len(missing) > 1:
                with ThreadPoolExecutor(min(len(missing), _THREADS), "penstock-index") as pool:
                    found = list(pool.map(lambda file: _bounds(file, folder), missing))
            else:
                found = [_bounds(file, folder) for file in missing]
            self._found.update({file.path: entry for file, entry in zip(missing, found, strict=True)})
            return [self._found[file.path][1] for file in files]

    def _is_known(self, file: LocalFile) -> bool:
        known = self._found.get(file.path)
        return known is not None and known[0] == _changed_ns(file)


def index_path(file: LocalFile, folder: str | None) -> Path:
    """Where the index of a file is kept."""
    name = os.path.abspath(file.path)
    digest = hashlib.blake2b(os.fsencode(name), digest_size=8).hexdigest()
    return _folder(folder) / f"{os.path.basename(name)}.{digest}.npy"


def _folder(said: str | None) -> Path:
    if said is not None:
        return Path(said)
    own = os.environ.get("PENSTOCK_CACHE_DIR")
    base = Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "penstock"
    return base / "records"


def _changed_ns(file: LocalFile) -> int:
    try:
        return os.stat(file.path).st_mtime_ns
    except OSError as error:
        raise unreadable(file.path, error) from error


def _bounds(file: LocalFile, folder: str | None) -> tuple[int, Bounds]:
    changed_ns = _changed_ns(file)
    head = np.array([_VERSION, file.size, changed_ns], dtype=np.uint64)
    is_kept = folder is not None or file.size >= KEPT_FROM_BYTES
    kept = _read(index_path(file, folder), head) if is_kept else None
    if kept is not None:
        return changed_ns, kept
    bounds, fault = PieceFile(file).record_bounds()
    if fault is not None:
        raise record_error(file, fault)
    if is_kept and _changed_ns(file) == changed_ns:
        _write(index_path(file, folder), np.concatenate([head, bounds]))
    return changed_ns, bounds


def _read(path: Path, head: NDArray[np.uint64]) -> Bounds | None:
    """The bounds that are kept there, if they are of the file that `head` describes."""
    try:
        found: NDArray[Any] = np.load(path, mmap_mode="r", allow_pickle=False)
    except (OSError, ValueError, EOFError):
        return None
    if found.dtype != np.uint64 or found.ndim != 1 or len(found) <= _HEAD or (found[:_HEAD] != head).any():
        return None
    bounds = found[_HEAD:]
    return bounds if bounds[0] == 0 and bounds[-1] == head[1] else None


def _write(path: Path, content: NDArray[np.uint64]) -> None:
    """Keep an index, whole or not at all. Where nothing can be written, it is built anew next time."""
    writing = None
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, prefix=".index-", delete=False) as file:
            writing = file.name
            np.save(file, content)
            file.flush()
            os.fsync(file.fileno())
        os.replace(writing, path)
    except OSError:
        if writing is not None and os.path.exists(writing):
            os.unlink(writing)
