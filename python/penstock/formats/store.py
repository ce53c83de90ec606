"""What every format with random access is to the engine: a store, opened once, read by position in columns.

A store is data: which files, how many elements, what they look like. Nothing is open in it, so it prints, hashes and is
saved with the pipeline. The engine knows no format: a new one is a class with these few members.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from typing import Any, Protocol, Self

import numpy as np

from penstock.block.columns import Array, Column, Indices
from penstock.block.spec import Spec
from penstock.block.tree import Structure
from penstock.errors import PenstockError
from penstock.formats.files import LocalFile


@dataclass(frozen=True, slots=True)
class Pieces:
    """Elements that are read together: `rows` of each piece, in order; `together`: rows of the pieces to mix at a time.

    Where it is given, reading one element costs its whole piece, so a shuffle visits pieces in a random order, and
    mixes the elements of as many as hold `together` rows.
    """

    rows: tuple[int, ...]
    together: int

    def bounds(self) -> list[int]:
        """Where each piece begins, and where the last one ends."""
        return [0, *accumulate(self.rows)]


@dataclass(frozen=True, slots=True)
class Found:
    """The first `count` of the elements that were asked for, as columns; and why not the one after them."""

    columns: tuple[Column, ...]
    count: int
    error: PenstockError | None = None


class Memory(Protocol):
    """Where rows are written: uninitialised, aligned, recycled when the last array over it dies."""

    def arrays(self, shapes: tuple[tuple[int, ...], ...], dtype: np.dtype[Any]) -> list[Array]:
        """One array a shape."""


class OpenStore(Protocol):
    """A store whose files are open. Used by several threads at once."""

    def read(self, positions: Indices, memory: Memory) -> Found:
        """The elements at `positions`, in their order. Raises: ReadError, DecodeError: none of them can be had."""

    def read_batches(self, positions: Indices, counts: Indices, memory: Memory) -> tuple[Column, ...] | None:
        """The elements at `positions` as batches of `counts` rows, each a row of its column; None: no short way."""
        return None


@dataclass(frozen=True, slots=True)
class Chunk:
    """Elements of a stream, as columns; then what ended them; and what was dropped on the way."""

    columns: tuple[Column, ...]
    count: int
    error: Exception | None = None
    skipped: tuple[Exception, ...] = ()


class Held:
    """What is found out about files while a pipeline runs, and kept with its dataset; found again if they change."""

    def __init__(self) -> None:
        self.lock = threading.Lock()
        self.found: dict[Any, Any] = {}


class Stream(Protocol):
    """Elements in files, or elsewhere, from the first to the last. Data, as a store is."""

    @property
    def files(self) -> Sequence[LocalFile]:
        """The files, in order; none where it is not made of files."""

    @property
    def structure(self) -> Structure:
        """How an element is nested."""

    @property
    def specs(self) -> tuple[Spec, ...]:
        """What each leaf looks like."""

    def part(self, first: int, step: int) -> Self:
        """That of files `first`, `first + step`, ... alone."""

    def parameters(self) -> dict[str, Any]:
        """What decides which elements come, as plain values."""

    def chunks(self, *, skips: bool) -> Iterator[Chunk]:
        """The elements, in order. `skips`: what cannot be read is left out and told, else the first such ends them.

        Raises: ReadError, DecodeError: it cannot go on.
        """

    @property
    def has_index(self) -> bool:
        """Whether its elements can be found by position."""

    def indexed(self, held: Held) -> Store:
        """The same elements by position. Raises: ReadError, DecodeError. Cost: of reading all heads, the first time."""


class Store(Protocol):
    """Elements in files, by position."""

    @property
    def files(self) -> Sequence[LocalFile]:
        """The files, in order; none where it is not made of files."""

    @property
    def count(self) -> int:
        """Elements in all."""

    @property
    def structure(self) -> Structure:
        """How an element is nested."""

    @property
    def specs(self) -> tuple[Spec, ...]:
        """What each leaf looks like."""

    @property
    def pieces(self) -> Pieces | None:
        """What is read together, None where any element is as cheap as the next."""

    def part(self, first: int, step: int) -> Store:
        """That of files `first`, `first + step`, ... alone."""

    def parameters(self) -> dict[str, Any]:
        """What decides which elements come, as plain values."""

    def open(self) -> OpenStore:
        """Opened; nothing is read before it is asked for."""
