"""Elements of several files, one file after another: which file a position is in, and the files, opened when needed.

What formats whose streams have an index share.
"""

from __future__ import annotations

import threading
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any, Generic, Self, TypeVar

import numpy as np

from penstock.block.columns import Column, Indices
from penstock.block.spec import Spec
from penstock.block.tree import Structure
from penstock.formats.files import LocalFile, PieceFile
from penstock.formats.store import Memory, Stream

S = TypeVar("S", bound=Stream)
Index = TypeVar("Index")


@dataclass(frozen=True, slots=True)
class StreamStore(ABC, Generic[S, Index]):
    """The elements of a stream by position. `indices`: of each file, where its elements lie."""

    stream: S
    indices: tuple[Index, ...]

    @property
    @abstractmethod
    def counts(self) -> list[int]:
        """Elements of each file."""

    @property
    def files(self) -> Sequence[LocalFile]:
        return self.stream.files

    @property
    def count(self) -> int:
        return sum(self.counts)

    @property
    def structure(self) -> Structure:
        return self.stream.structure

    @property
    def specs(self) -> tuple[Spec, ...]:
        return self.stream.specs

    @property
    def pieces(self) -> None:
        return None

    def part(self, first: int, step: int) -> Self:
        return replace(self, stream=self.stream.part(first, step), indices=self.indices[first::step])

    def parameters(self) -> dict[str, Any]:
        return self.stream.parameters()


class OpenFiles:
    """`counts`: elements of each file."""

    def __init__(self, counts: Sequence[int]) -> None:
        self._stops = np.cumsum(counts, dtype=np.int64)
        self._starts = self._stops - np.asarray(counts, dtype=np.int64)

    def by_file(self, positions: Indices) -> Iterator[tuple[int, Indices, Indices]]:
        """For each file that is needed: its number, places in `positions`, and the elements' numbers in it."""
        numbers = np.searchsorted(self._stops, positions, side="right")
        for number in np.unique(numbers).tolist():
            places = np.flatnonzero(numbers == number)
            yield number, places, positions[places] - self._starts[number]

    def read_batches(self, positions: Indices, counts: Indices, memory: Memory) -> tuple[Column, ...] | None:
        """None: rows are Python objects on their own."""
        return None


class OpenPieces(OpenFiles):
    """Files of which ranges of bytes are read. `counts`: elements of each."""

    def __init__(self, files: Sequence[LocalFile], counts: Sequence[int]) -> None:
        super().__init__(counts)
        self._files = files
        self._lock = threading.Lock()
        self._opened: dict[int, PieceFile] = {}

    def file(self, number: int) -> PieceFile:
        """File `number`. Raises: ReadError: missing, or changed."""
        with self._lock:
            if number not in self._opened:
                self._opened[number] = PieceFile(self._files[number])
            return self._opened[number]
