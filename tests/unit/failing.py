"""How a pipeline that fails comes to its end."""

from __future__ import annotations

from typing import Any

import pytest

from penstock import Dataset, Options
from penstock.errors import PenstockError


def failing(dataset: Dataset) -> tuple[list[Any], PenstockError]:
    """The elements that came, and the error that ended them; the same for blocks of one."""
    ends: list[tuple[list[Any], PenstockError]] = []
    for size in (1, None):
        elements: list[Any] = []
        with pytest.raises(PenstockError) as caught:
            elements.extend(dataset.with_options(Options(block_size=size)))
        ends.append((elements, caught.value))
    (elements, error), (others, other) = ends
    assert elements == others
    assert str(error) == str(other)
    return elements, error
