"""What is wrong, or risky, about the precision a model computes in, by the names of its layers."""

from __future__ import annotations

import sys
from typing import Any

from penstock.diagnose.finding import Fact, Finding, Level
from penstock.errors import InvalidArgumentError
from penstock.train.precision.observed import HALF, Observed
from penstock.train.precision.on_keras import observe_keras
from penstock.train.precision.on_torch import observe_torch


def check_precision(
    model: Any, sample: Any = None, *, scaler: Any = None, precision: str | None = None
) -> tuple[Finding, ...]:
    """Findings on a Keras model (any backend) or a PyTorch module; none is the good news.

    kinds: "half_loss", "half_softmax", "half_normalisation": computed in float16, which overflows beyond 65504;
    "half_output": the result is not float32; "no_loss_scaling": float16 gradients would vanish.
    sample: one batch of inputs: asked of subclassed Keras models, and of PyTorch for what its layers really give
    (without it, their parameters tell). scaler: PyTorch's GradScaler. precision: of PyTorch, what it is run under
    ("mixed_float16": `torch.autocast` of float16), as there is no global policy.

    Raises: InvalidArgumentError: neither a Keras model nor a PyTorch module. Cost: without sample, no computation.
    """
    keras, torch = sys.modules.get("keras"), sys.modules.get("torch")
    if keras is not None and isinstance(model, keras.Model):
        return conclude(observe_keras(keras, model, sample))
    if torch is not None and isinstance(model, torch.nn.Module):
        return conclude(observe_torch(torch, model, sample, scaler, precision))
    raise InvalidArgumentError(
        "check_precision: model", got=type(model).__name__, expected="a keras.Model or a torch.nn.Module"
    )


def conclude(seen: Observed) -> tuple[Finding, ...]:
    """The findings that follow from what was seen of a model."""
    found = [
        Finding(
            kind=kind, claim=f"{what} in float16, whose largest number is 65504: {_listed(names)}", blame=names[0],
            advice=(advice,), evidence=(Fact("layers", float(len(names))),), level=level,
            confidence="high" if seen.is_run else "medium",
        )
        for kind, level, what, names, advice in _computed_in_float16(seen)
        if names
    ]  # fmt: skip
    halves = tuple((name, dtype) for name, dtype in seen.outputs if dtype in HALF)
    if halves:
        listed = ", ".join(f"{name} is {dtype}" for name, dtype in halves)
        found.append(
            Finding(
                kind="half_output", claim=f"an output is not float32: {listed}", blame=halves[0][0], confidence="high",
                advice=(seen.output_advice,),
            )
        )  # fmt: skip
    if seen.computes_in_float16 and seen.is_loss_scaled is False:
        found.append(
            Finding(
                kind="no_loss_scaling", blame=seen.name, advice=(seen.scaling_advice,), level="fault",
                confidence="high", claim="gradients are float16 and no loss scaling is active: those below 6e-8 vanish",
            )
        )  # fmt: skip
    if not seen.outputs:
        found.append(
            Finding(
                kind="half_output", claim="the outputs were not looked at: no batch was given to see them",
                blame=seen.name, level="note", confidence="low",
                advice=("check_precision(model, one_batch_of_inputs)",),
            )
        )  # fmt: skip
    return tuple(found)


def _computed_in_float16(seen: Observed) -> tuple[tuple[str, Level, str, tuple[str, ...], str], ...]:
    return (
        ("half_loss", "fault", "the loss is computed", seen.losses, seen.loss_advice),
        ("half_softmax", "hint", "a softmax is computed", seen.softmaxes, seen.softmax_advice),
        ("half_normalisation", "hint", "a normalisation is computed", seen.norms, seen.norm_advice),
    )


def _listed(names: tuple[str, ...]) -> str:
    more = len(names) - 5
    return ", ".join(names[:5]) + (f" and {more} more" if more > 0 else "")
