"""`scale`: an optimizer's learning rate for the global batch of a strategy, once."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from penstock.errors import InvalidArgumentError, user_location
from penstock.train.runtime import Runtime
from penstock.train.schedule.scaling import Ramp, Rule, ramp_for, scaling_factor
from penstock.train.schedule.warm_up import torch_warm_up

_MARK = "penstock_scaled"


@dataclass(frozen=True, slots=True, kw_only=True)
class Scaled:
    """What `scale` did. scheduler: of PyTorch, to be stepped after each step of the optimizer; else None."""

    rule: Rule
    base_batch: int
    batch: int
    factor: float
    warmup_steps: int = 0
    scheduler: Any = field(default=None, compare=False, repr=False)

    def __str__(self) -> str:
        text = f"learning rate x {self.factor:.4g} ({self.rule}, batch {self.base_batch} -> {self.batch})"
        return f"{text}, warmed up over {self.warmup_steps} steps" if self.warmup_steps else text


def scale(
    optimizer: Any,
    runtime: Runtime,
    rule: Rule = "linear",
    *,
    base_batch: int,
    batch: int | None = None,
    warmup_steps: int = 0,
    start: float | None = None,
) -> Scaled:
    """Scale the learning rate of a Keras or PyTorch optimizer from global batches of `base_batch` rows to `batch`.

    batch: None: `base_batch` for each replica of the runtime's strategy. rule: "linear" or "sqrt", see `scaled_rate`.
    warmup_steps: steps of a straight line from `start` times the scaled rate (None: from the rate before it was
    scaled) up to it. A schedule that a Keras optimizer has begins after the warm-up. For PyTorch, `.scheduler` is then
    to be stepped; make other schedulers after scaling, and join them by `torch_warm_up(then=...)`.

    Raises: InvalidArgumentError: the optimizer was scaled before (also before it was saved); an unknown rule; a batch
        below 1; an optax transformation, whose rate cannot be changed (the text says what to write).
    """
    rows = base_batch * runtime.strategy.replicas if batch is None else batch
    factor = scaling_factor(base_batch, rows, rule)
    ramp = ramp_for(factor, warmup_steps, start)
    scheduler = None
    if hasattr(optimizer, "param_groups"):
        scheduler = _scale_torch(optimizer, factor, ramp)
    elif hasattr(optimizer, "learning_rate"):
        _scale_keras(optimizer, factor, ramp)
    else:
        raise _not_scalable(optimizer)
    return Scaled(
        rule=rule, base_batch=base_batch, batch=rows, factor=factor, warmup_steps=warmup_steps, scheduler=scheduler
    )


def _scale_keras(optimizer: Any, factor: float, ramp: Ramp) -> None:
    inner = getattr(optimizer, "inner_optimizer", optimizer)  # of a LossScaleOptimizer
    rate = inner._learning_rate  # the schedule itself; `learning_rate` is its value now
    before = getattr(inner, _MARK, None)
    if before is None and getattr(rate, "factor", 1.0) != 1.0:  # it was loaded
        before = rate.factor
    if before is not None:
        raise _twice(before)
    if callable(rate) or ramp.steps:
        from penstock.train.schedule.keras_schedules import WarmUp

        number = rate if callable(rate) else float(inner.learning_rate)
        inner.learning_rate = WarmUp(number, ramp.steps, ramp.start, factor)
    else:
        inner.learning_rate = float(inner.learning_rate) * factor
    setattr(inner, _MARK, factor)


def _scale_torch(optimizer: Any, factor: float, ramp: Ramp) -> Any:
    groups = optimizer.param_groups
    before = next((group[_MARK] for group in groups if _MARK in group), None)
    if before is not None:
        raise _twice(before)
    if any("initial_lr" in group for group in groups):
        raise InvalidArgumentError(
            "scale: the optimizer has a scheduler already, which would go on from the rate before",
            where=user_location(), remedy="scale first, then make the scheduler",
        )  # fmt: skip
    for group in groups:  # marked here, for groups are what a checkpoint keeps
        rate = group["lr"]
        group["lr"] = rate.mul_(factor) if hasattr(rate, "mul_") else rate * factor
        group[_MARK] = factor
    return torch_warm_up(optimizer, ramp.steps, start=ramp.start) if ramp.steps else None


def _twice(before: float) -> InvalidArgumentError:
    return InvalidArgumentError(
        f"scale: this optimizer's learning rate was scaled already, by {before:.4g}", where=user_location(),
        remedy="scale once, after it is made; one that was loaded from a checkpoint is scaled as it was saved",
    )  # fmt: skip


def _not_scalable(optimizer: Any) -> InvalidArgumentError:
    remedy = None
    if hasattr(optimizer, "init") and hasattr(optimizer, "update"):
        remedy = (
            "an optax transformation has no rate to change: make it with learning_rate="
            "penstock.train.jax_warm_up(penstock.train.scaled_rate(0.1, base_batch=..., batch=...), warmup_steps)"
        )
    return InvalidArgumentError(
        "scale: not an optimizer that can be scaled", got=type(optimizer).__name__,
        expected="a Keras optimizer or a torch.optim.Optimizer", where=user_location(), remedy=remedy,
    )  # fmt: skip
