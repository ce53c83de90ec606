"""How many steps a loss scaler skipped, because gradients were not finite in float16."""

from __future__ import annotations

import math
from typing import Any


def skipped_steps(optimizer: Any, steps: int | None = None) -> int | None:
    """Steps that were skipped so far; None: nothing here scales a loss, or it has not begun.

    optimizer: a Keras optimizer (`LossScaleOptimizer`, as `compile` makes it for mixed_float16), or PyTorch's
    GradScaler. `penstock.train.grad_scaler` counts exactly. Keras counts only the steps it applies: given how many
    were taken (`steps`, since the optimizer was new) the answer is exact; else it is what the scale tells, which is
    exact until the scale first grows (2000 good steps in a row), and the least it can be from then on. So for
    PyTorch's own scaler. Cost: waits for the device; ask once an epoch, not at each step.
    """
    if hasattr(optimizer, "skipped_steps"):
        return int(optimizer.skipped_steps()) if optimizer.is_enabled() else None
    if hasattr(optimizer, "dynamic_scale") and hasattr(optimizer, "inner_optimizer"):
        applied = applied_steps(optimizer)
        if steps is not None:
            return max(0, steps - applied)
        good, every = int(optimizer.step_counter), int(optimizer.dynamic_growth_steps)
        return least_skipped(float(optimizer.initial_scale), float(optimizer.dynamic_scale), applied, good, every)
    if hasattr(optimizer, "get_backoff_factor") and optimizer.is_enabled():
        backoff = float(optimizer.get_backoff_factor())
        return max(0, round(math.log(float(optimizer.get_scale()) / float(optimizer._init_scale), backoff)))
    return None


def applied_steps(optimizer: Any) -> int:
    """Steps that Keras' `LossScaleOptimizer` applied since it was new; of accumulated ones each counts."""
    return int(getattr(optimizer.inner_optimizer, "_iterations", optimizer.iterations))


def least_skipped(initial: float, scale: float, applied: int, good: int, every: int) -> int:
    """Skips that must have been, where each halves the scale and `every` good steps in a row double it.

    applied: good steps in all; good: in a row, up to now. With no skip, all good steps are in whole rows of `every`
    and the present one; where they are not, one at least was skipped.
    """
    halvings = round(math.log2(initial / scale))
    if halvings >= 0:
        return halvings
    growths = (applied - good) // every
    is_whole = (applied - good) % every == 0 and growths == -halvings
    return 0 if is_whole else 1
