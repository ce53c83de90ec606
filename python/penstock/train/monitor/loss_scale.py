"""Steps that a loss scaler left out because a gradient was not finite; counted, never asked of the device."""

from __future__ import annotations

from typing import Any, Protocol

from penstock.train.precision.skipped import applied_steps


class LossScale(Protocol):
    """Whoever scales the loss."""

    def skipped(self, steps: int) -> int | None:
        """Of the last `steps` steps, those left out since this was asked last; None: it cannot be known."""
        ...


class KerasLossScale:
    """Keras' `LossScaleOptimizer`: it counts the steps it applied, so the others were left out."""

    def __init__(self, optimizer: Any) -> None:
        self._optimizer = optimizer
        self._applied = applied_steps(optimizer)

    def skipped(self, steps: int) -> int:
        before, self._applied = self._applied, applied_steps(self._optimizer)
        return max(0, steps - (self._applied - before))


def keras_loss_scale(model: Any) -> KerasLossScale | None:
    """That of a Keras model, if it has one."""
    optimizer = getattr(model, "optimizer", None)
    is_one = hasattr(optimizer, "inner_optimizer") and hasattr(optimizer, "dynamic_growth_steps")
    return KerasLossScale(optimizer) if is_one else None


class TorchLossScale:
    """`torch.amp.GradScaler`: it calls `optimizer.step()`, or leaves it out.

    An optimizer that unscales by itself (fused) is always called: then nothing can be known.
    """

    def __init__(self, scaler: Any) -> None:
        self._asked = self._applied = 0
        self._is_known = True
        self._counted: set[int] = set()
        original = scaler.step

        def step(optimizer: Any, *arguments: Any, **named: Any) -> Any:
            if id(optimizer) not in self._counted:
                self._counted.add(id(optimizer))
                self._is_known &= not getattr(optimizer, "_step_supports_amp_scaling", False)
                optimizer.register_step_post_hook(self._count)
            self._asked += 1
            return original(optimizer, *arguments, **named)

        scaler.step = step

    def _count(self, *_: Any) -> None:
        self._applied += 1

    def skipped(self, steps: int) -> int | None:
        asked, applied = self._asked, self._applied
        self._asked = self._applied = 0
        return asked - applied if self._is_known else None
