"""Pipelines built twice, with Penstock and with tf.data, and compared element by element.

A `Twin` holds both datasets; its verbs are those of tf.data and call both. Values must agree in structure, dtype, shape
and bytes, apart from what design law makes different: str stays str here, and tf.data has bytes only.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from types import ModuleType
from typing import Any

import numpy as np

import penstock as ps

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


def assert_twins_agree(twin: Twin) -> None:
    """The same elements (of endless ones, the first `LIMIT`) and the same cardinality.

    Where tf.data does not know how many there are, Penstock may: it must then be right.
    """
    with twin.ours.iterator(epoch=0) as iterator:
        ours = list(islice(iterator, LIMIT))
    theirs = list(islice(twin.theirs.as_numpy_iterator(), LIMIT))
    assert len(ours) == len(theirs), twin.text
    for place, (left, right) in enumerate(zip(ours, theirs, strict=True)):
        assert plain(left) == plain(right), f"{twin.text}: element {place} is {left!r}, tf.data gives {right!r}"
    said, theirs_said = twin.ours.cardinality(), int(twin.theirs.cardinality())
    assert said == (len(ours) if theirs_said == ps.UNKNOWN_CARDINALITY != said else theirs_said), twin.text


def plain(value: Any) -> Any:
    """A value as nested tuples that compare by structure, dtype, shape and bytes."""
    if isinstance(value, dict):
        return {key: plain(part) for key, part in value.items()}
    if isinstance(value, tuple):
        return tuple(plain(part) for part in value)
    if isinstance(value, str):
        return "text", value.encode()
    if isinstance(value, bytes):
        return "text", value
    array = np.asarray(value)
    if array.dtype == object:
        return "texts", array.shape, [v.encode() if isinstance(v, str) else v for v in array.ravel().tolist()]
    return array.dtype.str, array.shape, array.tobytes()
