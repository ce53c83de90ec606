from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.block.block import Block, Failure, concat_blocks, preview
from penstock.block.columns import ArrayColumn, BytesColumn
from penstock.block.origin import SourceOrigins
from penstock.block.spec import STR, Spec
from penstock.block.tree import LEAF, structure_of

FAULT = ValueError("fault")


def _block(start: int, stop: int, failure: Failure | None = None) -> Block:
    """Elements {"n": number, "t": text} of the numbers start to stop."""
    numbers = np.arange(start, stop, dtype=np.int64)
    origins = SourceOrigins(0, "range at a.py:1", numbers)
    text = BytesColumn(np.array([str(n) for n in numbers], dtype=object), STR)
    columns = (ArrayColumn(numbers * 10), text) if stop > start else ()
    return Block(structure_of({"n": 0, "t": ""}), columns, origins, failure)


def _elements(block: Block) -> list[Any]:
    return [{"n": int(e["n"]), "t": e["t"]} for e in block.elements()]


def test_element_is_the_nest_of_its_leaves() -> None:
    assert _block(0, 3).element(2) == {"n": 20, "t": "2"}


def test_elements_are_those_of_element() -> None:
    block = _block(0, 4)
    assert list(block.elements()) == [block.element(row) for row in range(4)]


def test_elements_of_an_empty_block() -> None:
    assert list(_block(0, 0).elements()) == []


def test_elements_of_a_lone_leaf() -> None:
    block = Block(LEAF, (ArrayColumn(np.arange(3)),), SourceOrigins(0, "", np.arange(3)))
    assert list(block.elements()) == [0, 1, 2]


def test_spec_tree_is_nested_as_the_elements() -> None:
    assert _block(0, 2).spec_tree() == {"n": Spec((), "int64"), "t": Spec((), str)}


@given(start=st.integers(0, 6), stop=st.integers(0, 8))
def test_slice_gives_elements_and_origins_between(start: int, stop: int) -> None:
    block = _block(0, 6)
    part = block.slice(start, stop)
    assert _elements(part) == _elements(block)[start:stop]
    assert part.origins.ids().tolist() == block.origins.ids()[start:stop].tolist()


@pytest.mark.parametrize(("stop", "kept"), [(2, False), (3, True), (9, True)])
def test_slice_keeps_the_failure_only_at_the_end(stop: int, kept: bool) -> None:
    part = _block(0, 3, Failure(FAULT)).slice(1, stop)
    assert (part.failure is not None) is kept


def test_slice_of_nothing_has_no_columns() -> None:
    empty = _block(0, 3).slice(1, 1)
    assert (len(empty), empty.columns) == (0, ())


def test_take_drops_the_failure() -> None:
    taken = _block(0, 3, Failure(FAULT)).take(np.array([2, 0]))
    assert _elements(taken) == [{"n": 20, "t": "2"}, {"n": 0, "t": "0"}]
    assert taken.failure is None


@pytest.mark.parametrize("rows", [0, 2, 3, 5])
def test_fail_keeps_the_rows_before(rows: int) -> None:
    failed = _block(0, 3).fail(rows, FAULT)
    assert len(failed) == min(rows, 3)
    assert failed.failure == Failure(FAULT)


def test_fail_replaces_an_earlier_failure() -> None:
    other = KeyError("other")
    assert _block(0, 3, Failure(FAULT)).fail(1, other).failure == Failure(other)


@given(st.lists(st.integers(0, 3), min_size=1, max_size=5))
def test_concat_of_slices_is_the_whole(cuts: list[int]) -> None:
    stops = np.cumsum(cuts).tolist()
    parts = [_block(stop - cut, stop) for stop, cut in zip(stops, cuts, strict=True)]
    joined = concat_blocks(parts)
    whole = _block(0, sum(cuts))
    assert _elements(joined) == _elements(whole)
    assert joined.origins.ids().tolist() == whole.origins.ids().tolist()


@pytest.mark.parametrize(("failing", "count"), [(0, 2), (1, 4), (2, 6)])
def test_concat_ends_at_the_first_failure(failing: int, count: int) -> None:
    parts = [_block(2 * i, 2 * i + 2, Failure(FAULT) if i >= failing else None) for i in range(3)]
    joined = concat_blocks(parts)
    assert len(joined) == count
    assert joined.failure == Failure(FAULT)


def test_concat_keeps_a_failure_without_elements() -> None:
    joined = concat_blocks([_block(0, 2), _block(2, 2, Failure(FAULT)), _block(2, 4)])
    assert len(joined) == 2
    assert joined.failure == Failure(FAULT)


def test_concat_of_empty_blocks_is_empty() -> None:
    assert len(concat_blocks([_block(0, 0), _block(0, 0)])) == 0


def test_describe_names_the_origin() -> None:
    assert _block(5, 8).describe(1) == "element 6 of range at a.py:1"


def test_nbytes_is_that_of_the_leaves() -> None:
    block = _block(0, 2)
    assert block.nbytes == sum(column.nbytes for column in block.columns)


@pytest.mark.parametrize(
    ("element", "text"),
    [
        (np.int64(3), "3"),
        (np.float32(0.5), "0.5"),
        ("cat.jpg", "'cat.jpg'"),
        (b"x" * 21, "<21 bytes>"),
        (np.zeros((2, 3), np.uint8), "<uint8 (2, 3)>"),
        (np.array(3), "3"),
        ((1,), "(1,)"),
        ({"a": (1, b"x")}, "{'a': (1, b'x')}"),
    ],
)
def test_preview_is_part_of_a_line(element: Any, text: str) -> None:
    assert preview(element) == text


def test_preview_is_cut() -> None:
    assert len(preview("x" * 500)) == 100
    path = "/data/" + "folder/" * 30 + "dog.jpg"
    assert preview(path).endswith("folder/dog.jpg'")
    assert "dog.jpg" in preview((path, np.zeros((3, 4))))
