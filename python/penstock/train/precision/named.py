"""A precision's name as dtypes: what is stored, what is computed in, what comes out."""

from __future__ import annotations

from penstock.train.precision.ability import Precision, parse_precision
from penstock.train.runtime import Runtime

COMPUTE = {"float32": "float32", "mixed_float16": "float16", "mixed_bfloat16": "bfloat16", "bfloat16": "bfloat16"}


def name_of(precision: Runtime | str) -> Precision:
    """The precision of a runtime, or the name itself. Raises: InvalidArgumentError: no such precision."""
    name = precision.precision if isinstance(precision, Runtime) else precision
    parsed = parse_precision(name)
    return "float32" if parsed == "auto" else parsed
