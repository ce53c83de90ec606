"""The copier of `transfer.py` for GPUs that PyTorch drives by `torch.cuda`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy.typing as npt
import torch

from penstock.adapters.torch import as_tensor
from penstock.adapters.transfer import Event


class CudaEvent:
    """A `torch.cuda.Event` as `transfer.Event`."""

    def __init__(self, event: Any) -> None:
        self.event = event

    def has_passed(self) -> bool:
        """Whether the copies before it are done."""
        return bool(self.event.query())

    def wait(self) -> None:
        """Until they are."""
        self.event.synchronize()


class CudaCopier:
    """Copies on a stream of its own to one GPU. `cuda` is `torch.cuda`."""

    def __init__(self, device: Any, cuda: Any = torch.cuda) -> None:
        index = cuda.current_device() if device.index is None else device.index
        self.device = torch.device(device.type, index)
        self._cuda = cuda
        self._stream = cuda.Stream(self.device)

    def lock(self, size_bytes: int) -> Any:
        """From PyTorch's own allocator of page-locked memory, which rounds up to a power of two."""
        return torch.empty(size_bytes, dtype=torch.uint8, pin_memory=True)

    def unlock(self, memory: Any) -> None:
        """Nothing to be called: PyTorch's allocator takes it back as the last tensor over it dies."""

    def stage(self, memory: Any, start: int, array: npt.NDArray[Any]) -> Any:
        """A tensor over `memory` with the bytes of `array`; large ones are written by several threads."""
        tensor = as_tensor(array, is_only_read=True)
        staged = memory[start : start + tensor.nbytes].view(tensor.dtype).view(tensor.shape)
        return staged.copy_(tensor)

    def borrow(self, array: npt.NDArray[Any]) -> Any:
        """A tensor over the array's memory."""
        return as_tensor(array, is_only_read=True)

    def copy(self, staged: Any) -> Any:
        """The tensor on the GPU; its memory belongs to the copier's stream."""
        with self._cuda.stream(self._stream):
            return staged.to(self.device, non_blocking=True)

    def fence(self) -> Event:
        """Behind the copies started so far."""
        event = self._cuda.Event()
        event.record(self._stream)
        return CudaEvent(event)

    def hand_over(self, copies: Sequence[Any], fence: Event) -> None:
        """The stream that is current now waits, and PyTorch's allocator learns that it uses the copies."""
        assert isinstance(fence, CudaEvent)
        stream = self._cuda.current_stream(self.device)
        stream.wait_event(fence.event)
        for copy in copies:
            copy.record_stream(stream)

    def close(self) -> None:
        """Give what is page-locked and unused back to the system, where this PyTorch can."""
        if hasattr(torch, "accelerator") and hasattr(torch.accelerator, "empty_host_cache"):
            torch.accelerator.empty_host_cache()
