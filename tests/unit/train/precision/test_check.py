"""Findings from what was seen of a model, and skips from what a scaler tells; frameworks are in tests/framework."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

import pytest

from penstock.errors import InvalidArgumentError
from penstock.train.precision.check import check_precision, conclude
from penstock.train.precision.observed import Observed
from penstock.train.precision.skipped import least_skipped, skipped_steps

FINE = Observed(name="model", outputs=(("logits", "float32"),))


def seen(**changed: Any) -> Observed:
    fields: dict[str, Any] = {"name": "model", "outputs": (("logits", "float32"),), **changed}
    return Observed(**fields)


def test_a_model_without_fault_has_no_finding() -> None:
    assert conclude(seen()) == ()
    assert conclude(seen(computes_in_float16=True, is_loss_scaled=True)) == ()
    assert conclude(seen(computes_in_float16=True, is_loss_scaled=None)) == ()


@pytest.mark.parametrize(
    ("changed", "kind", "level", "word"),
    [
        ({"losses": ("mse",)}, "half_loss", "fault", "the loss is computed in float16"),
        ({"softmaxes": ("probabilities",)}, "half_softmax", "hint", "probabilities"),
        ({"norms": tuple("abcdefg")}, "half_normalisation", "hint", "a, b, c, d, e and 2 more"),
        ({"outputs": (("x", "float32"), ("y", "bfloat16"))}, "half_output", "hint", "y is bfloat16"),
        ({"computes_in_float16": True, "is_loss_scaled": False}, "no_loss_scaling", "fault", "no loss scaling"),
        ({"outputs": ()}, "half_output", "note", "no batch was given"),
    ],
)
def test_each_fault_is_a_finding_with_names(changed: dict[str, Any], kind: str, level: str, word: str) -> None:
    (finding,) = conclude(seen(**changed))
    assert (finding.kind, finding.level) == (kind, level)
    assert word in finding.claim
    assert finding.advice


def test_what_is_no_model_is_refused() -> None:
    with pytest.raises(InvalidArgumentError, match=r"got int, expected a keras.Model or a torch.nn.Module"):
        check_precision(3)


@pytest.mark.parametrize("every", [3, 5])
@pytest.mark.parametrize("pattern", ["", "ggg", "s", "gsgg", "sss", "gggs", "ggggggs", "ggggggsggg", "ggsggsggs"])
def test_skips_that_a_scale_tells_are_never_too_many(pattern: str, every: int) -> None:
    """g: a good step, s: a skipped one; the scaler as Keras has it."""
    scale, applied, good, grew = 2.0**15, 0, 0, False
    for step in pattern:
        if step == "s":
            scale, good = scale / 2, 0
            continue
        applied += 1
        good += 1
        if good == every:
            scale, good, grew = scale * 2, 0, True
    least = least_skipped(2.0**15, scale, applied, good, every)
    assert 0 <= least <= pattern.count("s")
    assert grew or least == pattern.count("s")


def scale_optimizer(**changed: Any) -> SimpleNamespace:
    told = {
        "inner_optimizer": 1, "iterations": 14, "initial_scale": 2.0**15, "dynamic_scale": 2.0**12, "step_counter": 4,
        "dynamic_growth_steps": 2000,
    }  # fmt: skip
    return SimpleNamespace(**{**told, **changed})


def test_skipped_steps_of_keras() -> None:
    assert skipped_steps(scale_optimizer()) == 3
    assert skipped_steps(scale_optimizer(), steps=20) == 6
    assert skipped_steps(SimpleNamespace(iterations=5)) is None


def test_skipped_steps_of_pytorch() -> None:
    scaler = SimpleNamespace(
        get_backoff_factor=lambda: 0.5, get_scale=lambda: 2.0**14, _init_scale=2.0**16, is_enabled=lambda: True
    )
    assert skipped_steps(scaler) == 2
    counting = SimpleNamespace(skipped_steps=lambda: 7, is_enabled=lambda: True)
    assert skipped_steps(counting) == 7
    counting.is_enabled = lambda: False
    assert skipped_steps(counting) is None
