"""Arithmetic on whole elements: `cast`."""

from __future__ import annotations

from typing import Any

import ml_dtypes
import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray

from penstock.errors import InvalidArgumentError
from penstock.ops.program import op


@op
def cast(x: ArrayLike, dtype: DTypeLike) -> NDArray[Any]:
    """Convert the values of an array or number, as C converts: floats are cut towards zero, integers wrap.

    Shapes: any; kept. dtype: a NumPy dtype or its name, or "bfloat16".
    Cost: one pass; NumPy's own, so the GIL is released for its dtypes.
    """
    try:
        target = np.dtype(ml_dtypes.bfloat16 if isinstance(dtype, str) and dtype == "bfloat16" else dtype)
        return np.asarray(x).astype(target)
    except (TypeError, ValueError) as error:
        raise InvalidArgumentError(
            "cast: values that cannot be converted",
            got=f"{np.asarray(x).dtype} to {dtype!r}",
            expected="numbers and a numeric dtype",
        ) from error
