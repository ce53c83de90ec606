"""TensorFlow's hand: `tf.config`, which refuses by itself what comes too late."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, MutableMapping
from typing import Any

from penstock.machine.cards import Card
from penstock.train.device.first_use import too_late
from penstock.train.device.framework import done, take_variable
from penstock.train.device.steps import Facts, Gpu, Step
from penstock.train.runtime import Change

_KEPT = "TensorFlow keeps it from its first operation on"
_MIB = 2**20


class OnTensorFlow:
    """The process' TensorFlow. cards: what NVML says, in CUDA's order."""

    def __init__(
        self, cards: tuple[Card, ...] = (), why_none: str = "", tf: Any = None,
        environment: MutableMapping[str, str] = os.environ, modules: Mapping[str, Any] = sys.modules,
    ) -> None:  # fmt: skip
        if tf is None:
            import tensorflow as tf  # type: ignore[no-redef]  # the caller's stands for it
        self._tf = tf
        self._cards = cards
        self._why_none = why_none
        self._environment = environment
        self._modules = modules

    def facts(self) -> Facts:
        found = self._tf.config.list_physical_devices("GPU")
        why = self._why_none
        if not found and self._cards:
            why = f"TensorFlow sees no GPU where NVML sees {len(self._cards)}: is it a build with CUDA?"
        paired = len(found) == len(self._cards)
        return Facts(
            gpus=tuple(
                Gpu(name=self._cards[n].reading.name, total_bytes=self._cards[n].reading.memory_total_bytes)
                if paired
                else Gpu()
                for n in range(len(found))
            ),
            why_none=why or "TensorFlow sees no GPU",
            environment=dict(self._environment),
        )

    def take(self, step: Step) -> Change:
        config = self._tf.config
        if step.kind == "environment":
            return take_variable(step, "tensorflow", self._is_initialised(), self._environment)
        if step.kind == "visible":
            gpus = config.list_physical_devices("GPU")
            return self._before(step, lambda: config.set_visible_devices([gpus[n] for n in step.value], "GPU"))
        kind, _, number = step.name.partition(":")
        device = config.list_physical_devices(kind)[int(number)]
        if step.kind == "growth":
            return self._before(step, lambda: config.experimental.set_memory_growth(device, True))
        pieces = [
            config.LogicalDeviceConfiguration(**({} if limit is None else {"memory_limit": limit // _MIB}))
            for limit in step.value
        ]
        return self._before(step, lambda: config.set_logical_device_configuration(device, pieces))

    def hide_gpus(self) -> Change | None:
        """Keep TensorFlow off the GPUs that another framework trains on; None where it sees none."""
        if not self._tf.config.list_physical_devices("GPU"):
            return None
        step = Step(kind="visible", name="GPU", value=(), text="no GPU for TensorFlow, which is imported too")
        try:
            return self.take(step)
        except RuntimeError as error:
            return Change(lever="memory", text=step.text, outcome="not possible", why=str(error))

    def _before(self, step: Step, act: Callable[[], None]) -> Change:
        try:
            act()
        except RuntimeError as error:
            raise too_late("tensorflow", step.text) from error
        return done(step, _KEPT)

    def _is_initialised(self) -> bool:
        """Whether devices are fixed. Source: tensorflow/python/eager/context.py; it has no public name."""
        asked = getattr(self._modules.get("tensorflow.python.eager.context"), "context_safe", None)
        context = None if asked is None else asked()
        return getattr(context, "_context_handle", None) is not None
