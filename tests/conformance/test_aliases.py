"""What aliases the user's arrays is read-only; what is fresh, and every batch, is writable."""

from __future__ import annotations

import numpy as np
import pytest

import penstock as ps

TABLE = np.zeros((5, 100, 100))


def delivered(function, **options):
    return next(iter(ps.Dataset.range(3).map(function, compile=False, **options)))


def test_part_of_a_captured_array_is_read_only():
    assert not delivered(lambda i: TABLE[i]).flags.writeable
    assert not delivered(lambda i: {"part": TABLE[i]})["part"].flags.writeable


def test_a_captured_array_itself_is_read_only():
    assert not delivered(lambda i: TABLE).flags.writeable
    assert not delivered(lambda i: (i, TABLE))[1].flags.writeable


def test_a_fresh_array_is_writable():
    assert delivered(lambda i: TABLE + i).flags.writeable
    assert delivered(lambda i: (i, TABLE * 2))[1].flags.writeable


def test_batches_are_writable():
    assert next(iter(ps.Dataset.range(3).map(lambda i: TABLE[i]).batch(2))).flags.writeable


def test_python_numbers_take_the_dtype_a_signature_promises():
    def generate():
        yield 1, [1, 2], 1.5
        yield 2, [3, 4], 2

    signature = (ps.Spec((), np.int32), ps.Spec((2,), np.float32), ps.Spec((), np.float32))
    elements = list(ps.Dataset.from_generator(generate, output_signature=signature))
    assert [leaf.dtype.name for leaf in elements[1]] == ["int32", "float32", "float32"]


def test_a_number_that_does_not_fit_the_promise_is_an_error():
    dataset = ps.Dataset.from_generator(lambda: iter([1, 2.5]), output_signature=ps.Spec((), np.int32))
    iterator = iter(dataset)
    assert next(iterator) == 1
    with pytest.raises(ps.errors.StructureError, match="element 1"):
        next(iterator)


def test_deterministic_said_by_the_map_wins_over_the_options():
    unordered = ps.Options(deterministic=False)
    told = ps.Dataset.range(9).map(lambda x: x + 1, deterministic=True).with_options(unordered).explain()
    assert "as completed" not in told
