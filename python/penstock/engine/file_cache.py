"""What a `cache(directory)` is doing: where it lies, whether it is complete, what has been written of it so far.

A pass through a stream writes to a draft of its own. Over an index-driven input all iterators of a dataset write to one
draft, by position, and it is complete when every position is there.
"""

from __future__ import annotations

import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn

import numpy as np

from penstock.block.block import Block
from penstock.block.columns import Indices
from penstock.block.origin import Origins, SourceOrigins, StoredOrigins
from penstock.errors import InvalidArgumentError, PenstockError
from penstock.formats.stored.data import StoredData, StoredWriter, open_entry
from penstock.formats.stored.directory import entries, remove
from penstock.formats.stored.manifest import read_manifest

_BLOCK_ROWS = 1024
_BLOCK_BYTES = 4 * 2**20


class FileStore:
    """What belongs to the `cache(directory)` of a dataset: what was decided for each of the pipelines it is part of."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.decided: dict[str, Filling] = {}

    def __reduce__(self) -> tuple[Any, ...]:
        return FileStore, ()

    @property
    def stream(self) -> NoReturn:
        """Where it has not been decided: in a dataset that a function returns. Raises: InvalidArgumentError."""
        raise InvalidArgumentError(
            "cache(directory) in a dataset that a function returns: there would be one for each element",
            remedy="cache() there, or cache(directory) above or below",
        )


@dataclass(frozen=True, slots=True)
class Content:
    """Of what elements a cache is: the key, and what it was made from, as JSON values."""

    key: str
    owner: str
    told: Any


class Filling:
    """One cache of one content. `data`: as soon as it is complete, here or in another process."""

    def __init__(
        self, label: str, directory: Path, content: Content, has_changed: Callable[[], str | None], *, keeps_all: bool
    ) -> None:
        self.lock = threading.Lock()
        self.label = label
        self.directory = directory
        self.content = content
        self.data: StoredData | None = None
        self.rows: FileRows | None = None
        self._has_changed = has_changed
        self._keeps_all = keeps_all

    def __reduce__(self) -> tuple[Any, ...]:
        return FileStore, ()

    @property
    def stream(self) -> StoredBlocks | None:
        """All elements in order, once complete."""
        return None if self.data is None else StoredBlocks(self.data, self.label)

    def begin(self) -> StoredWriter:
        """A draft. Raises: WriteError."""
        return StoredWriter(self.directory, has_ids=True)

    def commit(self, writer: StoredWriter, count: int, warn: Callable[[str], None]) -> None:
        """A draft that holds all: from now on it is what is kept. Raises: WriteError: and nothing is."""
        changed = self._has_changed()
        if changed is not None:
            writer.discard()
            warn(f"{self.label}: not kept, as what it is made from changed while it was read: {changed}")
            return
        key, owner = self.content.key, self.content.owner
        writer.commit(key, count, key=key, owner=owner, told=self.content.told)
        self.data = open_entry(self.directory / key)
        if not self._keeps_all:
            for entry in entries(self.directory):
                if entry.name != key and _owner_of(entry) == owner:
                    remove(entry)


def _owner_of(entry: Path) -> str | None:
    try:
        return read_manifest(entry).owner
    except PenstockError:
        return None


class FileRows:
    """Rows by position, on their way into a draft. As `RowCache`, without a budget."""

    def __init__(self, filling: Filling, count: int, warn: Callable[[str], None]) -> None:
        self._owner = weakref.ref(filling)  # which holds this: a dataset that is dropped leaves no draft to a collector
        self._warn = warn
        self._lock = threading.Lock()
        self._there = np.zeros(count, dtype=bool)
        self._writer: StoredWriter | None = None

    @property
    def _filling(self) -> Filling:
        filling = self._owner()
        assert filling is not None
        return filling

    def missing(self, positions: Indices) -> Indices:
        """The positions not kept, each once, in the order given."""
        absent = positions[~self._there[positions]]
        _, first = np.unique(absent, return_index=True)
        missing: Indices = absent[np.sort(first)]
        return missing

    def has_all(self, positions: Indices) -> bool:
        return bool(self._there[positions].all())

    def absent(self) -> Indices:
        """All positions not kept."""
        return np.flatnonzero(~self._there)

    def keep(self, positions: Indices, block: Block) -> None:
        """Write row i of `block` as position positions[i]. Raises: WriteError: then nothing of all is kept."""
        if not len(block):
            return
        with self._lock:
            new = np.flatnonzero(~self._there[positions])
            if not len(new) or self._filling.data is not None:
                return
            if self._writer is None:
                self._writer = self._filling.begin()
            try:
                self._writer.write(positions[new], block if len(new) == len(block) else block.take(new))
                self._there[positions[new]] = True
                if self._there.all():
                    self._filling.commit(self._writer, len(self._there), self._warn)
                    self._drop(is_over=self._filling.data is not None)
            except BaseException:
                self._drop(is_over=False)
                raise

    def _drop(self, *, is_over: bool) -> None:
        if self._writer is not None:
            self._writer.discard()
        self._writer = None
        self._there[:] = is_over

    def rows(self, positions: Indices, origins: Origins) -> Block:
        """The kept rows at `positions`; all must be there."""
        with self._lock:
            data = self._filling.data
            if data is None:
                assert self._writer is not None
                return self._writer.read(positions, origins)
        return Block(data.structure, data.columns(positions), origins)


def origins_of(data: StoredData, number: int, label: str, positions: Indices) -> Origins:
    """Who elements are: whom they were when they were kept; of a dataset that was saved, rows of a source."""
    if data.ids is None:
        return SourceOrigins(number, label, positions)
    return StoredOrigins(data.ids[positions], label, positions)


class StoredBlocks:
    """All elements of an entry, in blocks."""

    def __init__(self, data: StoredData, label: str) -> None:
        self._data = data
        self._label = label

    def __iter__(self) -> Iterator[Block]:
        data = self._data
        row_bytes = max(1, data.nbytes // max(1, data.count))
        step = min(_BLOCK_ROWS, max(1, _BLOCK_BYTES // row_bytes))
        for start in range(0, data.count, step):
            stop = min(start + step, data.count)
            origins = origins_of(data, 0, self._label, np.arange(start, stop, dtype=np.int64))
            yield Block(data.structure, data.slices(start, stop), origins)
