"""Tar shards in WebDataset's convention: consecutive files of one name but for the extension are one sample.

The name up to the first dot of its last part is the key, what follows it the field: `train/0001.seg.png` is field
"seg.png" of sample "train/0001". An element is `{"__key__": key, field: bytes, ...}`. Fields are in lower case; files
without a dot, hidden ones and those in folders like `__this__` are no part of a sample.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.block.columns import BytesColumn, Indices, object_array
from penstock.block.spec import BYTES, STR, Spec
from penstock.block.tree import LEAF, Structure
from penstock.errors import DecodeError, PenstockError
from penstock.formats.files import LocalFile, RemoteFile
from penstock.formats.pieces import OpenPieces, StreamStore
from penstock.formats.store import Chunk, Found, Held, Memory
from penstock.formats.tar_members import Member, Source, cut_short, members
from penstock.formats.tar_source import open_source

KEY = "__key__"
CHUNK_BYTES = 4 * 2**20
CHUNK_SAMPLES = 256
_META = re.compile(r"__[^/]*__(?:/|$)")
_SPLIT = re.compile(r"((?:.*/)?[^/.]+)\.([^/]+)", re.DOTALL)


def split_name(name: str) -> tuple[str, str] | None:
    """Key and field of a file's name, None for what is no part of a sample."""
    match = None if _META.match(name) else _SPLIT.fullmatch(name)
    return None if match is None else (match[1], match[2].lower())


@dataclass(frozen=True, slots=True)
class Sample:
    """The members of a sample by field. fault: why it cannot be an element."""

    key: str
    fields: dict[str, Any]
    start: int
    fault: str | None = None


def sampled(source: Source, take: Callable[[str, Member], Any]) -> Iterator[Sample]:
    """The samples of an archive; `take(field, member)` is what is kept of a member, having read its data or not."""
    key: str | None = None
    fields: dict[str, Any] = {}
    start = 0
    fault: str | None = None
    for member in members(source):
        parts = split_name(member.name)
        if parts is None:
            continue
        if parts[0] != key:
            if key is not None:
                yield Sample(key, fields, start, fault)
            key, fields, start, fault = parts[0], {}, member.start, None
        if parts[1] in fields:
            fault = f"field {parts[1]!r} twice"
        fields[parts[1]] = take(parts[1], member)
    if key is not None:
        yield Sample(key, fields, start, fault)
    source.finish()


def tar_stream(files: Sequence[LocalFile], fields: Sequence[str] | None) -> TarStream:
    """The stream of these files, of `fields`, or of those of the first sample. Files named .gz or .tgz are packed.

    Raises: ReadError, DecodeError: no archive, or none of them holds a sample. Cost: of one sample's headers.
    """
    packed = tuple(file.path.lower().endswith((".gz", ".tgz")) for file in files)
    if fields is not None:
        return TarStream(tuple(files), tuple(field.lower() for field in fields), True, packed)
    for file, is_packed in zip(files, packed, strict=True):
        with open_source(file, is_packed) as source:
            found = _first_fields(source)
        if found:
            return TarStream(tuple(files), found, False, packed)
    raise DecodeError(
        "no sample in any file", expected='files named "key.field", as in "0001.jpg"', where=files[0].path
    )


def _first_fields(source: Source) -> tuple[str, ...]:
    """The fields of the first sample. What is broken behind it is told when it is read."""
    key: str | None = None
    fields: dict[str, None] = {}
    try:
        for member in members(source):
            parts = split_name(member.name)
            if parts is None:
                continue
            if key not in (None, parts[0]):
                break
            key = parts[0]
            fields[parts[1]] = None
    except PenstockError:
        if not fields:
            raise
    return tuple(fields)


@dataclass(frozen=True, slots=True)
class TarStream:
    """The samples of tar files, one file after another. `chosen`: the fields were said, so others may be there."""

    files: tuple[LocalFile, ...]
    fields: tuple[str, ...]
    chosen: bool
    packed: tuple[bool, ...]

    @property
    def structure(self) -> Structure:
        return Structure(dict, (KEY, *self.fields), (LEAF,) * (1 + len(self.fields)), 1 + len(self.fields))

    @property
    def specs(self) -> tuple[Spec, ...]:
        return (Spec((), STR), *[Spec((), BYTES)] * len(self.fields))

    def part(self, first: int, step: int) -> TarStream:
        return replace(self, files=self.files[first::step], packed=self.packed[first::step])

    def parameters(self) -> dict[str, Any]:
        return {"fields": self.fields, "sizes": tuple(file.size for file in self.files)}

    def fault(self, file: LocalFile, sample: Sample) -> DecodeError | None:
        """Why a sample is no element of these fields."""
        missing = [field for field in self.fields if field not in sample.fields]
        more = [] if self.chosen else [field for field in sample.fields if field not in self.fields]
        if not (missing or more or sample.fault):
            return None
        what = sample.fault or (
            f"no field {missing[0]!r}" if missing else f"field {more[0]!r}, which the first has not"
        )
        return DecodeError(
            f"sample {sample.key!r} has {what}", got=f"{', '.join(sample.fields) or 'none'}",
            expected=", ".join(self.fields), where=f"{file.path}, byte {sample.start}",
            remedy="fields=[...] says which are wanted" if more else None,
        )  # fmt: skip

    def chunks(self, *, skips: bool) -> Iterator[Chunk]:
        for file, is_packed in zip(self.files, self.packed, strict=True):
            try:
                yield from self._of(file, is_packed, skips)
            except PenstockError as error:
                if not skips:
                    raise
                yield Chunk((), 0, skipped=(error,))

    def _of(self, file: LocalFile, is_packed: bool, skips: bool) -> Iterator[Chunk]:
        wanted = set(self.fields)
        held = _Batch(self)
        with open_source(file, is_packed) as source:

            def take(field: str, member: Member) -> Any:
                return _data(source, member) if field in wanted else None

            try:
                for sample in sampled(source, take):
                    fault = self.fault(file, sample)
                    if fault is None:
                        held.add(sample)
                    elif skips:
                        held.skipped.append(fault)
                    else:
                        yield held.chunk(fault)
                        return
                    if held.is_full():
                        yield held.chunk()
            except PenstockError as error:
                yield held.chunk(None if skips else error)
                if skips:
                    raise
                return
        yield held.chunk()

    @property
    def has_index(self) -> bool:
        return not any(self.packed) and not any(isinstance(file, RemoteFile) for file in self.files)

    def indexed(self, held: Held) -> TarStore:
        with held.lock:
            for file in self.files:
                changed = file.changed_ns()
                known = held.found.get((file, self.fields))
                if known is None or known[0] != changed:
                    held.found[file, self.fields] = changed, tar_index(self, file)
            indices = tuple(held.found[file, self.fields][1] for file in self.files)
        return TarStore(self, indices)


def _data(source: Source, member: Member) -> bytes:
    data = source.read(member.size)
    if len(data) < member.size:
        raise cut_short(source.name, member, len(data))
    return data


class _Batch:
    """Samples on their way to a chunk."""

    def __init__(self, stream: TarStream) -> None:
        self._stream = stream
        self._samples: list[Sample] = []
        self._bytes = 0
        self.skipped: list[Exception] = []

    def add(self, sample: Sample) -> None:
        self._samples.append(sample)
        self._bytes += sum(len(sample.fields[field]) for field in self._stream.fields)

    def is_full(self) -> bool:
        return len(self._samples) >= CHUNK_SAMPLES or self._bytes >= CHUNK_BYTES

    def chunk(self, error: Exception | None = None) -> Chunk:
        """What has come, and nothing is held after."""
        samples, skipped = self._samples, tuple(self.skipped)
        self._samples, self._bytes, self.skipped = [], 0, []
        if not samples:
            return Chunk((), 0, error, skipped)
        keys = BytesColumn(object_array([sample.key for sample in samples]), STR)
        values = (object_array([sample.fields[field] for sample in samples]) for field in self._stream.fields)
        return Chunk((keys, *(BytesColumn(value, BYTES) for value in values)), len(samples), error, skipped)


@dataclass(frozen=True, slots=True, eq=False)
class TarIndex:
    """Where the samples of a file lie. starts, sizes: [samples, fields] int64; faults: samples that are no elements."""

    keys: NDArray[np.object_]
    starts: NDArray[np.int64]
    sizes: NDArray[np.int64]
    faults: dict[int, DecodeError]


def tar_index(stream: TarStream, file: LocalFile) -> TarIndex:
    """The index of a file. Raises: ReadError, DecodeError. Cost: of reading each header, some 10 us a member."""
    keys: list[str] = []
    starts: list[int] = []
    sizes: list[int] = []
    faults: dict[int, DecodeError] = {}
    with open_source(file, False) as source:
        for sample in sampled(source, lambda _, member: member):
            fault = stream.fault(file, sample)
            if fault is not None:
                faults[len(keys)] = fault
            found = [sample.fields.get(field) for field in stream.fields]
            starts += [0 if member is None else member.offset for member in found]
            sizes += [0 if member is None else member.size for member in found]
            keys.append(sample.key)
    shape = (len(keys), len(stream.fields))
    places = np.array(starts, dtype=np.int64).reshape(shape)
    return TarIndex(object_array(keys), places, np.array(sizes, dtype=np.int64).reshape(shape), faults)


@dataclass(frozen=True, slots=True)
class TarStore(StreamStore[TarStream, TarIndex]):
    """The samples of tar files by position."""

    @property
    def counts(self) -> list[int]:
        return [len(index.keys) for index in self.indices]

    def open(self) -> _OpenTar:
        return _OpenTar(self)


class _OpenTar(OpenPieces):
    """Samples read by position, all fields of those in one file at once."""

    def __init__(self, store: TarStore) -> None:
        super().__init__(store.files, store.counts)
        self._store = store

    def read(self, positions: Indices, memory: Memory) -> Found:
        stop, error = self._first_fault(positions)
        positions = positions[:stop]
        fields = self._store.stream.fields
        keys = np.empty(stop, dtype=object)
        values = [np.empty(stop, dtype=object) for _ in fields]
        for number, places, within in self.by_file(positions):
            index = self._store.indices[number]
            keys[places] = index.keys[within]
            starts, sizes = index.starts[within], index.sizes[within]
            pieces = object_array(self.file(number).pieces(starts.ravel(), sizes.ravel()))
            for field, value in enumerate(values):
                value[places] = pieces[field :: len(fields)]
        if not stop:
            return Found((), 0, error)
        return Found((BytesColumn(keys, STR), *(BytesColumn(value, BYTES) for value in values)), stop, error)

    def _first_fault(self, positions: Indices) -> tuple[int, DecodeError | None]:
        if not any(index.faults for index in self._store.indices):
            return len(positions), None
        stop, error = len(positions), None
        for number, places, within in self.by_file(positions):
            faults = self._store.indices[number].faults
            at = next((i for i, row in enumerate(within.tolist()) if row in faults), None)
            if at is not None and int(places[at]) < stop:
                stop, error = int(places[at]), faults[int(within[at])]
        return stop, error
