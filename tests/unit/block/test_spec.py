from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
import pytest

from penstock.block.spec import BYTES, STR, Spec, as_spec, render_spec
from penstock.errors import InvalidArgumentError


class FakeDType:
    """As tf.DType: knows the NumPy type it stands for."""

    def __init__(self, numpy_dtype: Any) -> None:
        self.as_numpy_dtype = numpy_dtype


class FakeShape(tuple[Any, ...]):
    """As tf.TensorShape: iterable, with a rank that may be None."""

    __slots__ = ()

    @property
    def rank(self) -> int:
        return len(self)


class UnknownShape:
    rank = None

    def __iter__(self) -> Any:
        raise ValueError("Cannot iterate over a shape with unknown rank.")


class FakeTensorSpec:
    def __init__(self, shape: Any, dtype: Any) -> None:
        self.shape = shape
        self.dtype = FakeDType(dtype)


@pytest.mark.parametrize(
    ("dtype", "expected"),
    [
        ("float32", np.dtype("float32")),
        (np.uint8, np.dtype("uint8")),
        (int, np.dtype("int64")),
        (bool, np.dtype("bool")),
        (bytes, BYTES),
        (str, STR),
        ("S7", BYTES),
        ("<U3", STR),
        (object, BYTES),
        (np.dtype(object), BYTES),
        (FakeDType(np.float16), np.dtype("float16")),
        (FakeDType(object), BYTES),
        (ml_dtypes.bfloat16, np.dtype(ml_dtypes.bfloat16)),
    ],
)
def test_spec_dtype_is_a_numpy_dtype(dtype: Any, expected: Any) -> None:
    assert Spec((), dtype).dtype == expected


@pytest.mark.parametrize("shape", [(-1,), (2.5,), ("a",), 3, "ab"])
def test_spec_refuses_a_bad_shape(shape: Any) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        Spec(shape, "int64")
    assert caught.value.got == repr(shape)


@pytest.mark.parametrize("dtype", ["nonsense", 3, np.zeros(2)])
def test_spec_refuses_what_is_no_dtype(dtype: Any) -> None:
    with pytest.raises(InvalidArgumentError, match="not a dtype"):
        Spec((), dtype)


@pytest.mark.parametrize(
    ("promised", "got", "fits"),
    [
        (Spec((2, 3), "int64"), Spec((2, 3), "int64"), True),
        (Spec((None, 3), "int64"), Spec((7, 3), "int64"), True),
        (Spec((2, 3), "int64"), Spec((None, 3), "int64"), True),
        (Spec(None, "int64"), Spec((2, 3), "int64"), True),
        (Spec((2, 3), "int64"), Spec(None, "int64"), True),
        (Spec((2, 3), "int64"), Spec((2, 4), "int64"), False),
        (Spec((2, 3), "int64"), Spec((2,), "int64"), False),
        (Spec((), "int64"), Spec((), "int32"), False),
        (Spec((), bytes), Spec((), str), False),
    ],
)
def test_spec_is_compatible_where_known_dimensions_agree(promised: Spec, got: Spec, fits: bool) -> None:
    assert promised.is_compatible_with(got) is fits


@pytest.mark.parametrize(
    ("left", "right", "merged"),
    [
        ((2, 3), (2, 3), (2, 3)),
        ((2, 3), (4, 3), (None, 3)),
        ((None, 3), (4, 3), (None, 3)),
        ((2, 3), (2,), None),
        (None, (2,), None),
        ((), (), ()),
    ],
)
def test_spec_merge_is_the_narrowest_that_both_fit(left: Any, right: Any, merged: Any) -> None:
    both = Spec(left, "int64"), Spec(right, "int64")
    result = both[0].merge(both[1])
    assert result == Spec(merged, "int64")
    assert all(result.is_compatible_with(spec) for spec in both)


@pytest.mark.parametrize(("shape", "batched"), [((3,), (8, 3)), ((), (8,)), (None, None)])
def test_spec_batched_gains_a_leading_axis(shape: Any, batched: Any) -> None:
    assert Spec(shape, "int64").batched(8) == Spec(batched, "int64")


@pytest.mark.parametrize(
    ("spec", "text"),
    [
        (Spec((2, None), "float32"), "float32[2, ?]"),
        (Spec((), bytes), "bytes[]"),
        (Spec((None,), str), "str[?]"),
        (Spec(None, "int64"), "int64[...]"),
    ],
)
def test_spec_prints_on_part_of_a_line(spec: Spec, text: str) -> None:
    assert str(spec) == text


def test_render_spec_of_a_nest() -> None:
    tree = {"a": (Spec((), "int64"),), "b": (Spec((2,), "bool"), Spec((), str))}
    assert render_spec(tree) == "{'a': (int64[],), 'b': (bool[2], str[])}"


def test_as_spec_takes_what_looks_like_tf_tensor_spec() -> None:
    signature = {
        "image": FakeTensorSpec(FakeShape([None, 4]), np.uint8),
        "path": FakeTensorSpec(FakeShape([]), object),
        "any": FakeTensorSpec(UnknownShape(), np.float32),
    }
    structure, specs = as_spec(signature)
    assert structure.names() == ["image", "path", "any"]
    assert specs == (Spec((None, 4), "uint8"), Spec((), bytes), Spec(None, "float32"))


@pytest.mark.parametrize("bad", [5, [Spec((), "int64")], "int64", (Spec((), "int64"), 3)])
def test_as_spec_refuses_what_is_no_spec(bad: Any) -> None:
    with pytest.raises(InvalidArgumentError) as caught:
        as_spec(bad)
    assert caught.value.expected == "penstock.Spec(shape, dtype)"
