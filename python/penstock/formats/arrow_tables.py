"""Rows of Arrow tables by position: which part a row is in, that part read once and kept a while, its rows gathered."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.block.columns import Column, Indices
from penstock.errors import DecodeError, PenstockError
from penstock.formats.arrow_leaves import ArrowLeaf
from penstock.formats.arrow_values import LeafValues, Picked, leaf_values, pick, pick_batches
from penstock.formats.part_cache import PartCache
from penstock.formats.store import Found, Memory

Part = tuple[LeafValues, ...]


class OpenTables:
    """Parts of a table, one after another: `rows` of each. At most `cache_bytes` of them are kept.

    A part goes once as many rows of it were taken as it has: an epoch needs it no more, its memory, still warm, is that
    of the next, and to read it anew would cost no more a row than it did before.

    `load` gives a part as an Arrow table or record batch; `describe` says where a row of a part lies, for errors.
    `check` raises if the parts of these numbers may not be touched any more. `is_mapped`: what `load` gives lies in a
    file that is mapped, and takes no memory but for what has to be made of it.
    """

    def __init__(
        self,
        leaves: Sequence[ArrowLeaf],
        rows: Sequence[int],
        cache_bytes: int,
        load: Callable[[int], Any],
        describe: Callable[[int, int], str],
        *,
        check: Callable[[Indices], None] | None = None,
        is_mapped: bool = False,
    ) -> None:
        self._leaves = tuple(leaves)
        self._stops = np.cumsum(rows, dtype=np.int64)
        self._starts = self._stops - np.asarray(rows, dtype=np.int64)
        self._table = load
        self._describe = describe
        self._check = check
        self._is_mapped = is_mapped
        self._lock = threading.Lock()
        self._left = np.array(rows, dtype=np.int64)  # rows of each part to take until it goes
        self.cache: PartCache[int, Part] = PartCache(cache_bytes, self._load)

    def _load(self, part: int) -> tuple[Part, int]:
        table = self._table(part)
        values = tuple(leaf_values(table, leaf) for leaf in self._leaves)
        made = [value for value in values if not (self._is_mapped and value.is_view)]
        return values, sum(value.nbytes for value in made)

    def read(self, positions: Indices, memory: Memory) -> Found:
        """The rows at these positions, up to the first that holds a null, or whose part cannot be read."""
        chosen, error = self._chosen(positions)
        if not len(chosen.picked.rows):
            return Found((), 0, error)
        columns = pick(self._leaves, chosen.parts, chosen.picked, memory)
        return Found(columns, len(chosen.picked.rows), error)

    def read_batches(self, positions: Indices, counts: Indices, memory: Memory) -> tuple[Column, ...] | None:
        """As `read`, in batches; None where rows differ in shape, or not all can be had."""
        if not all(leaf.is_number or leaf.is_text for leaf in self._leaves) or not len(positions):
            return None
        chosen, error = self._chosen(positions)
        return None if error is not None else pick_batches(self._leaves, chosen.parts, chosen.picked, counts, memory)

    def _chosen(self, positions: Indices) -> tuple[_Chosen, PenstockError | None]:
        """The parts of these rows, up to the first that cannot be had, and why."""
        part_of = np.searchsorted(self._stops, positions, side="right")
        if self._check is not None:
            self._check(part_of)
        numbers, first, places = np.unique(part_of, return_index=True, return_inverse=True)
        error: PenstockError | None = None
        try:
            parts = self.cache.get(numbers.tolist())
        except PenstockError:
            error, stop = self._first_that_fails(numbers, first)
            if error is not None:
                found, _ = self._chosen(positions[:stop]) if stop else (_NONE, None)
                return found, error
            return self._chosen(positions)
        rows = positions - self._starts[part_of]
        null = self._first_null(numbers, parts, places, rows)
        if null is not None:
            stop, error = null
            if not stop:
                return _NONE, error
            found, earlier = self._chosen(positions[:stop])
            return found, error if earlier is None else earlier
        self._count(numbers, np.bincount(places, minlength=len(numbers)))
        return _Chosen(parts, Picked.of(places, rows, len(parts))), None

    def _count(self, numbers: Indices, taken: Indices) -> None:
        """So many rows of these parts are taken; lets go of parts that have given all. What is mapped costs nothing."""
        if self._is_mapped:
            return
        with self._lock:
            self._left[numbers] -= taken
            gone = numbers[self._left[numbers] <= 0]
            self._left[gone] = (self._stops - self._starts)[gone]
        self.cache.let_go(gone.tolist())

    def _first_that_fails(self, numbers: Indices, first: Indices) -> tuple[PenstockError | None, int]:
        """Of parts and their first places, the error of the one that comes first and cannot be read, and its place."""
        for turn in np.argsort(first).tolist():
            try:
                self.cache.get([int(numbers[turn])])
            except PenstockError as error:
                return error, int(first[turn])
        return None, 0

    def _first_null(
        self, numbers: Indices, parts: Sequence[Part], places: Indices, rows: Indices
    ) -> tuple[int, DecodeError] | None:
        """The first place at which a leaf is null, and the error for it."""
        stop, odd = len(rows), None
        for number, part in enumerate(parts):
            for leaf, values in zip(self._leaves, part, strict=True):
                if values.nulls is None:
                    continue
                mine = np.flatnonzero(places[:stop] == number)
                at = mine[values.nulls[rows[mine]]]
                if len(at):
                    stop, odd = int(at[0]), (leaf, int(numbers[number]))
        if odd is None:
            return None
        leaf, part_number = odd
        return stop, DecodeError(
            f"column {leaf.name!r} is null", expected="a value", where=self._describe(part_number, int(rows[stop])),
            remedy=f"fill_null={{{leaf.name!r}: ...}} says what takes its place",
        )  # fmt: skip


@dataclass(frozen=True, slots=True)
class _Chosen:
    """Parts, and the rows picked of them."""

    parts: Sequence[Part]
    picked: Picked


_NO_ROWS: Indices = np.empty(0, dtype=np.int64)
_NONE = _Chosen((), Picked(_NO_ROWS, _NO_ROWS, (), None))
