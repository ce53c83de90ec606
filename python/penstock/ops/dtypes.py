"""Dtypes as users say them."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np


def as_dtype(dtype: Any) -> np.dtype[Any]:
    """NumPy's dtype of what says one: itself, its name, "bfloat16", or TensorFlow's, of a function ported from there.

    Raises: TypeError: it is none of these.
    """
    given = getattr(dtype, "as_numpy_dtype", dtype)
    found: np.dtype[Any] = np.dtype(ml_dtypes.bfloat16 if isinstance(given, str) and given == "bfloat16" else given)
    return found
