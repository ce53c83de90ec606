"""The state that a user's function is given and gives back: of one structure and one set of dtypes throughout."""

from __future__ import annotations

from base64 import b64decode, b64encode
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from penstock.block.collate import as_leaf, as_promised, detached, leaf_spec
from penstock.block.columns import object_array
from penstock.block.spec import BYTES, STR, Spec, render_spec
from penstock.block.tree import Structure, structure_of
from penstock.errors import PenstockError, StructureError

_LARGEST = 64 * 2**10


class CarriedState:
    """What a state looks like, taken from the first one; `first()` is a fresh copy of that.

    Numbers are NumPy scalars, as elements are; Python numbers that a function returns are taken as the dtype of the
    state where that loses nothing.
    """

    def __init__(self, initial: Any) -> None:
        """Raises: UnsupportedValueError: a leaf that is no value of an element."""
        self.structure: Structure = structure_of(initial)
        leaves = [as_leaf(leaf) for leaf in self.structure.flatten(initial)]
        self.specs: tuple[Spec, ...] = tuple(map(leaf_spec, leaves))
        self._dtypes = [spec.dtype for spec in self.specs]
        self._initial = self.structure.unflatten(_typed(leaves, self.specs))
        self._scalar = type(self._initial) if self.structure.is_leaf and isinstance(self._initial, np.generic) else None

    def first(self) -> Any:
        return detached(self._initial)

    def next(self, value: Any) -> Any:
        """`value` as the next state. Raises: StructureError: another structure or dtype; UnsupportedValueError."""
        if type(value) is self._scalar:
            return value
        try:
            parts = self.structure.flatten(value)
            leaves = [as_leaf(as_promised(part, dtype)) for part, dtype in zip(parts, self._dtypes, strict=True)]
        except StructureError as error:
            raise self._differs(error.got) from None
        specs = tuple(map(leaf_spec, leaves))
        if any(spec.dtype != dtype for spec, dtype in zip(specs, self._dtypes, strict=True)):
            raise self._differs(render_spec(self.structure.unflatten(specs)))
        return self.structure.unflatten(_typed(leaves, specs))

    def to_json(self, state: Any) -> list[Any] | None:
        """A state as JSON values; None where it is large (above 64 KiB): better made anew than carried."""
        leaves = [np.asarray(leaf) for leaf in self.structure.flatten(state)]
        if sum(_size(leaf) for leaf in leaves) > _LARGEST:
            return None
        return [_to_json(leaf) for leaf in leaves]

    def from_json(self, value: list[Any]) -> Any:
        """The state that `to_json` gave."""
        leaves = [_from_json(part, spec.dtype) for part, spec in zip(value, self.specs, strict=True)]
        return self.structure.unflatten(leaves)

    def _differs(self, got: Any) -> PenstockError:
        return StructureError(
            "the new state has another structure or dtype than the first",
            got=got,
            expected=render_spec(self.structure.unflatten(self.specs)),
            remedy="give the initial state the dtype that the function returns, as in np.float32(0)",
        )


def _typed(leaves: Sequence[Any], specs: Sequence[Spec]) -> list[Any]:
    """Leaves as elements have them: Python numbers become NumPy's."""
    return [
        spec.dtype.type(leaf) if isinstance(leaf, bool | int | float | complex) else leaf
        for leaf, spec in zip(leaves, specs, strict=True)
    ]


def _size(leaf: NDArray[Any]) -> int:
    return sum(map(len, leaf.ravel().tolist())) if leaf.dtype.kind in "OSU" else leaf.nbytes


def _to_json(leaf: NDArray[Any]) -> list[Any]:
    if leaf.dtype.kind in "OSU":
        texts = leaf.ravel().tolist()
        return [list(leaf.shape), [t if isinstance(t, str) else b64encode(t).decode() for t in texts]]
    return [list(leaf.shape), b64encode(leaf.tobytes()).decode()]


def _from_json(value: list[Any], dtype: np.dtype[Any]) -> Any:
    shape, content = value
    if dtype in (BYTES, STR):
        texts = [b64decode(text) if dtype == BYTES else text for text in content]
        return object_array(texts).reshape(shape) if shape else texts[0]
    array = np.frombuffer(b64decode(content), dtype).reshape(shape).copy()
    return array if shape else array[()]
