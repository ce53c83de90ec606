"""What an element looks like before there is one: shape and dtype of each leaf, unknown dimensions as None."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from penstock.block.tree import Structure, structure_of
from penstock.errors import InvalidArgumentError

BYTES = np.dtype("S")
STR = np.dtype("U")
_KINDS = {kind: np.dtype(object, metadata={"text": kind}) for kind in "SU"}

Shape: TypeAlias = tuple[int | None, ...]
SpecTree: TypeAlias = Any  # a nested tuple or dict of Spec


def text_array(texts: Sequence[Any], dtype: np.dtype[Any]) -> NDArray[np.object_]:
    """[n] texts as objects, which also where there are none knows of which kind they would be: BYTES or STR."""
    array = np.empty(len(texts), dtype=_KINDS[dtype.kind])
    array[:] = texts
    return array


def text_dtype(texts: NDArray[Any]) -> np.dtype[Any]:
    """BYTES or STR, for an object array of texts; an empty one is bytes unless it knows better."""
    if texts.size:
        return STR if isinstance(texts.flat[0], str) else BYTES
    known: Any = texts.dtype.metadata or {}
    return STR if known.get("text") == "U" else BYTES


@dataclass(frozen=True, slots=True)
class Spec:
    """Shape and dtype of one leaf.

    `shape` has None for a dimension that varies, and is None itself when the rank does. `dtype` is a NumPy dtype;
    bytes are `np.dtype("S")`, str is `np.dtype("U")`, whatever their length.
    """

    shape: Shape | None
    dtype: np.dtype[Any]

    def __init__(self, shape: Any, dtype: Any) -> None:
        if shape is not None and not isinstance(shape, Iterable):
            raise InvalidArgumentError("bad shape in a Spec", got=repr(shape), expected="a tuple, or None")
        dimensions = None if shape is None else tuple(shape)
        object.__setattr__(self, "shape", dimensions)
        object.__setattr__(self, "dtype", _as_dtype(dtype))
        for dimension in dimensions or ():
            if dimension is not None and (not isinstance(dimension, int | np.integer) or dimension < 0):
                raise InvalidArgumentError("bad dimension in a Spec", got=repr(shape), expected="integers >= 0 or None")

    def __str__(self) -> str:
        name = {"S": "bytes", "U": "str"}.get(self.dtype.kind, self.dtype.name)
        if self.shape is None:
            return f"{name}[...]"
        return f"{name}[{', '.join('?' if d is None else str(d) for d in self.shape)}]"

    def is_compatible_with(self, other: Spec) -> bool:
        """Whether a leaf of spec `other` could be one of these: same dtype, and known dimensions agree."""
        if (self.dtype, self.ragged_rank) != (other.dtype, other.ragged_rank):
            return False
        if self.shape is None or other.shape is None:
            return True
        return len(self.shape) == len(other.shape) and all(
            a is None or b is None or a == b for a, b in zip(self.shape, other.shape, strict=True)
        )

    def merge(self, other: Spec) -> Spec:
        """The narrowest spec that both fit; dtypes must agree."""
        if self.shape is None or other.shape is None or len(self.shape) != len(other.shape):
            return Spec(None, self.dtype)
        return Spec(tuple(a if a == b else None for a, b in zip(self.shape, other.shape, strict=True)), self.dtype)

    @property
    def ragged_rank(self) -> int:
        """How many axes after the first may vary in length within one leaf: 0, but for a `penstock.Ragged`."""
        return 0

    def batched(self, size: int | None) -> Spec:
        """The spec of `size` such leaves stacked (None: varies)."""
        return Spec(None if self.shape is None else (size, *self.shape), self.dtype)

    def unbatched(self) -> Spec:
        """The spec of a row of such a leaf."""
        return Spec(None if self.shape is None else self.shape[1:], self.dtype)

    def with_rows(self, size: int | None) -> Spec:
        """The spec of such a leaf with `size` rows (None: varies)."""
        return self.unbatched().batched(size)


@dataclass(frozen=True, slots=True, init=False)
class RaggedSpec(Spec):
    """Shape and dtype of a `penstock.Ragged`: None for every axis that may vary within it."""

    ragged_rank: int

    def __init__(self, shape: Any, dtype: Any, ragged_rank: int = 1) -> None:
        Spec.__init__(self, shape, dtype)
        if not 0 < ragged_rank < len(self.shape or ()):
            raise InvalidArgumentError(
                "ragged_rank of a RaggedSpec", got=repr(ragged_rank), expected="at least 1, and less than the rank"
            )
        object.__setattr__(self, "ragged_rank", int(ragged_rank))

    def __str__(self) -> str:
        return f"ragged {Spec.__str__(self)}"

    def merge(self, other: Spec) -> Spec:
        return RaggedSpec(Spec.merge(self, other).shape, self.dtype, self.ragged_rank)

    def batched(self, size: int | None) -> Spec:
        return RaggedSpec((size, *(self.shape or ())), self.dtype, self.ragged_rank + 1)

    def unbatched(self) -> Spec:
        shape = (self.shape or ())[1:]
        return RaggedSpec(shape, self.dtype, self.ragged_rank - 1) if self.ragged_rank > 1 else Spec(shape, self.dtype)

    def with_rows(self, size: int | None) -> Spec:
        return RaggedSpec((size, *(self.shape or ())[1:]), self.dtype, self.ragged_rank)


DATASET = np.dtype(object)
"""The dtype of a leaf that is itself a dataset."""


@dataclass(frozen=True, slots=True, init=False)
class DatasetSpec(Spec):
    """A leaf that is a dataset, as `window` makes them. `element`: what its elements look like, None where unknown."""

    element: SpecTree

    def __init__(self, element: SpecTree = None) -> None:
        object.__setattr__(self, "shape", ())
        object.__setattr__(self, "dtype", DATASET)
        object.__setattr__(self, "element", element)

    def __str__(self) -> str:
        return f"dataset of {render_spec(self.element)}"

    def merge(self, other: Spec) -> Spec:
        return self

    def batched(self, size: int | None) -> Spec:
        return self


def _as_dtype(dtype: Any) -> np.dtype[Any]:
    if dtype is bytes:
        return BYTES
    if dtype is str:
        return STR
    numpy_dtype = getattr(dtype, "as_numpy_dtype", dtype)  # tf.DType
    if numpy_dtype is object or (isinstance(numpy_dtype, np.dtype) and numpy_dtype.kind == "O"):  # tf.string
        return BYTES
    try:
        result = np.dtype(numpy_dtype)
    except TypeError:
        raise InvalidArgumentError(
            "not a dtype", got=repr(dtype), expected="a NumPy dtype or its name, bytes, or str"
        ) from None
    return BYTES if result.kind == "S" else STR if result.kind == "U" else result


def as_spec(signature: Any) -> tuple[Structure, tuple[Spec, ...]]:
    """A user's `output_signature` as (structure, specs): Spec, tf.TensorSpec, or a tuple or dict of them."""
    structure = structure_of(signature, is_leaf=lambda value: hasattr(value, "shape") and hasattr(value, "dtype"))
    specs = []
    for name, leaf in zip(structure.names(), structure.flatten(signature), strict=True):
        if isinstance(leaf, Spec):
            specs.append(leaf)
        elif hasattr(leaf, "shape") and hasattr(leaf, "dtype"):
            rank_known = getattr(leaf.shape, "rank", 0) is not None
            ragged_rank = getattr(leaf, "ragged_rank", 0)  # tf.RaggedTensorSpec
            shape = tuple(leaf.shape) if rank_known else None
            specs.append(RaggedSpec(shape, leaf.dtype, ragged_rank) if ragged_rank else Spec(shape, leaf.dtype))
        else:
            raise InvalidArgumentError(
                f"leaf {name!r} of a signature is not a spec", got=repr(leaf), expected="penstock.Spec(shape, dtype)"
            )
    return structure, tuple(specs)


def render_spec(tree: SpecTree) -> str:
    """A nested spec on one line, for error texts and `explain()`."""
    if tree is None:
        return "unknown"
    if isinstance(tree, Spec):
        return str(tree)
    if isinstance(tree, dict):
        return "{" + ", ".join(f"{key!r}: {render_spec(value)}" for key, value in tree.items()) + "}"
    return "(" + ", ".join(render_spec(value) for value in tree) + ("," if len(tree) == 1 else "") + ")"
