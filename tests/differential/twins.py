"""Pipelines built twice, with Penstock and with tf.data, and compared element by element.

A `Twin` holds both datasets; its verbs are those of tf.data and call both. Values must agree in structure, dtype, shape
and bytes, apart from what design law makes different: str stays str here, and tf.data has bytes only.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np

import penstock as ps
from penstock.errors import UnknownLengthError

LIMIT = 60


@dataclass(frozen=True)
class Twin:
    """`ours` and `theirs`; `kind` says what an element is, for whoever chooses the next verb."""

    ours: ps.Dataset
    theirs: Any
    kind: str
    text: str

    def verb(self, name: str, *args: Any, kind: str | None = None, **options: Any) -> Twin:
        """The same verb with the same arguments on both."""
        told = ", ".join([*map(repr, args), *(f"{key}={value}" for key, value in options.items())])
        return Twin(
            getattr(self.ours, name)(*args, **options),
            getattr(self.theirs, name)(*args, **options),
            kind or self.kind,
            f"{self.text}.{name}({told})",
        )

    def function(
        self, name: str, ours: Callable[..., Any], theirs: Callable[..., Any], kind: str | None = None
    ) -> Twin:
        """map or filter, with the function as each side writes it."""
        return Twin(
            getattr(self.ours, name)(ours),
            getattr(self.theirs, name)(theirs),
            kind or self.kind,
            f"{self.text}.{name}(f)",
        )

    def joined(self, tf: ModuleType, other: Twin) -> Twin:
        """zip of two."""
        return Twin(
            ps.Dataset.zip(self.ours, other.ours),
            tf.data.Dataset.zip(self.theirs, other.theirs),
            "pair",
            f"zip({self.text}, {other.text})",
        )

    def followed(self, other: Twin) -> Twin:
        """concatenate."""
        return Twin(
            self.ours.concatenate(other.ours),
            self.theirs.concatenate(other.theirs),
            self.kind,
            f"{self.text}.concatenate({other.text})",
        )


def assert_twins_agree(twin: Twin) -> int:
    """The same elements (of endless ones, the first `LIMIT`) and the same cardinality; how many elements there were.

    Where tf.data does not know how many there are, or is wrong (it says endless of nothing repeated for ever), what
    Penstock says must be right.
    """
    with twin.ours.iterator(epoch=0) as iterator:
        ours = [plain(element) for element in islice(iterator, LIMIT)]
    theirs = [plain(element) for element in islice(_theirs(twin.theirs), LIMIT)]
    assert len(ours) == len(theirs), f"{twin.text}: {ours}, tf.data gives {theirs}"
    for place, (left, right) in enumerate(zip(ours, theirs, strict=True)):
        assert left == right, f"{twin.text}: element {place} is {left!r}, tf.data gives {right!r}"
    said, theirs_said = twin.ours.cardinality(), int(twin.theirs.cardinality())
    ended = len(ours) < LIMIT
    right = {theirs_said, len(ours)} if ended else {theirs_said}
    told = f"{twin.text}: cardinality {said}, tf.data says {theirs_said}; {len(ours)} elements came"
    assert said in right or (theirs_said == ps.UNKNOWN_CARDINALITY and not ended), told
    return len(ours)


def _theirs(dataset: Any) -> Iterator[Any]:
    """Elements that are datasets come only from `iter`, as tensors."""
    holds_datasets = "DatasetSpec" in repr(dataset.element_spec)
    return iter(dataset) if holds_datasets else iter(dataset.as_numpy_iterator())


def assert_specs_agree(twin: Twin, *, looks: bool) -> None:
    """The same structure, dtypes and ranks, and each dimension that tf.data knows; Penstock may know more.

    looks: a function decides the spec. tf.data traces it; Penstock runs it on the first element, so an empty dataset
    tells nothing, and unknown dimensions may be any.
    """
    try:
        ours = twin.ours.element_spec
    except UnknownLengthError:
        assert looks, twin.text
        with twin.ours.iterator(epoch=0) as iterator:
            assert next(iterator, None) is None, twin.text
        return
    _assert_specs(ours, twin.theirs.element_spec, looks, f"{twin.text}: {ours}, {twin.theirs.element_spec}")


def _assert_specs(ours: Any, theirs: Any, looks: bool, text: str) -> None:
    if isinstance(theirs, dict):
        assert isinstance(ours, dict), text
        assert sorted(ours) == sorted(theirs), text
        for key, part in theirs.items():
            _assert_specs(ours[key], part, looks, text)
    elif isinstance(theirs, tuple):
        assert isinstance(ours, tuple), text
        assert len(ours) == len(theirs), text
        for left, right in zip(ours, theirs, strict=True):
            _assert_specs(left, right, looks, text)
    else:
        assert isinstance(ours, ps.Spec), text
        kind = np.dtype("S") if theirs.dtype.name == "string" else np.dtype(theirs.dtype.as_numpy_dtype)
        no_texts = looks and kind.kind == "S" and 0 in (ours.shape or ())  # bytes or str: there is none to look at
        assert ours.dtype == kind or no_texts, text
        if theirs.shape.rank is None or (looks and ours.shape is None):
            return
        assert len(ours.shape) == theirs.shape.rank, text
        for left, right in zip(ours.shape, theirs.shape, strict=True):
            assert left == right or right is None or (looks and left is None), text


def plain(value: Any) -> Any:
    """A value as nested tuples that compare by structure, dtype, shape and bytes."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(part) for part in value)
    if hasattr(value, "as_numpy_iterator"):  # a window
        return "dataset", [plain(element) for element in value]
    if isinstance(value, str):
        return "text", value.encode()
    if isinstance(value, bytes):
        return "text", value
    if isinstance(value, ps.Ragged) or hasattr(value, "row_splits"):  # a tf.RaggedTensor
        return "ragged", plain(np.asarray(value.row_splits)), plain(value.values)
    array = np.asarray(value)
    if array.dtype == object and not array.shape:
        return "text", array.item()
    if array.dtype == object:
        return "texts", array.shape, [v.encode() if isinstance(v, str) else v for v in array.ravel().tolist()]
    return array.dtype.str, array.shape, array.tobytes()
