"""Origins: the identity of each element of a block, computed only when a random op or an error asks for it.

A source gives (source, index); zip joins the parts; a repeat adds its pass; a batch is named by its first element and
its count; unbatching adds the row. `ids` is a 64-bit digest of that, the same on every machine: randomness is keyed by
it. `describe` is for people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol, Self

import numpy as np
from numpy.typing import NDArray

from penstock.block.columns import Indices
from penstock.rng import UInt64s, mix_ids


class Origins(Protocol):
    """Identities of n elements."""

    def __len__(self) -> int: ...

    def ids(self) -> UInt64s:
        """[n] uint64, one digest an element."""
        ...

    def take(self, indices: Indices) -> Origins: ...

    def describe(self, row: int) -> str:
        """`element 1871 of from_folder at train.py:3`."""
        ...


class SourceLabel(str):
    """The verb and line of a source that can say where an element lies: `place(index)`, None where it cannot.

    Sent to another process it is its text alone. Cost of `place`: of a look into files, so `describe` leaves it out.
    """

    __slots__ = ("place",)
    place: Callable[[int], str | None]

    def __new__(cls, text: str, place: Callable[[int], str | None]) -> Self:
        """A label of this text."""
        label = super().__new__(cls, text)
        label.place = place
        return label

    def __reduce__(self) -> tuple[Any, ...]:
        return str, (str(self),)


@dataclass(frozen=True, slots=True)
class SourceOrigins:
    """Row `index[i]` of source `number`; `label` is its verb and line, perhaps a SourceLabel."""

    number: int
    label: str
    index: Indices

    def __len__(self) -> int:
        return len(self.index)

    def ids(self) -> UInt64s:
        return mix_ids(self.index.astype(np.uint64), self.number)

    def take(self, indices: Indices) -> Origins:
        return SourceOrigins(self.number, self.label, self.index[indices])

    def describe(self, row: int) -> str:
        return f"element {self.index[row]} of {self.label}"


@dataclass(frozen=True, slots=True)
class StoredOrigins:
    """Identities that were written down: `digests[i]` of element `index[i]` of what is kept; `label`: by which verb."""

    digests: UInt64s
    label: str
    index: Indices

    def __len__(self) -> int:
        return len(self.index)

    def ids(self) -> UInt64s:
        return np.array(self.digests)

    def take(self, indices: Indices) -> Origins:
        return StoredOrigins(self.digests[indices], self.label, self.index[indices])

    def describe(self, row: int) -> str:
        return f"element {self.index[row]} of {self.label}"


NOWHERE = SourceOrigins(-1, "", np.empty(0, dtype=np.int64))
"""The origins of no elements."""


@dataclass(frozen=True, slots=True)
class ZipOrigins:
    """Elements joined from one of each part."""

    parts: tuple[Origins, ...]

    def __len__(self) -> int:
        return len(self.parts[0])

    def ids(self) -> UInt64s:
        joined = self.parts[0].ids()
        for part in self.parts[1:]:
            joined = mix_ids(joined, part.ids())
        return joined

    def take(self, indices: Indices) -> Origins:
        return ZipOrigins(tuple(part.take(indices) for part in self.parts))

    def describe(self, row: int) -> str:
        return self.parts[0].describe(row)


@dataclass(frozen=True, slots=True)
class PassOrigins:
    """The elements of pass `repetition` (from 1) of the repeat that is node `number`."""

    inner: Origins
    number: int
    repetition: int

    def __len__(self) -> int:
        return len(self.inner)

    def ids(self) -> UInt64s:
        return mix_ids(self.inner.ids(), (self.number << 32) + self.repetition)

    def take(self, indices: Indices) -> Origins:
        return PassOrigins(self.inner.take(indices), self.number, self.repetition)

    def describe(self, row: int) -> str:
        return f"{self.inner.describe(row)} (pass {self.repetition + 1})"


@dataclass(frozen=True, slots=True)
class BatchOrigins:
    """Batches of consecutive elements of `inner`: batch i holds rows starts[i] to starts[i] + counts[i]."""

    inner: Origins
    starts: Indices
    counts: Indices

    def __len__(self) -> int:
        return len(self.starts)

    def ids(self) -> UInt64s:
        return mix_ids(self.inner.take(self.starts).ids(), self.counts.astype(np.uint64))

    def take(self, indices: Indices) -> Origins:
        return BatchOrigins(self.inner, self.starts[indices], self.counts[indices])

    def describe(self, row: int) -> str:
        return f"batch of {self.counts[row]} from {self.inner.describe(int(self.starts[row]))}"


@dataclass(frozen=True, slots=True)
class WindowOrigins(BatchOrigins):
    """Windows: as batches, but their rows need not follow each other, and windows may share them."""

    def take(self, indices: Indices) -> Origins:
        return WindowOrigins(self.inner, self.starts[indices], self.counts[indices])

    def describe(self, row: int) -> str:
        return f"window of {self.counts[row]} from {self.inner.describe(int(self.starts[row]))}"


@dataclass(frozen=True, slots=True)
class ChildOrigins:
    """Elements of nested datasets: element i came as `inner` i of the dataset opened for element row[i] of `parent`."""

    parent: Origins
    row: Indices
    inner: Origins

    def __len__(self) -> int:
        return len(self.row)

    def ids(self) -> UInt64s:
        return mix_ids(self.parent.take(self.row).ids(), self.inner.ids())

    def take(self, indices: Indices) -> Origins:
        return ChildOrigins(self.parent, self.row[indices], self.inner.take(indices))

    def describe(self, row: int) -> str:
        return f"{self.inner.describe(row)}, opened for {self.parent.describe(int(self.row[row]))}"


@dataclass(frozen=True, slots=True)
class RowOrigins:
    """Row `row[i]` of element i of `inner`: what unbatching gives."""

    inner: Origins
    row: Indices

    def __len__(self) -> int:
        return len(self.row)

    def ids(self) -> UInt64s:
        return mix_ids(self.inner.ids(), self.row.astype(np.uint64))

    def take(self, indices: Indices) -> Origins:
        return RowOrigins(self.inner.take(indices), self.row[indices])

    def describe(self, row: int) -> str:
        return f"row {self.row[row]} of {self.inner.describe(row)}"


@dataclass(frozen=True, slots=True)
class MixedOrigins:
    """Elements of several kinds of origin: element i is row `row[i]` of `parts[part[i]]`."""

    parts: tuple[Origins, ...]
    part: NDArray[np.int64]
    row: Indices

    def __len__(self) -> int:
        return len(self.row)

    def ids(self) -> UInt64s:
        ids = np.empty(len(self.row), dtype=np.uint64)
        if not len(ids):
            return ids
        order = np.argsort(self.part, kind="stable")
        numbers, first = np.unique(self.part[order], return_index=True)
        for number, chosen in zip(numbers.tolist(), np.split(order, first[1:]), strict=True):
            ids[chosen] = self.parts[number].take(self.row[chosen]).ids()
        return ids

    def take(self, indices: Indices) -> Origins:
        return MixedOrigins(self.parts, self.part[indices], self.row[indices])

    def describe(self, row: int) -> str:
        return self.parts[int(self.part[row])].describe(int(self.row[row]))


def place_of(origins: Origins, row: int) -> str | None:
    """Where an element lies, if its source can say. For errors that end a run: it may take a look into files."""
    while not isinstance(origins, SourceOrigins):
        if isinstance(origins, MixedOrigins):
            part, row = int(origins.part[row]), int(origins.row[row])
            origins = origins.parts[part]
        elif isinstance(origins, ZipOrigins):
            origins = origins.parts[0]
        elif isinstance(origins, PassOrigins | ChildOrigins | RowOrigins):
            origins = origins.inner
        else:
            return None
    return origins.label.place(int(origins.index[row])) if isinstance(origins.label, SourceLabel) else None


def concat_origins(parts: Sequence[Origins]) -> Origins:
    """The origins of blocks laid one after another."""
    first = parts[0]
    if len(parts) == 1:
        return first
    if isinstance(first, SourceOrigins) and all(
        isinstance(p, SourceOrigins) and p.number == first.number for p in parts
    ):
        sources: list[SourceOrigins] = list(parts)  # type: ignore[arg-type]  # the line above says they are
        # Of several children of one nested dataset, each knows its own places: then none is told.
        label = first.label if all(p.label is first.label for p in sources) else str(first.label)
        return SourceOrigins(first.number, label, np.concatenate([p.index for p in sources]))
    if isinstance(first, PassOrigins) and all(
        isinstance(p, PassOrigins) and (p.number, p.repetition) == (first.number, first.repetition) for p in parts
    ):
        return PassOrigins(concat_origins([p.inner for p in parts]), first.number, first.repetition)  # type: ignore[attr-defined]  # likewise
    if isinstance(first, ZipOrigins) and all(isinstance(p, ZipOrigins) for p in parts):
        columns = zip(*(p.parts for p in parts), strict=True)  # type: ignore[attr-defined]  # likewise
        return ZipOrigins(tuple(concat_origins(column) for column in columns))
    lengths = [len(p) for p in parts]
    if type(first) in (BatchOrigins, WindowOrigins) and all(type(p) is type(first) for p in parts):
        return _concat_batches(parts)  # type: ignore[arg-type]  # likewise
    if all(isinstance(p, ChildOrigins) for p in parts):
        return _concat_children(parts)  # type: ignore[arg-type]  # likewise
    return MixedOrigins(
        tuple(parts),
        np.repeat(np.arange(len(parts), dtype=np.int64), lengths),
        np.concatenate([np.arange(length, dtype=np.int64) for length in lengths]),
    )


def _concat_batches(parts: Sequence[BatchOrigins]) -> Origins:
    ends = np.cumsum([len(part.inner) for part in parts]) - [len(part.inner) for part in parts]
    starts = np.concatenate([part.starts + end for part, end in zip(parts, ends.tolist(), strict=True)])
    inner = concat_origins([part.inner for part in parts])
    return type(parts[0])(inner, starts, np.concatenate([part.counts for part in parts]))


def _concat_children(parts: Sequence[ChildOrigins]) -> Origins:
    """Most often all were opened for elements of one block, whose origins they share."""
    parents: list[Origins] = []
    start, rows = 0, []
    for part in parts:
        if not parents or part.parent is not parents[-1]:
            start += len(parents[-1]) if parents else 0
            parents.append(part.parent)
        rows.append(part.row + start if start else part.row)
    return ChildOrigins(concat_origins(parents), np.concatenate(rows), concat_origins([part.inner for part in parts]))
