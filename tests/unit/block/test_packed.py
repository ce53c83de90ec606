"""Bytes in one buffer: a column of them is a column of bytes objects to whoever looks at rows."""

from __future__ import annotations

import pickle
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.block import Block, concat_blocks
from penstock.block.columns import BytesColumn, PackedColumn, concat_columns, object_array
from penstock.block.origin import SourceOrigins
from penstock.block.packed import Packed, Scattered, gather_packed, joined_packed, packed_objects
from penstock.block.spec import BYTES
from penstock.block.tree import LEAF

ROWS = st.lists(st.binary(max_size=20), max_size=12)


def packed_of(rows: list[bytes]) -> Packed:
    """The rows between bytes that are nobody's."""
    data = b"<" + b"|".join(rows) + b">"
    lengths = np.array([len(row) for row in rows], dtype=np.int64)
    stops = np.cumsum(lengths + 1)
    return Packed(np.frombuffer(data, np.uint8), stops - lengths, stops)


def column_of(rows: list[bytes]) -> PackedColumn:
    return PackedColumn(packed_of(rows))


@given(ROWS, st.data())
def test_packed_column_is_as_one_of_objects(rows: list[bytes], data: st.DataObject) -> None:
    for is_looked_at in (False, True):
        packed, plain = column_of(rows), BytesColumn(object_array(rows), BYTES)
        if is_looked_at:
            assert packed.values.tolist() == rows
            assert packed.values is packed.values
        assert len(packed) == len(plain)
        assert (packed.spec, packed.dtype, packed.nbytes) == (plain.spec, plain.dtype, plain.nbytes)
        assert list(packed.rows()) == rows
        assert [packed.row(number) for number in range(len(rows))] == rows
        chosen = np.array(data.draw(st.lists(st.integers(0, max(0, len(rows) - 1)), max_size=9)), np.int64)
        if rows:
            assert packed.take(chosen).rows() == plain.take(chosen).rows()
        start, stop = data.draw(st.integers(0, 12)), data.draw(st.integers(0, 12))
        assert packed.slice(start, stop).rows() == plain.slice(start, stop).rows()


@given(st.lists(ROWS, min_size=1, max_size=4))
def test_packed_columns_are_joined(parts: list[list[bytes]]) -> None:
    every = [row for rows in parts for row in rows]
    joined = concat_columns([column_of(rows) for rows in parts])
    assert isinstance(joined, PackedColumn)
    assert joined.rows() == every
    for chosen in (np.arange(len(every)), np.arange(len(every))[::-3], np.arange(len(every))[1:2]):
        taken = joined.take(chosen)
        assert taken.rows() == [every[number] for number in chosen]
        assert taken.nbytes == BytesColumn(object_array(taken.rows()), BYTES).nbytes
        packed: Any = PackedColumn(taken.packed)
        assert packed.rows() == taken.rows()
    assert [joined.row(number) for number in range(len(every))] == every
    assert joined.slice(1, 4).rows() == every[1:4]
    assert concat_columns([joined.slice(0, 2), joined]).rows() == [*every[:2], *every]
    mixed: Any = concat_columns([column_of(parts[0]), *(BytesColumn(object_array(rows), BYTES) for rows in parts[1:])])
    assert mixed.rows() == every


def test_packed_rows_that_are_taken_have_a_buffer_of_their_own() -> None:
    column = column_of([b"x" * 1000, b"ab", b"c"])
    taken = column.take(np.array([2, 1]))
    assert isinstance(taken, PackedColumn)
    assert taken.packed.data.tobytes() == b"cab"
    assert len(pickle.dumps(column.slice(1, 2))) < 700
    again = pickle.loads(pickle.dumps(column.slice(1, 3)))  # our own
    assert again.rows() == [b"ab", b"c"]


def test_packed_block_is_a_block() -> None:
    rows = [b"a", b"", b"ccc"]
    block = Block(LEAF, (column_of(rows),), SourceOrigins(0, "here", np.arange(3)))
    assert list(block.elements()) == rows
    assert block.element(2) == b"ccc"
    assert list(concat_blocks([block, block.slice(1, 3)]).elements()) == [*rows, *rows[1:]]


def test_joined_rows_share_their_buffers() -> None:
    column = column_of([b"a", b"b", b"c"])
    other = column_of([b"d"])
    joined: Any = concat_columns([column.slice(0, 1), other, column.slice(2, 3)])
    assert [id(buffer) for buffer in joined.scattered.buffers] == [id(each.packed.data) for each in (column, other)]
    assert joined.packed.data.tobytes() == b"adc"
    assert joined.packed is joined.packed


def test_buffers_that_no_row_is_in_are_let_go() -> None:
    column: Any = column_of([b"a", b"b"])
    for number in range(20):
        column = concat_columns([column.slice(1, len(column)), column_of([b"%d" % number])])
        assert len(column.scattered.buffers) <= 2
    assert column.rows() == [b"18", b"19"]
    for rows in (column.slice(1, 2), column.slice(2, 2), concat_columns([column] * 2).take(np.array([1, 1, 1]))):
        assert len(rows.scattered.buffers) == 1
        assert rows.scattered.numbers is None


@pytest.mark.parametrize(("start", "stop"), [(-1, 2), (2, 1), (0, 99), (99, 99), (-(2**63), 2**63 - 1)])
def test_row_outside_its_buffer_is_refused(start: int, stop: int) -> None:
    buffers = (np.zeros(9, np.uint8), np.zeros(200, np.uint8))
    starts, stops = np.array([start]), np.array([stop])
    for rows in (Scattered(buffers, None, starts, stops), Scattered(buffers, np.array([0]), starts, stops)):
        for use in (packed_objects, gather_packed, lambda each: joined_packed([each]) and gather_packed(each)):
            with pytest.raises(ValueError, match="outside"):
                use(rows)
    with pytest.raises(ValueError, match="outside"):
        packed_objects(Scattered(buffers, np.array([2]), np.array([0]), np.array([0])))
