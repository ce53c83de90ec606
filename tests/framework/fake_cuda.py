"""`torch.cuda` where there is no GPU: what the copier asks of it, in order."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest
import torch

from penstock.adapters.torch_copies import CudaCopier


class FakeCuda:
    """As much of `torch.cuda` as the copier asks for; the "GPU" is the CPU, and copies are done at once."""

    def __init__(self) -> None:
        self.notes: list[str] = []

    def current_device(self) -> int:
        return 0

    def Stream(self, device: Any) -> str:  # noqa: N802 - torch.cuda's name
        return "side"

    def Event(self) -> Any:  # noqa: N802 - torch.cuda's name
        return SimpleNamespace(
            record=lambda stream: self.notes.append(f"record on {stream}"), query=lambda: True, synchronize=lambda: None
        )

    def current_stream(self, device: Any) -> Any:
        return SimpleNamespace(wait_event=lambda event: self.notes.append("current waits"), name="current")

    @contextlib.contextmanager
    def stream(self, stream: str) -> Iterator[None]:
        self.notes.append(f"on {stream}")
        yield


class CopierToCpu(CudaCopier):
    """To a "GPU" that is the CPU; `used` has the stream on which each copy was handed over."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.cuda, self.used = FakeCuda(), list[str]()
        super().__init__(torch.device("cpu"), self.cuda)
        monkeypatch.setattr(
            torch.Tensor, "record_stream", lambda tensor, stream: self.used.append(stream.name), raising=False
        )

    def lock(self, size_bytes: int) -> Any:
        return torch.empty(size_bytes, dtype=torch.uint8)
