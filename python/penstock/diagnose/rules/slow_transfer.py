"""Batches reach the accelerator slowly: too many bytes, or from memory it must copy first.

Found where the input binds and the model names the way from host to device as the limit, used to 60 % or more; and, of
PyTorch with an accelerator, where the loader does not pin its memory.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding

_LEAST = 0.6


def find(case: Case) -> Finding | None:
    """`slow_transfer`, blaming the loader."""
    if not case.is_input_bound:
        return None
    binding, trace = case.limits.pipeline, case.trace
    reached = case.reached
    if binding is not None and binding.resource == "host_to_device" and reached is not None and reached >= _LEAST:
        return Finding(
            kind="slow_transfer", blame=case.blame, claim="the way from host to device is the limit", level=case.level,
            advice=("send uint8 and cast on the device; send what the step reads and no more",),
            evidence=(Fact("of what it carries", reached, "share"),), predicted_gain=case.gain,
        )  # fmt: skip
    has_accelerator = any(sample.host.accelerators for sample in trace.samples)
    if trace.source == "torch" and has_accelerator and trace.settings.get("pin_memory") is False:
        return Finding(
            kind="slow_transfer", blame=case.blame, claim="batches are copied to the device from unpinned memory",
            advice=("DataLoader(pin_memory=True), and batch.to(device, non_blocking=True)",), confidence="low",
            evidence=(Fact("pin_memory", "False"),),
        )  # fmt: skip
    return None
