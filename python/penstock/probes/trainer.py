"""Which framework trains in this process, whether it waits for its device, and when its device was done.

Nothing here imports a framework: only what the script itself has imported is asked.
"""

from __future__ import annotations

import sys
from collections import deque
from collections.abc import Callable, Mapping
from types import ModuleType
from typing import Any, Protocol

_LEAVES = 8


def trainer(modules: Mapping[str, ModuleType] = sys.modules) -> str:
    """Who trains: "jax", "torch", "tensorflow", or "" if none of them.

    `import tensorflow` brings in jax, so jax counts only when it has opened a device; the backend of Keras decides
    where Keras is.
    """
    keras = modules.get("keras.src.backend.config") or modules.get("keras.src.backend.common.global_state")
    if keras is not None and hasattr(keras, "backend") and "keras.src.trainers.trainer" in modules:
        return str(keras.backend())
    bridge = modules.get("jax._src.xla_bridge")
    if bridge is not None and getattr(bridge, "backends_are_initialized", bool)():
        return "jax"
    return "torch" if "torch" in modules else "tensorflow" if "tensorflow" in modules else ""


def is_synchronous(framework: str, modules: Mapping[str, ModuleType] = sys.modules) -> bool:
    """Whether the trainer waits for its device, so that its wait for input is the device's.

    TensorFlow and PyTorch do on the CPU; JAX dispatches and goes on; without a framework Python itself is the device.
    """
    if framework == "jax":
        return False
    if framework == "torch":
        torch: Any = modules.get("torch")
        return torch is None or not (torch.cuda.is_initialized() or _has(torch, "mps") or _has(torch, "xpu"))
    if framework == "tensorflow":
        tensorflow: Any = modules.get("tensorflow")
        return tensorflow is None or not tensorflow.config.list_physical_devices("GPU")
    return True


def _has(torch: Any, device: str) -> bool:
    part = getattr(torch, device, None)
    return part is not None and bool(part.is_available())


def blocker(result: Any, modules: Mapping[str, ModuleType] = sys.modules) -> Callable[[], object] | None:
    """A function that returns once the step that gives `result` is done; None: it is done already.

    result: a loss, or a tuple, list or dict with one in it.
    """
    for leaf in _leaves(result, _LEAVES):
        if hasattr(leaf, "block_until_ready"):  # jax.Array
            return leaf.block_until_ready  # type: ignore[no-any-return] # of a framework without types
        if getattr(leaf, "is_cuda", False):  # torch.Tensor
            event: Any = modules["torch"].cuda.Event()
            event.record()
            return event.synchronize  # type: ignore[no-any-return] # of a framework without types
    return None


def _leaves(value: Any, most: int) -> list[Any]:
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, tuple | list):
        return [leaf for part in value[:most] for leaf in _leaves(part, most)][:most]
    return [value]


class Brackets(Protocol):
    """Marks on the device's own timeline around each request, for a device that works off one queue."""

    def enter(self) -> None: ...
    def leave(self) -> None: ...
    def collect(self) -> None:
        """Hand over what the device has passed by now."""


class Event(Protocol):
    """A mark in the device's queue, as `torch.cuda.Event` is."""

    def record(self) -> None: ...
    def query(self) -> bool: ...
    def elapsed_time(self, other: Any, /) -> float: ...


class EventBrackets:
    """Brackets of events: the device reaches the first once it is done with what it had, the second with the batch.

    So the milliseconds between them are the seconds it starved. `note(position, seconds)` is called for each request,
    counted from 0, once its events have passed. Cost: two events a request, some 10 us.
    """

    def __init__(self, make: Callable[[], Event], note: Callable[[int, float], None]) -> None:
        self._make = make
        self._note = note
        self._entered: Event | None = None
        self._count = 0
        self._open: deque[tuple[int, Event, Event]] = deque()

    def enter(self) -> None:
        self._entered = self._make()
        self._entered.record()

    def leave(self) -> None:
        left = self._make()
        left.record()
        if self._entered is not None:
            self._open.append((self._count, self._entered, left))
            self._entered = None
        self._count += 1
        self.collect()

    def collect(self) -> None:
        while self._open and self._open[0][2].query():
            position, entered, left = self._open.popleft()
            self._note(position, entered.elapsed_time(left) / 1000)


def cuda_brackets(
    note: Callable[[int, float], None], modules: Mapping[str, ModuleType] = sys.modules
) -> EventBrackets | None:
    """Brackets on the current CUDA stream; None where PyTorch has not opened a CUDA device."""
    torch: Any = modules.get("torch")
    cuda = getattr(torch, "cuda", None)
    if cuda is None or not cuda.is_initialized():
        return None
    return EventBrackets(lambda: cuda.Event(enable_timing=True), note)
