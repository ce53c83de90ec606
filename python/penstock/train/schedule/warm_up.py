"""Warm-up in the form each framework takes: a Keras schedule, a PyTorch scheduler, a function of the step for optax."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from penstock.train.schedule.scaling import Ramp


def keras_warm_up(rate: Any, warmup_steps: int, *, start: float = 0.0) -> Any:
    """A `LearningRateSchedule`: from `start` times the rate at step 0 up to it, in `warmup_steps` steps.

    rate: a number, or a Keras schedule, which begins at its step 0 when the warm-up is over. It is saved and loaded
    with the model, and registered as "penstock>WarmUp".
    """
    from penstock.train.schedule.keras_schedules import WarmUp

    return WarmUp(rate, warmup_steps, start)


def torch_warm_up(optimizer: Any, warmup_steps: int, *, start: float = 0.0, then: Any = None) -> Any:
    """A scheduler of `torch.optim.lr_scheduler`: call its `step()` after each step of the optimizer.

    then: a scheduler over the same optimizer, which begins when the warm-up is over.
    """
    from torch.optim.lr_scheduler import LambdaLR, SequentialLR

    ramp = LambdaLR(optimizer, Ramp(warmup_steps, start))
    return ramp if then is None else SequentialLR(optimizer, [ramp, then], milestones=[warmup_steps])


def jax_warm_up(rate: Any, warmup_steps: int, *, start: float = 0.0) -> Callable[[Any], Any]:
    """A schedule as optax takes it, a function of the step that may be traced: `optax.sgd(jax_warm_up(0.4, 500))`.

    rate: a number, or a schedule of this kind, which begins at its step 0 when the warm-up is over.
    """
    ramp = Ramp(warmup_steps, start)

    def schedule(step: Any) -> Any:
        import jax.numpy as jnp

        count = jnp.asarray(step, jnp.float32)
        peak = rate(jnp.maximum(count - warmup_steps, 0)) if callable(rate) else rate
        return peak * ramp.at(count, jnp.minimum)

    return schedule
