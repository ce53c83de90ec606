"""PyTorch's mixed precision for loops of one's own: the context of the forward pass, and a scaler that counts."""

from __future__ import annotations

from contextlib import AbstractContextManager, nullcontext
from typing import Any

from penstock.errors import MissingDependencyError
from penstock.train.precision.named import COMPUTE, name_of
from penstock.train.runtime import Runtime


def autocast(precision: Runtime | str, device_type: str | None = None) -> AbstractContextManager[Any]:
    """The context in which PyTorch's forward pass and loss compute in `precision`, a runtime's or a name.

    with penstock.train.autocast(runtime):
        loss = loss_fn(model(x), y)

    "float32" and "bfloat16" (for which `model.to(torch.bfloat16)` is enough) need none and get an empty one.
    device_type: "cuda" if there is one, else "cpu".

    Raises: InvalidArgumentError: no such precision. MissingDependencyError: no PyTorch.
    """
    name = name_of(precision)
    torch = _torch()
    if not name.startswith("mixed_"):
        return nullcontext()
    context: AbstractContextManager[Any] = torch.autocast(_device(torch, device_type), getattr(torch, COMPUTE[name]))
    return context


def grad_scaler(precision: Runtime | str, device_type: str | None = None, **options: Any) -> Any:
    """A `torch.amp.GradScaler` that counts the steps it skips; it does nothing unless float16 is computed in.

    options: GradScaler's own (init_scale, growth_interval ...). Its `skipped_steps()` asks the device, so ask seldom;
    nothing waits for it while training.

    Raises: InvalidArgumentError: no such precision. MissingDependencyError: no PyTorch.
    """
    torch = _torch()
    is_enabled = name_of(precision) == "mixed_float16"
    return _counting(torch)(_device(torch, device_type), **{"enabled": is_enabled, **options})


def _counting(torch: Any) -> type[Any]:
    class CountingScaler(torch.amp.GradScaler):  # type: ignore[misc]  # torch is imported where it is used
        """Adds up, on the device, whether each step found a gradient that is not finite."""

        _skipped: Any = None

        def update(self, new_scale: Any = None) -> None:
            states = self._per_optimizer_states.values() if self.is_enabled() else ()
            # as GradScaler.update itself reads it, before it forgets
            found = [each for state in states for each in state["found_inf_per_device"].values()]
            if found:
                infinite = sum(each.to(found[0].device) for each in found).clamp(max=1.0)
                self._skipped = infinite if self._skipped is None else self._skipped + infinite
            super().update(new_scale)

        def skipped_steps(self) -> int:
            """Steps that were skipped so far. Cost: waits for the device."""
            return 0 if self._skipped is None else int(self._skipped)

    return CountingScaler


def _device(torch: Any, said: str | None) -> str:
    return said or ("cuda" if torch.cuda.is_available() else "cpu")


def _torch() -> Any:
    try:
        import torch
    except ImportError as error:
        raise MissingDependencyError("torch is not installed", remedy="pip install torch") from error
    return torch
