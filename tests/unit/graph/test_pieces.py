"""Pieces through verbs: where each begins in what a verb makes, by brute force; and the order over them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock import Dataset
from penstock.block.spec import Spec
from penstock.block.tree import LEAF
from penstock.engine.operators.piecewise import PieceOrder
from penstock.errors import Location
from penstock.formats.store import Pieces
from penstock.graph.nodes import FormatRows
from penstock.graph.pieces import pieces_of

ROWS = (5, 1, 0, 7, 4)
OWNER = np.repeat(np.arange(5), ROWS)
"""The piece of each element."""
PIECES = Pieces(ROWS, 6)


@dataclass(frozen=True)
class Plain:
    """A store of which nothing is read."""

    files: Any = ()
    count: int = sum(ROWS)
    structure: Any = LEAF
    specs: Any = (Spec((), np.int64),)
    pieces: Any = PIECES

    def parameters(self) -> dict[str, Any]:
        return {}


def source() -> Dataset:
    return Dataset._of(FormatRows(location=Location("here", 1), store=Plain(), name="plain"))  # type: ignore[arg-type]


def rows(dataset: Dataset) -> tuple[int, ...] | None:
    pieces = pieces_of(dataset._node)
    return None if pieces is None else tuple(row for row in pieces.rows if row)


def runs(owners: Any) -> tuple[int, ...]:
    """Lengths of runs of one owner."""
    owners = np.asarray(owners)
    edges = np.flatnonzero(np.diff(owners)) + 1
    return tuple(len(part) for part in np.split(owners, edges) if len(part))


@pytest.mark.parametrize(
    "cut", [slice(3, 14), slice(None, None, 3), slice(15, 2, -2), slice(2, 3), slice(16, None, -1)]
)
def test_slices_keep_their_part_of_each_piece(cut: slice) -> None:
    assert rows(source()[cut]) == runs(OWNER[cut])


def test_verbs_that_keep_elements_keep_pieces() -> None:
    assert rows(source().map(lambda x: x).enumerate().prefetch(2)) == runs(OWNER)
    assert rows(source().take(9)) == runs(OWNER[:9])
    assert rows(source().skip(4)) == runs(OWNER[4:])
    assert rows(source().shard(2, 1)) == runs(OWNER[1::2])
    assert rows(source().repeat(2)) == runs(OWNER) * 2


def test_batch_belongs_to_the_piece_it_begins_in() -> None:
    pieces = pieces_of(source().batch(3)._node)
    assert pieces is not None
    assert sum(pieces.rows) == 6
    assert pieces.together == 2


def test_concatenation_with_what_has_no_pieces() -> None:
    pieces = pieces_of(source().concatenate(Dataset.range(10))._node)
    assert pieces is not None
    assert sum(pieces.rows) == 27


def test_shuffled_input_has_none() -> None:
    assert rows(source().shuffle()) is None
    assert rows(Dataset.range(9)) is None


@given(st.lists(st.integers(0, 40), min_size=1, max_size=30), st.integers(1, 100), st.integers(0, 2**64 - 1))
def test_order_is_a_permutation_in_windows(sizes: list[int], together: int, key: int) -> None:
    count = sum(sizes)
    order = PieceOrder(Pieces(tuple(sizes), together))
    images = order.images(key, np.arange(count))
    assert sorted(images.tolist()) == list(range(count))
    assert np.array_equal(order.images(key, np.arange(count)[::-3]), images[::-3])
    owners = np.repeat(np.arange(len(sizes)), sizes)[images]
    spans = [(int(at[0]), int(at[-1])) for piece in set(owners.tolist()) if len(at := np.flatnonzero(owners == piece))]
    longest = together - 1 + max(sizes, default=0)  # a window ends with the piece that fills it
    assert all(last - first < max(longest, 1) for first, last in spans)
