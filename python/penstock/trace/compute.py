"""What a step of a program does to the values of one element."""

from __future__ import annotations

import operator
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np

from penstock.ops.program import Step
from penstock.ops.registry import OPS
from penstock.rng import scoped_rng
from penstock.trace.numbers import PYTHON
from penstock.trace.rules import METHODS

_OPS_BY_NAME = {f"{op.__module__.rpartition('.')[2]}.{op.__name__}": op for op in OPS}


def compute_of(step: Step) -> Callable[..., Any]:
    """The function of `step`. Raises: KeyError or AttributeError: no op of this name."""
    family, _, name = step.op.partition(".")
    if family == "np":
        function: Callable[..., Any] = operator.attrgetter(name)(np)
        return function
    if family == "rng":
        return partial(_drawn, name)
    if family == "py":
        return PYTHON[name]
    return METHODS[name].compute if family == "method" else _OPS_BY_NAME[step.op]


def _drawn(method: str, *args: Any, **kwargs: Any) -> Any:
    return getattr(scoped_rng(), method)(*args, **kwargs)
