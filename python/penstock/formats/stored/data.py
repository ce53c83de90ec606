"""Kept elements, opened for reading and written: the two sides of an entry."""

from __future__ import annotations

import zlib
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from penstock.block.block import Block
from penstock.block.columns import Array, Column, Indices
from penstock.block.origin import Origins
from penstock.block.spec import Spec
from penstock.block.tree import Structure
from penstock.errors import DecodeError, PenstockError, ReadError
from penstock.formats.arrays import array_layout
from penstock.formats.files import MappedFile, measured
from penstock.formats.stored.directory import Draft, entries, files_of
from penstock.formats.stored.leaf_writers import LeafWriter, leaf_writer
from penstock.formats.stored.leaves import FixedLeaf, Items, Leaf, RaggedLeaf, TextLeaf, VariedLeaf
from penstock.formats.stored.manifest import NAME, Manifest, read_manifest
from penstock.formats.stored.npy import write_array
from penstock.rng import UInt64s

_IDS = "ids.npy"
_SUM_BYTES = 2**22


@dataclass(frozen=True, slots=True)
class StoredData:
    """An entry, its files mapped into memory; they stay readable when the entry is removed.

    Checked when it is opened: that each file is there, of the size it had, with a header that says the same. Not
    checked: every byte (`penstock inspect --verify` does).
    """

    path: Path
    manifest: Manifest
    leaves: tuple[Leaf, ...]
    ids: UInt64s | None

    @property
    def count(self) -> int:
        return self.manifest.count

    @property
    def structure(self) -> Structure:
        return self.manifest.structure

    @property
    def nbytes(self) -> int:
        """Bytes on the disk."""
        return sum(self.manifest.sizes.values())

    def columns(self, positions: Indices) -> tuple[Column, ...]:
        """The elements at `positions`. Raises: DecodeError: what is said of a row cannot be so."""
        try:
            return tuple(leaf.take(positions) for leaf in self.leaves)
        except (ValueError, IndexError, TypeError, MemoryError, PenstockError) as error:
            raise DecodeError("kept elements are damaged", got=str(error), where=str(self.path)) from error

    def slices(self, start: int, stop: int) -> tuple[Column, ...]:
        """Elements start to stop. Raises: as `columns`."""
        try:
            return tuple(leaf.slice(start, stop) for leaf in self.leaves)
        except (ValueError, IndexError, TypeError, MemoryError, PenstockError) as error:
            raise DecodeError("kept elements are damaged", got=str(error), where=str(self.path)) from error


def open_entry(folder: Path) -> StoredData:
    """Raises: ReadError: it is not there; DecodeError: damaged, or of another version."""
    manifest = read_manifest(folder)
    files = _Files(folder, manifest)
    leaves = tuple(_leaf(files, spec, leaf) for spec, leaf in zip(manifest.specs, manifest.leaves, strict=True))
    return StoredData(folder, manifest, leaves, files.array(_IDS, np.uint64) if manifest.has_ids else None)


def open_stored(path: Path) -> StoredData:
    """The latest entry of a directory, or the entry that `path` itself is. Raises: as `open_entry`."""
    if (path / NAME).exists():
        return open_entry(path)
    found = entries(path)
    if not found:
        raise ReadError(
            "nothing is kept there", expected="a directory that save, cache or snapshot wrote", where=str(path)
        )
    return open_entry(found[0])


class _Files:
    """The arrays of an entry."""

    def __init__(self, folder: Path, manifest: Manifest) -> None:
        self._folder = folder
        self._manifest = manifest

    def array(self, name: str, dtype: Any, rows: int | None = None) -> Array:
        """A mapped file: [rows, ...], or as many as it has; of the manifest's count where None is said."""
        path = str(self._folder / name)
        if Path(name).name != name or name not in self._manifest.sizes:
            raise DecodeError("a broken manifest", got=f"a file {name!r}", where=str(self._folder / NAME))
        file = measured(path)
        wanted = self._manifest.sizes[name]
        if file.size != wanted:
            raise DecodeError(
                "a kept file is damaged", got=f"{file.size} bytes", expected=f"{wanted} bytes", where=path,
                remedy="remove the directory and keep the elements anew",
            )  # fmt: skip
        try:
            layout = array_layout(file, np.dtype(dtype), None)
        except ValueError as error:
            raise DecodeError("a kept file is damaged", got=str(error), where=path) from error
        expected = self._manifest.count if rows is None else rows
        if expected >= 0 and layout.shape[0] != expected:
            raise DecodeError("a kept file is damaged", got=f"{layout.shape[0]} rows", expected=expected, where=path)
        return MappedFile(file).view()[layout.offset :].view(layout.dtype).reshape(layout.shape)

    def items(self, items: str, spans: str, dtype: Any) -> Items:
        return Items(self.array(items, dtype, rows=-1), self.array(spans, np.int64))


def _leaf(files: _Files, spec: Spec, said: dict[str, Any]) -> Leaf:
    try:
        if said["kind"] == "ragged":
            values = _values(files, spec.dtype, said["values"])
            splits = [(files.items(s["items"], s["spans"], np.int64), np.dtype(s["dtype"])) for s in said["splits"]]
            return RaggedLeaf(values, tuple(splits))
        return _values(files, spec.dtype, said)
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        if isinstance(error, PenstockError):
            raise
        raise DecodeError("a broken manifest", got=f"{type(error).__name__}: {error}", where="a leaf") from error


def _values(files: _Files, dtype: np.dtype[Any], said: dict[str, Any]) -> FixedLeaf | VariedLeaf | TextLeaf:
    kind, names = said["kind"], said["files"]
    if kind == "fixed":
        return FixedLeaf(files.array(names["values"], dtype))
    if kind == "varied":
        items = files.items(names["items"], names["spans"], dtype)
        return VariedLeaf(items, files.array(names["shapes"], np.int64))
    items = files.items(names["items"], names["spans"], np.uint8)
    if kind == "text" and "lengths" in names:
        lengths = files.items(names["lengths"], names["length_spans"], np.int64)
        return TextLeaf(items, dtype, lengths, files.array(names["shapes"], np.int64), bool(said["uniform"]))
    if kind != "text":
        raise KeyError(kind)
    return TextLeaf(items, dtype)


class StoredWriter:
    """Writes elements, in any order, each once. Not safe for threads. Raises: WriteError throughout."""

    def __init__(self, directory: Path, *, has_ids: bool) -> None:
        self._draft = Draft(directory)
        self._structure = Structure()
        self._specs: list[Spec] = []
        self._writers: list[LeafWriter] = []
        self._ids = np.zeros(0, dtype=np.uint64) if has_ids else None

    def write(self, positions: Indices, block: Block) -> None:
        """Row i of `block` as element positions[i]."""
        if not len(positions):
            return
        if not self._writers:
            self._structure = block.structure
            names = block.structure.names()
            self._specs = list(block.specs)
            for number, (name, column) in enumerate(zip(names, block.columns, strict=True)):
                self._writers.append(leaf_writer(self._draft.folder, _file_name(number, name), column))
        self._specs = [old.merge(new) for old, new in zip(self._specs, block.specs, strict=True)]
        for writer, column in zip(self._writers, block.columns, strict=True):
            writer.write(positions, column)
        if self._ids is not None:
            last = int(positions.max()) + 1
            if last > len(self._ids):
                self._ids = np.resize(self._ids, max(last, len(self._ids) * 3 // 2))
            self._ids[positions] = block.origins.ids()

    def read(self, positions: Indices, origins: Origins) -> Block:
        """Elements that have been written."""
        columns = tuple(writer.now().take(positions) for writer in self._writers)
        return Block(self._structure, columns, origins)

    def commit(self, name: str, count: int, *, key: str = "", owner: str = "", told: Any = None) -> bool:
        """Have `count` elements be the entry `name`; False: another was there first, and what was written is gone."""
        try:
            leaves = tuple(writer.finish(count) for writer in self._writers)
            if self._ids is not None:
                write_array(str(self._draft.folder / _IDS), self._ids[:count])
            sizes = files_of(self._draft.folder)
            sums = {name: checksum(self._draft.folder / name) for name in sizes}
            manifest = Manifest(
                count, self._structure, tuple(self._specs), leaves, sizes, sums, self._ids is not None,
                key, owner, told,
            )  # fmt: skip
            return self._draft.commit(name, manifest)
        finally:
            self.discard()

    def discard(self) -> None:
        """Leave nothing. Idempotent."""
        for writer in self._writers:
            writer.close()
        self._draft.discard()


def checksum(path: Path) -> int:
    """The CRC-32 of a file. Cost: about a second for a gigabyte."""
    found = 0
    with path.open("rb") as file:
        while data := file.read(_SUM_BYTES):
            found = zlib.crc32(data, found)
    return found


def _file_name(number: int, name: str) -> str:
    plain = "".join(letter if letter.isalnum() or letter in "-_" else "_" for letter in name)[:40]
    return f"{number}.{plain}"
