"""A PyTorch module's precision: what its layers give for a sample, else what their parameters are.

Under CUDA's autocast softmax, losses and layer norms compute in float32, under the CPU's some do not: what they give
says it. A normalisation whose parameters are float32 accumulates in it. Source: PyTorch's autocast op reference.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from penstock.train.precision.observed import Observed
from penstock.train.precision.torch_amp import autocast


def observe_torch(
    torch: Any, module: Any, sample: Any = None, scaler: Any = None, precision: str | None = None
) -> Observed:
    """What `module` computes in; with a sample, its forward pass is run once, without gradients, as in evaluation."""
    given = {} if sample is None else _run(torch, module, sample, precision or "float32")
    stored = {name: _stored(part) for name, part in module.named_modules()}
    whole = _first_floating(module.parameters())
    casts = precision == "mixed_float16"
    losses, softmaxes, norms = [], [], []
    for name, part in module.named_modules():
        result = given[name][0][1] if given.get(name) else (None if casts else stored[name] or whole)
        if isinstance(part, (torch.nn.Softmax, torch.nn.LogSoftmax, torch.nn.Softmax2d)) and result == "float16":
            softmaxes.append(name)
        elif isinstance(part, torch.nn.modules.loss._Loss) and result == "float16":
            losses.append(name)
        elif "Norm" in type(part).__name__ and (stored[name] or result) == "float16":
            norms.append(name)
    in_half = casts or whole == "float16"
    return Observed(
        name=type(module).__name__,
        losses=tuple(losses),
        softmaxes=tuple(softmaxes),
        norms=tuple(norms),
        outputs=given.get("", ()) or (() if casts or whole is None else (("output", whole),)),
        computes_in_float16=in_half and any(each.requires_grad for each in module.parameters()),
        is_loss_scaled=scaler is not None and bool(scaler.is_enabled()),
        is_run=bool(given),
        loss_advice="take the loss of logits.float()",
        softmax_advice="softmax(x.float())",
        norm_advice="keep it in float32: module.float() after model.half()",
        output_advice="return logits.float()",
        scaling_advice="scaler = penstock.train.grad_scaler(runtime); scaler.scale(loss).backward(); scaler.step(...)",
    )


def _run(torch: Any, module: Any, sample: Any, precision: str) -> dict[str, tuple[tuple[str, str], ...]]:
    """(output, dtype) of each part that gave floating tensors."""
    given: dict[str, tuple[tuple[str, str], ...]] = {}

    def note(name: str) -> Callable[[Any, Any, Any], None]:
        def hook(_: Any, __: Any, result: Any) -> None:
            given[name] = tuple(_floating(torch, result))

        return hook

    handles = [part.register_forward_hook(note(name)) for name, part in module.named_modules()]
    try:
        with torch.no_grad(), _evaluating(module), autocast(precision):
            module(*sample) if isinstance(sample, (tuple, list)) else module(sample)
    finally:
        for handle in handles:
            handle.remove()
    return given


@contextmanager
def _evaluating(module: Any) -> Iterator[None]:
    """Statistics of normalisations stay as they are; every part is put back into its own mode."""
    modes = [(part, part.training) for part in module.modules()]
    module.eval()
    try:
        yield
    finally:
        for part, mode in modes:
            part.training = mode


def _floating(torch: Any, result: Any, name: str = "output") -> Iterator[tuple[str, str]]:
    if isinstance(result, torch.Tensor):
        if result.is_floating_point():
            yield name, str(result.dtype).removeprefix("torch.")
    elif isinstance(result, dict):
        for key, each in result.items():
            yield from _floating(torch, each, str(key))
    elif isinstance(result, (tuple, list)):
        for number, each in enumerate(result):
            yield from _floating(torch, each, f"{name} {number}")


def _stored(part: Any) -> str | None:
    return _first_floating(part.parameters(recurse=False))


def _first_floating(tensors: Any) -> str | None:
    return next((str(each.dtype).removeprefix("torch.") for each in tensors if each.is_floating_point()), None)
