"""What a process has one of: clients, threads and caches, shared by all that read with the same options.

Made when first needed. The threads end when there is nothing to read; at exit they are waited for a little, so that
none comes back from obstore into an interpreter that is gone. In a forked child all is made anew.
"""

from __future__ import annotations

import atexit
import os
import threading

from penstock.errors import ClosedError
from penstock.options import RemoteOptions
from penstock.storage.attempts import Attempts
from penstock.storage.client import Client, ObstoreClient
from penstock.storage.lane import Lane
from penstock.storage.reader import Reader

_END_SECONDS = 1.0


class _Registry:
    """Guarded by `lock`."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.readers: dict[RemoteOptions, Reader] = {}
        self.lanes: dict[int, Lane] = {}
        self.clients: dict[float, Client] = {}
        self.is_watched = self.is_over = False


_registry = _Registry()


def reader_for(options: RemoteOptions) -> Reader:
    """The reader of this process for these options. Raises: InvalidArgumentError: no such cache directory."""
    registry = _registry
    with registry.lock:
        if not registry.is_watched:
            registry.is_watched = True
            atexit.register(_end)
            os.register_at_fork(after_in_child=_forget)
        if registry.is_over:
            raise ClosedError("nothing is read any longer: the process ends")
        reader = registry.readers.get(options)
        if reader is None:
            cache = None
            if options.cache_directory is not None:
                from penstock.storage.cache import DiskCache  # files and locks: only where asked for

                cache = DiskCache(str(options.cache_directory), int(options.cache_bytes or 0))
            reader = registry.readers[options] = Reader(
                registry.clients.setdefault(options.timeout_s, ObstoreClient(options.timeout_s)),
                registry.lanes.setdefault(options.max_in_flight, Lane(options.max_in_flight)),
                Attempts(options.attempts, options.backoff_s),
                gap_bytes=int(options.coalesce_bytes),
                cache=cache,
            )
        return reader


def close() -> None:
    """End the threads of this process; what reads next makes others."""
    with _registry.lock:
        lanes = list(_registry.lanes.values())
        _registry.readers, _registry.lanes, _registry.clients = {}, {}, {}
    for lane in lanes:
        lane.close(_END_SECONDS)


def _end() -> None:
    _registry.is_over = True
    close()


def _forget() -> None:
    global _registry  # noqa: PLW0603  # its lock may be held by a thread that the child has not
    _registry = _Registry()
    _registry.is_watched = True
