"""PyTorch's hand: variables that CUDA and the allocator read when they start, and a share of memory at any time."""

from __future__ import annotations

import os
from collections.abc import MutableMapping
from typing import Any

from penstock.machine.cards import Card
from penstock.train.device.framework import take_variable
from penstock.train.device.steps import Facts, Gpu, Step
from penstock.train.runtime import Change


class OnTorch:
    """The process' PyTorch. cards: what NVML says, in CUDA's order."""

    def __init__(
        self, cards: tuple[Card, ...] = (), why_none: str = "", torch: Any = None,
        environment: MutableMapping[str, str] = os.environ,
    ) -> None:  # fmt: skip
        if torch is None:
            import torch  # type: ignore[no-redef]  # the caller's stands for it
        self._torch = torch
        self._cards = cards
        self._why_none = why_none
        self._environment = environment

    def facts(self) -> Facts:
        cuda = self._torch.cuda
        count = cuda.device_count() if cuda.is_available() else 0
        why = self._why_none
        if not count and self._cards:
            why = f"PyTorch sees no GPU where NVML sees {len(self._cards)}: is it a build with CUDA?"
        paired = count == len(self._cards)
        words = self._torch.__version__.split(".")
        return Facts(
            gpus=tuple(
                Gpu(name=self._cards[n].reading.name, total_bytes=self._cards[n].reading.memory_total_bytes)
                if paired
                else Gpu()
                for n in range(count)
            ),
            why_none=why or "PyTorch sees no GPU",
            environment=dict(self._environment),
            version=(int(words[0]), int(words[1])),
        )

    def take(self, step: Step) -> Change:
        cuda = self._torch.cuda
        if step.kind == "environment":
            return take_variable(step, "torch", cuda.is_initialized(), self._environment)
        number = int(step.name.partition(":")[2])
        total = cuda.get_device_properties(number).total_memory

        def undo() -> None:
            cuda.set_per_process_memory_fraction(1.0, number)

        cuda.set_per_process_memory_fraction(min(1.0, step.value / total), number)
        return Change(lever="memory", text=step.text, why=step.why, undo=undo)
