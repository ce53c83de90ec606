from __future__ import annotations

import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from penstock.errors import InvalidArgumentError
from penstock.rng import Rng, derive_key, element_scope, mix_ids, philox_reference, scoped_rng


def test_philox_reference_gives_the_known_answer_for_zeros() -> None:
    words = philox_reference(0, np.zeros(1, np.uint64), 0, 4)
    assert words[0].tolist() == [0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8]


@given(
    st.integers(0, 2**64 - 1),
    st.lists(st.integers(0, 2**64 - 1), min_size=1, max_size=3),
    st.integers(0, 2**32 - 1),
    st.integers(1, 9),
)
def test_philox_reference_is_the_textbook_block_function(key: int, ids: list[int], op: int, draws: int) -> None:
    words = philox_reference(key, np.array(ids, np.uint64), op, draws)
    for row, identity in enumerate(ids):
        blocks = [_philox((b, op, identity & 0xFFFFFFFF, identity >> 32), key) for b in range(3)]
        assert words[row].tolist() == [word for block in blocks for word in block][:draws]


def _philox(counter: tuple[int, int, int, int], key: int) -> tuple[int, int, int, int]:
    """Philox4x32-10 in Python integers, from the paper's figure; known answers below hold it in place."""
    c0, c1, c2, c3 = counter
    k0, k1 = key & 0xFFFFFFFF, key >> 32
    for _ in range(10):
        p0, p1 = 0xD2511F53 * c0, 0xCD9E8D57 * c2
        c0, c1, c2, c3 = (p1 >> 32) ^ c1 ^ k0, p1 & 0xFFFFFFFF, (p0 >> 32) ^ c3 ^ k1, p0 & 0xFFFFFFFF
        k0, k1 = (k0 + 0x9E3779B9) & 0xFFFFFFFF, (k1 + 0xBB67AE85) & 0xFFFFFFFF
    return c0, c1, c2, c3


@pytest.mark.parametrize(
    ("counter", "key", "answer"),
    [
        ((0,) * 4, 0, (0x6627E8D5, 0xE169C58D, 0xBC57AC4C, 0x9B00DBD8)),
        ((0xFFFFFFFF,) * 4, 0xFFFFFFFFFFFFFFFF, (0x408F276D, 0x41C83B0E, 0xA20BC7C6, 0x6D5451FD)),
        (
            (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344),
            0x299F31D0A4093822,
            (0xD16CFE09, 0x94FDCCEB, 0x5001E420, 0x24126EA1),
        ),
    ],
)
def test_philox_matches_the_known_answers_of_random123(counter: Any, key: int, answer: Any) -> None:
    assert _philox(counter, key) == answer


# --- keys ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "key"),
    [
        ((), 13020603013274838756),
        (("map", 0, 1), 14796417861675947685),
        (("shuffle", 7, 3, 2), 8432242889859366894),
        ((-1,), 9920551499591878265),
    ],
)
def test_derive_key_is_as_pinned(parts: tuple[Any, ...], key: int) -> None:
    assert derive_key(*parts) == key


def test_derive_key_tells_parts_apart() -> None:
    keys = [derive_key(*parts) for parts in [(1, 2), (12,), ("1", 2), (1, "2"), (2, 1)]]
    assert len(set(keys)) == len(keys)


def test_derive_key_fits_64_bits() -> None:
    assert all(0 <= derive_key("x", n) < 2**64 for n in range(100))


def test_mix_ids_is_as_pinned() -> None:
    ids = np.array([0, 1, 2**64 - 1], np.uint64)
    assert mix_ids(ids, 5).tolist() == [6038094601263162090, 14072917602864530048, 15212506146343009075]


def test_mix_ids_takes_rows_or_one_integer() -> None:
    ids = np.arange(4, dtype=np.uint64)
    assert mix_ids(ids, 3).tolist() == mix_ids(ids, np.full(4, 3, np.uint64)).tolist()


@given(st.integers(0, 2**64 - 2), st.integers(0, 1000))
def test_mix_ids_keeps_different_rows_different(left: int, right: int) -> None:
    ids = np.array([left, left + 1], np.uint64)
    first, second = mix_ids(ids, right).tolist()
    assert first != second


# --- Rng -------------------------------------------------------------------------------------------------------------

DRAWS: dict[str, Callable[[Rng], Any]] = {
    "random": lambda rng: rng.random(),
    "random of a shape": lambda rng: rng.random((2, 3)),
    "uniform": lambda rng: rng.uniform(-1, 1, 5),
    "integers": lambda rng: rng.integers(10, size=7),
    "one integer": lambda rng: rng.integers(3, 9),
    "normal": lambda rng: rng.normal(1, 2, 4),
    "permutation": lambda rng: rng.permutation(9),
    "permutation of rows": lambda rng: rng.permutation(np.arange(20).reshape(10, 2)),
    "choice": lambda rng: rng.choice(5, 3),
    "choice without replacement": lambda rng: rng.choice(5, 3, replace=False),
    "numpy": lambda rng: rng.numpy().gamma(2.0, size=3),
}
per_draw = pytest.mark.parametrize("name", DRAWS)


@per_draw
def test_rng_repeats_for_the_same_stream(name: str) -> None:
    np.testing.assert_array_equal(DRAWS[name](Rng(5, 6, 7)), DRAWS[name](Rng(5, 6, 7)))


@per_draw
@pytest.mark.parametrize("other", [(6, 6, 7), (5, 7, 7), (5, 6, 8)])
def test_rng_differs_for_another_key_origin_or_op(name: str, other: tuple[int, int, int]) -> None:
    many = [np.asarray(DRAWS[name](rng)).tolist() for rng in (Rng(5, 6, 7), Rng(*other))]
    if name == "one integer":
        many = [[rng.integers(2**32) for _ in range(2)] for rng in (Rng(5, 6, 7), Rng(*other))]
    assert many[0] != many[1]


@per_draw
def test_rng_gives_new_numbers_at_each_call(name: str) -> None:
    rng = Rng(11)
    calls = [np.asarray(DRAWS[name](rng)).tolist() for _ in range(8)]
    assert any(call != calls[0] for call in calls)


def test_rng_gives_one_stream_however_it_is_cut() -> None:
    whole, parts = Rng(3, 4), Rng(3, 4)
    assert whole.random(6).tolist() == [parts.random(), *parts.random(2), *parts.random((3, 1)).ravel()]


def test_rng_draws_the_words_of_the_reference() -> None:
    words = philox_reference(9, np.array([8], np.uint64), 7, 4)[0].astype(np.uint64)
    expected = (words[0] | words[1] << np.uint64(32)) >> np.uint64(11)
    assert Rng(9, 8, 7).random() == float(expected) * 2.0**-53


def test_random_is_uniform_in_the_unit_interval() -> None:
    values = Rng(1).random(20_000)
    assert 0 <= values.min() < 0.001
    assert 0.999 < values.max() < 1
    assert abs(values.mean() - 0.5) < 0.01
    assert abs(values.var() - 1 / 12) < 0.002


def test_uniform_stays_in_its_bounds() -> None:
    values = Rng(1).uniform(-3, 5, 20_000)
    assert -3 <= values.min() < -2.9
    assert 4.9 < values.max() < 5
    assert abs(values.mean() - 1) < 0.05


def test_integers_gives_every_value_equally_often() -> None:
    values = Rng(1).integers(-2, 4, 60_000)
    numbers, counts = np.unique(values, return_counts=True)
    assert values.dtype == np.int64
    assert numbers.tolist() == [-2, -1, 0, 1, 2, 3]
    assert abs(counts - 10_000).max() < 400


def test_integers_takes_the_widest_range() -> None:
    values = Rng(1).integers(-(2**31), 2**31, 1000)
    assert values.min() < -(2**30)
    assert values.max() > 2**30


@pytest.mark.parametrize(("low", "high"), [(0, None), (3, 3), (5, 2), (0, 2**32 + 1)])
def test_integers_refuses_an_empty_or_too_wide_range(low: int, high: int | None) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Rng(1).integers(low, high)
    assert caught.value.expected == "1 to 2**32 values"


def test_normal_has_the_mean_and_deviation_asked_for() -> None:
    values = Rng(1).normal(3, 2, 40_000)
    assert np.isfinite(values).all()
    assert abs(values.mean() - 3) < 0.05
    assert abs(values.std() - 2) < 0.05
    assert abs(((values - 3) ** 3).mean()) < 0.3


def test_permutation_is_one() -> None:
    assert sorted(Rng(1).permutation(100).tolist()) == list(range(100))


def test_permutation_gives_each_order_equally_often() -> None:
    orders = [tuple(Rng(1, n).permutation(3).tolist()) for n in range(6000)]
    counts = [orders.count(order) for order in set(orders)]
    assert len(counts) == 6
    assert max(abs(count - 1000) for count in counts) < 150


def test_permutation_takes_a_numpy_integer() -> None:
    assert sorted(Rng(1).permutation(np.int64(5)).tolist()) == [0, 1, 2, 3, 4]


def test_choice_takes_a_numpy_integer() -> None:
    assert Rng(1).choice(np.int64(5)) in range(5)


def test_choice_picks_rows_of_an_array() -> None:
    rows = np.arange(10).reshape(5, 2)
    assert Rng(1).choice(rows).tolist() in rows.tolist()
    assert all(row in rows.tolist() for row in Rng(1).choice(rows, 4).tolist())


def test_choice_without_replacement_gives_no_row_twice() -> None:
    assert len(set(Rng(1).choice(50, 50, replace=False).tolist())) == 50


def test_choice_without_replacement_of_too_many_is_an_error() -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Rng(1).choice(3, 4, replace=False)
    assert caught.value.expected == "at most 3"


@pytest.mark.parametrize("draw", [lambda r: r.random(), lambda r: r.integers(3), lambda r: r.normal()])
def test_draws_without_a_size_are_python_numbers(draw: Callable[[Rng], Any]) -> None:
    assert type(draw(Rng(1))) in (int, float)


@pytest.mark.parametrize("size", [0, (2, 0), ()])
def test_draws_take_any_size(size: Any) -> None:
    assert Rng(1).random(size).shape == np.zeros(size).shape


# --- the scope of an element -----------------------------------------------------------------------------------------


def _ids(*values: int) -> Callable[[], Any]:
    return lambda: np.array(values, np.uint64)


def test_scoped_rng_numbers_ops_in_the_order_of_calls() -> None:
    with element_scope(1, _ids(5, 6)) as scope:
        scope.row = 1
        drawn = [scoped_rng().random() for _ in range(3)]
    assert drawn == [Rng(1, 6, op).random() for op in range(3)]


def test_scoped_rng_begins_anew_for_the_next_element() -> None:
    with element_scope(1, _ids(5, 6)) as scope:
        scoped_rng()
        scope.row, scope.op = 1, 0
        assert scoped_rng().random() == Rng(1, 6, 0).random()


def test_element_scope_restores_the_outer_one() -> None:
    with element_scope(1, _ids(5)):
        scoped_rng()
        with element_scope(2, _ids(7)):
            assert scoped_rng().random() == Rng(2, 7, 0).random()
        assert scoped_rng().random() == Rng(1, 5, 1).random()


def test_element_scope_restores_the_outer_one_after_an_error() -> None:
    with element_scope(1, _ids(5)):
        with pytest.raises(KeyError), element_scope(2, _ids(7)):
            raise KeyError
        assert scoped_rng().random() == Rng(1, 5, 0).random()


def test_element_scope_computes_ids_only_for_who_draws() -> None:
    def explode() -> Any:
        raise AssertionError("computed")

    with element_scope(1, explode):
        pass


def test_element_scope_belongs_to_its_thread() -> None:
    drawn: list[float] = []
    with element_scope(1, _ids(5)):
        thread = threading.Thread(target=lambda: drawn.extend(scoped_rng().random() for _ in range(2)))
        thread.start()
        thread.join()
    assert Rng(1, 5, 0).random() not in drawn


def test_scoped_rng_outside_a_pipeline_is_fresh() -> None:
    assert scoped_rng().random() != scoped_rng().random()
