"""Frameworks without ragged arrays say so, and what to do."""

from __future__ import annotations

import numpy as np
import pytest

from penstock import Ragged
from penstock.adapters.nest import require_numbers
from penstock.errors import UnsupportedValueError


def test_ragged_is_refused_with_the_remedy() -> None:
    with pytest.raises(UnsupportedValueError, match=r"JAX has no ragged arrays.*padded_batch.*to_padded"):
        require_numbers(Ragged([1, 2], np.array([0, 2])), "JAX")
