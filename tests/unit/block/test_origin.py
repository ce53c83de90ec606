"""Origins: identities that randomness is keyed by. The golden numbers may never change: augmentation would."""

from __future__ import annotations

from itertools import pairwise
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.origin import (
    BatchOrigins,
    MixedOrigins,
    Origins,
    PassOrigins,
    RowOrigins,
    SourceOrigins,
    ZipOrigins,
    concat_origins,
)

COUNT = 6


def _source(number: int = 0, first: int = 0) -> SourceOrigins:
    return SourceOrigins(number, f"source {number}", np.arange(first, first + COUNT, dtype=np.int64))


def _numbers(*values: int) -> Any:
    return np.array(values, dtype=np.int64)


KINDS: dict[str, Origins] = {
    "source": _source(),
    "zip": ZipOrigins((_source(0), _source(1))),
    "pass": PassOrigins(_source(), 3, 2),
    "batch": BatchOrigins(_source(), _numbers(0, 1, 2, 3, 4, 5), _numbers(1, 1, 2, 2, 1, 1)),
    "row": RowOrigins(_source(), _numbers(0, 1, 2, 0, 1, 2)),
    "mixed": MixedOrigins(
        (_source(0), PassOrigins(_source(1), 2, 1)), _numbers(0, 1, 1, 0, 1, 0), _numbers(5, 4, 3, 2, 1, 0)
    ),
    "nested": PassOrigins(ZipOrigins((_source(0), RowOrigins(_source(2), _numbers(0, 0, 1, 1, 2, 2)))), 7, 1),
}

# The first two identities of each kind.
GOLDEN: dict[str, list[int]] = {
    "source": [16294208416658607535, 10451216379200822465],
    "zip": [16442653729211106778, 6535643493441466281],
    "pass": [16059838527612195570, 13989022046877410679],
    "batch": [12935080325729570654, 17405687883870564846],
    "row": [12035550249420947055, 17405687883870564846],
    "mixed": [7134611160154358618, 3914661878367174933],
    "nested": [15857260502002809808, 12519148569234039339],
}

per_kind = pytest.mark.parametrize("kind", KINDS)


@per_kind
@given(st.lists(st.integers(0, COUNT - 1), max_size=8))
def test_take_commutes_with_ids(kind: str, indices: list[int]) -> None:
    rows = np.array(indices, dtype=np.int64)
    assert KINDS[kind].take(rows).ids().tolist() == KINDS[kind].ids()[rows].tolist()


@per_kind
@given(st.lists(st.integers(0, COUNT - 1), min_size=1, max_size=8))
def test_take_commutes_with_describe(kind: str, indices: list[int]) -> None:
    taken = KINDS[kind].take(np.array(indices, dtype=np.int64))
    assert [taken.describe(row) for row in range(len(indices))] == [KINDS[kind].describe(i) for i in indices]


@per_kind
@given(st.integers(0, COUNT), st.integers(0, COUNT))
def test_concat_of_slices_is_the_whole(kind: str, first: int, second: int) -> None:
    cuts = [0, *sorted((first, second)), COUNT]
    whole = KINDS[kind]
    parts = [whole.take(np.arange(a, b, dtype=np.int64)) for a, b in pairwise(cuts)]
    joined = concat_origins(parts)
    assert joined.ids().tolist() == whole.ids().tolist()
    assert [joined.describe(i) for i in range(COUNT)] == [whole.describe(i) for i in range(COUNT)]


@pytest.mark.parametrize("left", KINDS)
@pytest.mark.parametrize("right", KINDS)
def test_concat_of_two_kinds_keeps_both(left: str, right: str) -> None:
    joined = concat_origins([KINDS[left], KINDS[right]])
    assert joined.ids().tolist() == [*KINDS[left].ids().tolist(), *KINDS[right].ids().tolist()]
    assert joined.describe(COUNT) == KINDS[right].describe(0)


@per_kind
def test_ids_are_distinct(kind: str) -> None:
    assert len(set(KINDS[kind].ids().tolist())) == COUNT


def test_ids_differ_between_kinds() -> None:
    # Not with "row": row 1 of an element has the identity of a batch of one. No dataset holds both.
    every = np.concatenate([KINDS[name].ids() for name in ("source", "zip", "pass", "batch", "nested")])
    assert len(set(every.tolist())) == len(every)


@per_kind
def test_ids_are_those_pinned(kind: str) -> None:
    assert KINDS[kind].ids()[:2].tolist() == GOLDEN[kind]


def test_ids_of_a_large_source_are_distinct() -> None:
    ids = SourceOrigins(0, "", np.arange(100_000, dtype=np.int64)).ids()
    assert len(np.unique(ids)) == 100_000


@pytest.mark.parametrize(
    ("kind", "text"),
    [
        ("source", "element 1 of source 0"),
        ("zip", "element 1 of source 0"),
        ("pass", "element 1 of source 0 (pass 3)"),
        ("batch", "batch of 1 from element 1 of source 0"),
        ("row", "row 1 of element 1 of source 0"),
        ("mixed", "element 4 of source 1 (pass 2)"),
        ("nested", "element 1 of source 0 (pass 2)"),
    ],
)
def test_describe_is_for_people(kind: str, text: str) -> None:
    assert KINDS[kind].describe(1) == text


def test_batch_ids_depend_on_the_count() -> None:
    one = BatchOrigins(_source(), _numbers(0), _numbers(1)).ids()
    two = BatchOrigins(_source(), _numbers(0), _numbers(2)).ids()
    assert one[0] != two[0]


def test_source_ids_depend_on_the_number_of_the_source() -> None:
    assert not set(_source(0).ids().tolist()) & set(_source(1).ids().tolist())
