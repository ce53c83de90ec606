"""Warm-up as a Keras schedule, which saves and loads with its model. Imports Keras: import it where Keras is."""

from __future__ import annotations

from typing import Any

import keras
from keras import ops

from penstock.train.schedule.scaling import Ramp


@keras.saving.register_keras_serializable(package="penstock")
class WarmUp(keras.optimizers.schedules.LearningRateSchedule):  # type: ignore[misc] # of a framework without types
    """`factor` times a rate, or times a schedule that begins after the warm-up; before, a straight line up to it.

    start: share of that rate at step 0.
    """

    def __init__(
        self, rate: Any, warmup_steps: int, start: float = 0.0, factor: float = 1.0, name: str = "WarmUp"
    ) -> None:
        super().__init__()
        self.rate, self.factor, self.name = rate, float(factor), name
        self.ramp = Ramp(warmup_steps, float(start))

    def __call__(self, step: Any) -> Any:
        steps = self.ramp.steps
        step = ops.cast(step, "float32")
        rate = self.rate(ops.maximum(step - steps, 0.0)) if callable(self.rate) else self.rate
        return self.factor * rate * self.ramp.at(step, ops.minimum)

    def get_config(self) -> dict[str, Any]:
        serialize = keras.optimizers.schedules.serialize
        rate = serialize(self.rate) if callable(self.rate) else float(self.rate)
        return {
            "rate": rate, "warmup_steps": self.ramp.steps, "start": self.ramp.start, "factor": self.factor,
            "name": self.name,
        }  # fmt: skip

    @classmethod
    def from_config(cls, config: dict[str, Any]) -> WarmUp:
        rate = config["rate"]
        if isinstance(rate, dict):
            rate = keras.optimizers.schedules.deserialize(rate)
        return cls(**{**config, "rate": rate})
