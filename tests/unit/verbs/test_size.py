"""Verbs that count, fold and need an end."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps
from penstock.errors import (
    CardinalityError,
    NotIndexableError,
    StructureError,
    UnknownLengthError,
    UserFunctionError,
)
from tests.unit.verbs.runs import until_error

D = ps.Dataset


def stream(count: int) -> ps.Dataset:
    return D.from_generator(lambda: iter(range(count)), output_signature=ps.Spec((), "int64"))


def test_reduce_folds_in_order() -> None:
    for dataset in (D.range(5), stream(5)):
        assert dataset.reduce("", lambda text, x: text + str(x)) == "01234"
        total = dataset.reduce(0, lambda s, x: s + x)
        assert (type(total), total) == (np.int64, 10)


def test_reduce_gives_a_tuple_as_one_argument() -> None:
    pairs = D.zip(D.range(5), D.range(5, 10))
    assert pairs.reduce(0, lambda s, pair: s + pair[0] * pair[1]) == 0 * 5 + 1 * 6 + 2 * 7 + 3 * 8 + 4 * 9
    count, last = pairs.reduce((0, -1), lambda s, pair: (s[0] + 1, pair[1]))
    assert (count, last) == (5, 9)


def test_reduce_of_nothing_is_the_initial_state() -> None:
    assert D.range(0).reduce(np.float32(7), lambda s, x: s) == np.float32(7)


def test_reduce_may_change_its_state_in_place() -> None:
    def add(counts: np.ndarray, x: int) -> np.ndarray:
        counts[x % 3] += 1
        return counts

    start = np.zeros(3, dtype=np.int64)
    for _ in range(2):
        assert D.range(8).reduce(start, add).tolist() == [3, 3, 2]
    assert start.tolist() == [0, 0, 0]


def test_reduce_tells_what_went_wrong_and_where() -> None:
    with pytest.raises(StructureError, match=r"reduce at .*test_size\.py:\d+, element 0.*float64.*int64"):
        D.range(5).reduce(0, lambda s, x: s + 0.5)
    with pytest.raises(UserFunctionError, match=r"reduce at .*element 3") as caught:
        D.range(5).reduce(0, lambda s, x: s + 1 // (3 - int(x)))
    assert isinstance(caught.value.__cause__, ZeroDivisionError)


def test_single_element_is_the_only_one() -> None:
    assert D.range(1).get_single_element() == 0
    assert stream(9).batch(9).get_single_element().tolist() == list(range(9))
    with pytest.raises(CardinalityError, match=r"no element.*one element"):
        D.range(0).get_single_element()
    with pytest.raises(CardinalityError, match="more than one element"):
        stream(2).repeat().get_single_element()


def test_asserted_cardinality_is_known() -> None:
    held = stream(5).assert_cardinality(5)
    assert len(held) == 5
    assert held.batch(2).cardinality() == 3
    assert stream(5).repeat().filter(lambda x: True).assert_cardinality(-1).cardinality() == ps.INFINITE_CARDINALITY


def test_asserted_cardinality_that_is_so_costs_nothing() -> None:
    held = D.range(5).map(abs).assert_cardinality(5).shuffle()
    assert held[2] == D.range(5).map(abs).shuffle()[2]
    assert "assert_cardinality" not in held.explain().split("stages")[1]


@pytest.mark.parametrize(
    ("count", "came", "got"),
    [(7, 5, "5 elements"), (3, 3, "more than that"), (0, 0, "more than that"), (-1, 5, "5 elements")],
)
@pytest.mark.parametrize("dataset", [D.range(5), stream(5)], ids=["range", "stream"])
def test_asserted_cardinality_that_is_not_so_is_an_error(dataset: ps.Dataset, count: int, came: int, got: str) -> None:
    for size in (1, 2, None):
        seen, error = until_error(dataset.assert_cardinality(count), size)
        assert seen == list(range(came))
        assert isinstance(error, CardinalityError)
        assert error.got == got
        assert error.expected == ("elements without end" if count < 0 else f"{count} elements")
        assert "assert_cardinality at" in str(error)
        assert "test_size.py" in str(error)


def test_endless_dataset_has_no_length() -> None:
    for endless in (D.range(5).repeat(), stream(5).repeat()):
        with pytest.raises(UnknownLengthError, match="infinite"):
            len(endless)


def test_slices_of_an_endless_dataset_count_from_its_start() -> None:
    endless = D.range(5).repeat()
    assert [int(x) for x in endless[3:12:4]] == [3, 2, 1]
    assert [int(x) for x in endless[7:2:-2]] == [2, 0, 3]
    assert [int(x) for x in endless[2::-1]] == [2, 1, 0]
    assert endless[4::3].cardinality() == ps.INFINITE_CARDINALITY
    assert [int(x) for x in endless[4::3].take(3)] == [4, 2, 0]
    for cut in (slice(None, -1), slice(-3, None), slice(None, None, -1)):
        with pytest.raises(NotIndexableError, match="counts from its start") as caught:
            _ = endless[cut]
        assert "not negative" in str(caught.value.expected)


def test_slice_of_a_stream_names_the_verb() -> None:
    with pytest.raises(NotIndexableError, match="from_generator at"):
        _ = stream(5)[1::2]
