"""What was seen of a model's precision, whichever framework it is of."""

from __future__ import annotations

from dataclasses import dataclass

HALF = frozenset({"float16", "bfloat16"})


@dataclass(frozen=True, slots=True, kw_only=True)
class Observed:
    """losses, softmaxes, norms: names of those computed in float16. outputs: (name, dtype).

    computes_in_float16: any layer that trains. is_loss_scaled: None: not known, as before `compile`. is_run: a batch
    went through, so that dtypes are those of results. ..._advice: what to write, in the framework's words.
    """

    name: str
    losses: tuple[str, ...] = ()
    softmaxes: tuple[str, ...] = ()
    norms: tuple[str, ...] = ()
    outputs: tuple[tuple[str, str], ...] = ()
    computes_in_float16: bool = False
    is_loss_scaled: bool | None = None
    is_run: bool = False
    loss_advice: str = ""
    softmax_advice: str = ""
    norm_advice: str = ""
    output_advice: str = ""
    scaling_advice: str = ""
