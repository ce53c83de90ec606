"""What a feature of an Example is parsed as: the three kinds of tf.io. Plain values, equal by what they say."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any, NoReturn

import numpy as np

from penstock.block.collate import as_leaf
from penstock.block.columns import Array, object_array
from penstock.block.spec import BYTES, Spec
from penstock.errors import InvalidArgumentError
from penstock.kernels.example import Kind

_KINDS: dict[np.dtype[Any], Kind] = {np.dtype(np.float32): "float", np.dtype(np.int64): "int", BYTES: "bytes"}


class Feature:
    """Base of the three. `kind`: the list that holds it."""

    __slots__ = ()
    _said: tuple[Any, ...]

    dtype: np.dtype[Any]

    @property
    def kind(self) -> Kind:
        return _KINDS[self.dtype]

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Feature) and self._said == other._said

    def __hash__(self) -> int:
        return hash(self._said)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class FixedLenFeature(Feature):
    """A feature of one shape in every record, as tf.io.FixedLenFeature.

    dtype: float32, int64 or bytes. default_value: of a record without the feature; of `shape`, or None: it is required.
    Of a batch an array [n, *shape], of one record one of `shape`.
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    default_value: Array | None = None
    _said: tuple[Any, ...] = field(init=False, repr=False)

    def __init__(self, shape: Any, dtype: Any, default_value: Any = None) -> None:
        _set(self, shape=_shape("FixedLenFeature", shape), dtype=_dtype("FixedLenFeature", dtype))
        _set(self, default_value=_default("FixedLenFeature", default_value, self.dtype, self.shape))
        _set(self, _said=("fixed", self.shape, self.dtype, _flat(self.default_value)))

    @property
    def items(self) -> int:
        """How many values there are in a record."""
        return math.prod(self.shape)


@dataclass(frozen=True, slots=True, init=False, eq=False)
class VarLenFeature(Feature):
    """A feature with any number of values, as tf.io.VarLenFeature.

    dtype: float32, int64 or bytes. Of a batch a `penstock.Ragged`, of one record an array [values]; empty where a
    record has none.
    """

    dtype: np.dtype[Any]
    _said: tuple[Any, ...] = field(init=False, repr=False)

    def __init__(self, dtype: Any) -> None:
        _set(self, dtype=_dtype("VarLenFeature", dtype))
        _set(self, _said=("varying", self.dtype))


@dataclass(frozen=True, slots=True, init=False, eq=False)
class FixedLenSequenceFeature(Feature):
    """A feature with any number of items of one shape, as tf.io.FixedLenSequenceFeature.

    dtype: float32, int64 or bytes. allow_missing: a record without it has no item; True for an Example, in feature
    lists a record without it is an error otherwise. default_value: what fills shorter records of a batch, 0 or b"".
    Of a batch an array [n, most items, *shape], of one record [items, *shape].
    """

    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    allow_missing: bool = False
    default_value: Array | None = None
    _said: tuple[Any, ...] = field(init=False, repr=False)

    def __init__(self, shape: Any, dtype: Any, allow_missing: bool = False, default_value: Any = None) -> None:
        name = "FixedLenSequenceFeature"
        _set(self, shape=_shape(name, shape), dtype=_dtype(name, dtype), allow_missing=bool(allow_missing))
        if not self.items:
            raise InvalidArgumentError(f"{name}: a shape of no values", got=str(self.shape))
        _set(self, default_value=_default(name, default_value, self.dtype, ()))
        _set(self, _said=("sequence", self.shape, self.dtype, self.allow_missing, _flat(self.default_value)))

    @property
    def items(self) -> int:
        """How many values an item has."""
        return math.prod(self.shape)

    @property
    def padding(self) -> Any:
        """What fills shorter records."""
        empty: Any = b"" if self.kind == "bytes" else 0
        return empty if self.default_value is None else self.default_value.item()


_OURS = {kind.__name__: kind for kind in (FixedLenFeature, VarLenFeature, FixedLenSequenceFeature)}


def as_feature(given: Any) -> Any:
    """`given`, or what TensorFlow calls it: tf.io's features are named tuples of the same names and fields."""
    ours = None if isinstance(given, Feature) else _OURS.get(type(given).__name__)
    return given if ours is None or not isinstance(given, tuple) else ours(*given)


def _set(feature: Feature, **values: Any) -> None:
    for name, value in values.items():
        object.__setattr__(feature, name, value)


def _shape(name: str, shape: Any) -> tuple[int, ...]:
    given = getattr(shape, "as_list", lambda: shape)()  # tf.TensorShape
    sides = tuple(given) if isinstance(given, Iterable) else (given,)
    if not all(isinstance(side, int | np.integer) and side >= 0 for side in sides):
        raise InvalidArgumentError(
            f"{name}: shape", got=repr(shape), expected="integers >= 0",
            remedy="what varies in length is a VarLenFeature or a FixedLenSequenceFeature",
        )  # fmt: skip
    return tuple(map(int, sides))


def _dtype(name: str, dtype: Any) -> np.dtype[Any]:
    found = Spec((), dtype).dtype
    if found not in _KINDS:
        raise InvalidArgumentError(
            f"{name}: dtype", got=repr(dtype), expected="float32, int64 or bytes, which is what an Example holds",
            remedy="parse it as one of these and cast",
        )  # fmt: skip
    return found


def _default(name: str, value: Any, dtype: np.dtype[Any], shape: tuple[int, ...]) -> Array | None:
    if value is None:
        return None

    def refuse() -> NoReturn:
        raise InvalidArgumentError(
            f"{name}: default_value", got=f"{value!r:.80}", expected=f"values of {Spec(shape, dtype)}"
        )

    if dtype == BYTES:
        leaf = as_leaf(list(value) if isinstance(value, tuple) else value)
        texts = leaf.ravel().tolist() if isinstance(leaf, np.ndarray) else [leaf]
        texts = [text.encode() if isinstance(text, str) else text for text in texts]
        if not all(isinstance(text, bytes) for text in texts):
            refuse()
        array: Array = object_array(texts)
    else:
        array = np.asarray(value)
        if array.dtype.kind not in ("biuf" if dtype.kind == "f" else "biu"):
            refuse()
        array = array.astype(dtype)
    if array.size != math.prod(shape):
        refuse()
    array = array.reshape(shape)
    array.flags.writeable = False
    return array


def _flat(default: Array | None) -> tuple[Any, ...] | None:
    return None if default is None else tuple(default.ravel().tolist())
