"""How the learning rate goes with the global batch, and how it warms up: numbers alone.

Source: linear scaling and gradual warm-up, Goyal et al. 2017, "Accurate, Large Minibatch SGD" (arXiv 1706.02677), 2.1
and 2.2; the square root, Krizhevsky 2014 (arXiv 1404.5997), which keeps the variance of a step, and is what Adam is
scaled with.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, Literal, get_args

from penstock.errors import InvalidArgumentError, user_location

Rule = Literal["linear", "sqrt"]


def scaled_rate(rate: float, *, base_batch: int, batch: int, rule: Rule = "linear") -> float:
    """`rate`, found good for global batches of `base_batch` rows, for those of `batch` rows.

    rule: "linear" multiplies by batch / base_batch (SGD), "sqrt" by its square root (Adam and its like).
    Raises: InvalidArgumentError: an unknown rule, or a batch below 1.
    """
    return rate * scaling_factor(base_batch, batch, rule)


def scaling_factor(base_batch: int, batch: int, rule: Rule) -> float:
    """What the rate is multiplied by. Raises: as `scaled_rate`."""
    where = user_location()
    if rule not in get_args(Rule):
        raise InvalidArgumentError("scale: rule", got=repr(rule), expected='"linear" or "sqrt"', where=where)
    for name, value in (("base_batch", base_batch), ("batch", batch)):
        if type(value) is not int or value < 1:
            raise InvalidArgumentError(f"scale: {name}", got=repr(value), expected="rows, 1 or more", where=where)
    ratio = batch / base_batch
    return ratio if rule == "linear" else math.sqrt(ratio)


@dataclass(frozen=True, slots=True)
class Ramp:
    """What a rate is multiplied by at a step: from `start` at step 0 in a straight line to 1 at `steps`, then 1.

    Raises: InvalidArgumentError: steps below 0, or a start that is not from 0 to 1.
    """

    steps: int
    start: float = 0.0

    def __post_init__(self) -> None:
        where = user_location()
        if type(self.steps) is not int or self.steps < 0:
            raise InvalidArgumentError("warm-up: steps", got=repr(self.steps), expected="0 or more", where=where)
        if not 0 <= self.start <= 1:
            raise InvalidArgumentError(
                "warm-up: start", got=repr(self.start), expected="a share of the rate, 0 to 1", where=where
            )

    def __call__(self, step: int) -> float:
        return float(self.at(step, min))

    def at(self, step: Any, minimum: Any) -> Any:
        """The same of a number that a framework traces; minimum: its own."""
        if not self.steps:
            return 1.0
        return self.start + (1.0 - self.start) * minimum(step / self.steps, 1.0)


def ramp_for(factor: float, steps: int, start: float | None) -> Ramp:
    """The warm-up of a scaled rate: from the rate before scaling where nothing else is said, and where that is less."""
    return Ramp(steps, (1 / factor if factor > 1 else 0.0) if start is None else start)
