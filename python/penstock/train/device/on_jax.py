"""JAX' hand: variables and options that it reads when it starts its backends."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import Any

from penstock.machine.cards import Card
from penstock.train.device.first_use import too_late
from penstock.train.device.framework import already, done, take_variable
from penstock.train.device.steps import Facts, Gpu, Step
from penstock.train.runtime import Change


class OnJax:
    """The process' JAX. cards: what NVML says, in CUDA's order; JAX is not asked, for it would start its backends."""

    def __init__(
        self, cards: tuple[Card, ...] = (), why_none: str = "", jax: Any = None,
        environment: MutableMapping[str, str] = os.environ,
    ) -> None:  # fmt: skip
        if jax is None:
            import jax  # type: ignore[no-redef]  # the caller's stands for it
        self._jax = jax
        self._cards = cards
        self._why_none = why_none
        self._environment = environment

    def facts(self) -> Facts:
        gpus = tuple(Gpu(name=card.reading.name, total_bytes=card.reading.memory_total_bytes) for card in self._cards)
        why = self._why_none
        if is_initialised(self._jax) and all(device.platform == "cpu" for device in self._jax.local_devices()):
            why = "JAX runs on the CPU" if gpus or not why else why
            gpus = ()
        return Facts(gpus=gpus, why_none=why, environment=dict(self._environment))

    def take(self, step: Step) -> Change:
        initialised = is_initialised(self._jax)
        if step.kind == "environment":
            return take_variable(step, "jax", initialised, self._environment)
        if getattr(self._jax.config, step.name) == step.value:
            return already(step)
        if initialised:
            raise too_late("jax", step.text)
        self._jax.config.update(step.name, step.value)
        return done(step, "JAX reads it once, at its first operation")


def is_initialised(jax: Any) -> bool:
    """Whether JAX has started its backends. Source: jax/_src/xla_bridge.py; it has no public name."""
    bridge = getattr(getattr(jax, "_src", None), "xla_bridge", None)
    asked = getattr(bridge, "backends_are_initialized", None)
    return bool(asked()) if asked is not None else False
