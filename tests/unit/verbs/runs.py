"""What came before an error, and the error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import penstock as ps
from penstock.errors import PenstockError


def until_error(dataset: ps.Dataset, block_size: int | None = None) -> tuple[list[Any], PenstockError]:
    """The elements of epoch 0 up to the error that ends it. Fails where none does."""
    elements: list[Any] = []
    try:
        _collect(dataset.with_options(ps.Options(block_size=block_size)).iterator(epoch=0), elements)
    except PenstockError as error:
        return elements, error
    raise AssertionError(f"no error after {len(elements)} elements")


def _collect(elements: Iterable[Any], into: list[Any]) -> None:
    for element in elements:
        into.append(element)  # noqa: PERF402 - what came before the error counts
