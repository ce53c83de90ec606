"""Packed sequences: what lies where, what is refused, and that nothing is lost."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

import penstock as ps
from penstock.errors import PenstockError, StructureError
from penstock.testing import collect

D = ps.Dataset


def rows(lengths: list[int]) -> ps.Dataset:
    """Sequence i holds 10 i, 10 i + 1, ..."""
    return D.from_source([{"x": np.arange(size) + 10 * number} for number, size in enumerate(lengths, 1)])


def test_first_fit_fills_the_first_bin_with_room() -> None:
    first, second = rows([3, 4, 2]).pack(6, num_packing_bins=2)
    assert first["x"].tolist() == [10, 11, 12, 30, 31, 0]
    assert first["x_segment_ids"].tolist() == [1, 1, 1, 2, 2, 0]
    assert first["x_positions"].tolist() == [0, 1, 2, 0, 1, 0]
    assert second["x"].tolist() == [20, 21, 22, 23, 0, 0]


def test_best_fit_fills_the_fullest_bin_with_room() -> None:
    first, second = rows([3, 4, 2]).pack(6, "best_fit", num_packing_bins=2)
    assert first["x"].tolist() == [10, 11, 12, 0, 0, 0]
    assert second["x"].tolist() == [20, 21, 22, 23, 30, 31]


def test_concat_splits_what_does_not_fit() -> None:
    packed = list(rows([3, 4, 2]).pack(6, "concat", padding_values=-1))
    assert [element["x"].tolist() for element in packed] == [[10, 11, 12, 20, 21, 22], [23, 30, 31, -1, -1, -1]]
    assert packed[1]["x_segment_ids"].tolist() == [1, 2, 2, 0, 0, 0]
    assert packed[1]["x_positions"].tolist() == [0, 0, 1, 0, 0, 0]


def test_one_array_is_called_tokens() -> None:
    dataset = D.range(3).map(lambda x: np.arange(x + 1), output_signature=ps.Spec((None,), np.int64)).pack(6)
    assert list(dataset.element_spec) == ["tokens", "tokens_segment_ids", "tokens_positions"]
    assert dataset.element_spec["tokens"] == ps.Spec((6,), np.int64)
    assert dataset.element_spec["tokens_positions"] == ps.Spec((6,), np.int32)
    (element,) = dataset
    assert element["tokens"].tolist() == [0, 0, 1, 0, 1, 2]


@given(
    st.lists(st.integers(0, 8), max_size=30),
    st.sampled_from(["first_fit", "best_fit", "concat"]),
    st.integers(1, 4),
    st.sampled_from([1, 3, None]),
)
def test_every_token_comes_once_in_its_segment(lengths: list[int], strategy: Any, bins: int, block: int | None) -> None:
    options = ps.Options(executor="inline", block_size=block)
    packed = collect(rows(lengths).pack(8, strategy, bins, padding_values=-1).with_options(options))
    found: dict[int, list[int]] = {}
    for element in packed:
        tokens, segments, positions = (element[f"x{kind}"] for kind in ("", "_segment_ids", "_positions"))
        assert ((segments == 0) == (tokens == -1)).all()
        assert not positions[segments == 0].any()
        for segment in np.unique(segments[segments > 0]):
            piece = tokens[segments == segment]
            assert positions[segments == segment].tolist() == list(range(len(piece)))
            found.setdefault(int(piece[0]) // 10, []).extend(piece.tolist())
    expected = {i: [10 * i + k for k in range(size)] for i, size in enumerate(lengths, 1) if size}
    assert found == expected


def test_concat_leaves_padding_at_the_end_alone() -> None:
    packed = collect(rows([5, 9, 1, 7, 4]).pack(4, "concat"))
    assert len(packed) == 7
    assert [int((element["x_segment_ids"] == 0).sum()) for element in packed] == [0] * 6 + [2]


@pytest.mark.parametrize("strategy", ["first_fit", "best_fit"])
def test_a_sequence_longer_than_its_length_is_an_error_after_what_came_before(strategy: Any) -> None:
    got, error = until_error(rows([3, 3, 3, 9, 1]).pack(3, strategy, 1))
    assert [element["x"].tolist() for element in got] == [[10, 11, 12], [20, 21, 22]]
    assert isinstance(error, StructureError)
    assert (error.got, error.expected) == ("x: 9", "at most x: 3")
    assert "element 3 of from_source" in str(error.where)


def until_error(dataset: ps.Dataset) -> tuple[list[Any], PenstockError | None]:
    got = []
    try:
        for element in dataset:
            got.append(element)  # noqa: PERF402  # what came before the error is kept
    except PenstockError as error:
        return got, error
    return got, None


@pytest.mark.parametrize(
    ("element", "message"),
    [
        (lambda x: {"x": np.zeros((2, 2))}, r'leaf "x" cannot be packed; got float64\[2, 2\]'),
        (lambda x: {"x": 5}, r'leaf "x" cannot be packed; got int64\[\]'),
        (lambda x: {"x": ["a", "b"]}, r'leaf "x" cannot be packed; got str\[2\]'),
        (lambda x: (np.zeros(2), np.zeros(2)), "a dict of 1-D arrays"),
        (lambda x: {"x": {"y": np.zeros(2)}}, "a dict of 1-D arrays"),
        (lambda x: {"x": np.zeros(2), "x_positions": np.zeros(2)}, "two leaves of one name"),
    ],
)
def test_what_is_no_sequence_is_refused(element: Any, message: str) -> None:
    with pytest.raises(StructureError, match=message):
        list(D.range(3).map(element).pack(4))


def test_concat_wants_leaves_of_one_length() -> None:
    with pytest.raises(StructureError, match="sequences of different lengths; got a: 2, b: 3"):
        list(D.range(3).map(lambda x: {"a": np.zeros(2), "b": np.zeros(3)}).pack(4, "concat"))
