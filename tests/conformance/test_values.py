"""What comes out is what went in: values, exactly, through every source and through functions."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from penstock import Dataset
from penstock.testing import freeze

TEXTS: list[list[Any]] = [[b"a\0", b"", b"\0\0"], ["a\0", "", "\0é"], [b"abc"], [np.str_("x"), np.str_("yy")]]


@pytest.mark.parametrize("texts", TEXTS, ids=repr)
def test_text_keeps_every_byte(texts: list[Any]) -> None:
    kind = bytes if isinstance(texts[0], bytes) else str
    expected = [kind(text) for text in texts]
    assert list(Dataset.from_tensor_slices(texts)) == expected
    assert list(Dataset.from_source(texts)) == expected
    assert list(Dataset.from_tensor_slices(np.array(texts, dtype=object))) == expected
    for whole in (
        next(iter(Dataset.from_tensors(texts))),
        next(iter(Dataset.from_tensor_slices([texts]))),
        next(iter(Dataset.range(1).map(lambda _: texts))),
        next(iter(Dataset.from_tensor_slices(texts).batch(9))),
        next(iter(Dataset.from_tensor_slices(texts).cache().shuffle(seed=0).batch(9).map(sorted))),
    ):
        assert sorted(whole.tolist()) == sorted(expected)
        assert {type(item) for item in whole.tolist()} == {kind}


@pytest.mark.parametrize(
    ("value", "dtype"),
    [
        (1, "int64"),
        (1.5, "float64"),
        (True, "bool"),
        (1j, "complex128"),
        (np.float32(2), "float32"),
        (np.uint8(3), "uint8"),
    ],
)
def test_numbers_follow_numpy(value: Any, dtype: str) -> None:
    for dataset in (Dataset.from_tensor_slices([value]), Dataset.from_tensors(value), Dataset.from_source([value])):
        (element,) = dataset
        assert freeze(element) == freeze(np.dtype(dtype).type(value))


def test_integers_beyond_int64_are_kept_only_as_arrays() -> None:
    big = np.array([2**64 - 1], dtype=np.uint64)
    assert next(iter(Dataset.from_tensor_slices(big))) == 2**64 - 1
