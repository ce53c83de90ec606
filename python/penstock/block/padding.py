"""What rows are padded to, and with what, as users say it: one shape and one value a leaf."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from penstock.block.tree import Structure
from penstock.errors import InvalidArgumentError, PenstockError


@dataclass(frozen=True, slots=True)
class Dims:
    """A padded shape: a size for each dimension, None for the longest row of the batch."""

    sizes: tuple[int | None, ...]

    def __str__(self) -> str:
        return str(self.sizes)

    __repr__ = __str__

    def has_room(self, shape: tuple[int | None, ...]) -> bool:
        """Whether a row of this shape (None: not known) fits."""
        return len(shape) == len(self.sizes) and all(
            size is None or length is None or length <= size for size, length in zip(self.sizes, shape, strict=True)
        )


def as_padded_shapes(value: Any) -> Any:
    """`padded_shapes` with each shape as `Dims`, in the nest it came in.

    A shape is a list, a tuple of sizes, or a TensorShape; -1 means None, as in tf.data. Raises: InvalidArgumentError.
    """
    if isinstance(value, dict):
        return {key: as_padded_shapes(part) for key, part in value.items()}
    if isinstance(value, tuple) and not all(_is_size(size) for size in value):
        parts = [as_padded_shapes(part) for part in value]
        return type(value)(*parts) if hasattr(value, "_fields") else tuple(parts)
    try:
        sizes = tuple(None if size is None or int(size) == -1 else int(size) for size in value)
    except (TypeError, ValueError):
        sizes = (-1,)
    if any(size is not None and size < 0 for size in sizes):
        raise InvalidArgumentError(
            "padded_shapes", got=repr(value), expected="for each leaf a list of sizes, None for the longest of a batch"
        )
    return Dims(sizes)


def _is_size(value: Any) -> bool:
    return value is None or isinstance(value, int | np.integer)


def per_leaf(what: str, nest: Any, structure: Structure) -> list[Any]:
    """What argument `what` says of each leaf; a value that is no nest and no shape stands for all of them.

    Raises: InvalidArgumentError: it is nested otherwise than the elements.
    """
    if not isinstance(nest, tuple | dict | Dims):
        return [nest] * structure.leaf_count
    try:
        return structure.flatten(nest)
    except PenstockError:
        raise InvalidArgumentError(
            what, got=repr(nest), expected=f"a nest as that of the elements, {structure}"
        ) from None


def padding_value(name: str, value: Any, dtype: np.dtype[Any]) -> Any:
    """`value` as one of `dtype`: None is zero, False or an empty text; a Python number takes the dtype of its leaf.

    Raises: InvalidArgumentError: the dtype cannot hold it.
    """
    if dtype.kind in "SU":
        is_bytes = dtype.kind == "S"
        if value is None or isinstance(value, bytes | str):
            text = value or ""
            encoded = text.encode() if isinstance(text, str) else bytes(text)
            return encoded if is_bytes else encoded.decode()
    elif value is None:
        return np.zeros((), dtype)[()]
    else:
        array = np.asarray(value)
        is_number = array.dtype.kind in "iu" and dtype.kind in "iufc"
        if not array.ndim and (is_number or np.can_cast(array.dtype, dtype, "same_kind")):
            with np.errstate(all="ignore"):
                cast = array.astype(dtype)
            if array.dtype.kind not in "iu" or int(cast) == int(array) or dtype.kind not in "iu":
                return cast[()]
    raise InvalidArgumentError(
        f'the padding value of leaf "{name}"', got=repr(value), expected=f"one value of {dtype.name or dtype}"
    )
