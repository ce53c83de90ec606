"""One conversion for every leaf of a batch, and what a leaf must be to be converted without a copy."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy.typing as npt

from penstock.block.ragged import Ragged
from penstock.block.spec import Spec
from penstock.block.tree import Structure, structure_of
from penstock.errors import UnsupportedValueError

ALIGNMENT_BYTES = 64  # TensorFlow aborts the process on less, JAX copies


def leafwise(convert: Callable[[npt.NDArray[Any]], Any]) -> Callable[[Any], Any]:
    """`convert` on each array of a batch, keeping the nest; the nest is taken apart once and remembered."""
    structure: Structure | None = None
    is_flat = False

    def apply(batch: Any) -> Any:
        nonlocal structure, is_flat
        if structure is None:
            structure = structure_of(batch)
            is_flat = structure.is_flat_tuple
        if is_flat and type(batch) is tuple and len(batch) == structure.leaf_count:  # the usual one, a microsecond less
            return tuple(map(convert, batch))
        return structure.unflatten([convert(leaf) for leaf in structure.flatten(batch)])

    return apply


def is_aliasable(array: npt.NDArray[Any]) -> bool:
    """Whether every framework can take the array's memory as it is."""
    flags = array.flags
    return bool(
        array.dtype.kind in "biufc"
        and array.dtype.isnative
        and flags.c_contiguous
        and flags.writeable
        and array.__array_interface__["data"][0] % ALIGNMENT_BYTES == 0
    )


def named_leaves(element_spec: Any) -> list[tuple[str, Spec]]:
    """Each leaf's dotted name and spec; none where the spec is unknown."""
    if element_spec is None:
        return []
    structure = structure_of(element_spec, is_leaf=lambda value: isinstance(value, Spec))
    return list(zip(structure.names(), structure.flatten(element_spec), strict=True))


def specwise(convert: Callable[[Spec], Any], element_spec: Any) -> Any:
    """`convert` on each leaf of a spec, keeping the nest."""
    structure = structure_of(element_spec, is_leaf=lambda value: isinstance(value, Spec))
    return structure.unflatten([convert(leaf) for leaf in structure.flatten(element_spec)])


def require_numbers(array: npt.NDArray[Any] | Ragged, framework: str) -> npt.NDArray[Any]:
    """`array`, if it is an array of numbers. Raises: UnsupportedValueError: `framework` has no text, or no ragged."""
    if isinstance(array, Ragged):
        raise UnsupportedValueError(
            f"{framework} has no ragged arrays",
            got=f"a Ragged of shape {array.shape}",
            expected="one shape for all rows",
            remedy="padded_batch instead of ragged_batch, or a map with to_padded()",
        )
    if array.dtype.kind in "OSUT":
        raise UnsupportedValueError(
            f"{framework} has no dtype for text",
            got=f"a leaf of shape {array.shape} and dtype {array.dtype}",
            expected="numbers",
            remedy="drop that leaf, or map it to numbers, before the batch",
        )
    return array
