"""Decoding images takes most of the step that holds the trainer up.

Found where the input binds and, of the step to blame, an op that decodes takes half of the time or more, on a core and
not waiting for storage. Decoding less is worth more than decoding faster, so advice begins there.
"""

from __future__ import annotations

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Fact, Finding, percent
from penstock.diagnose.knobs import knob
from penstock.diagnose.steps import line_of, ops_of
from penstock.telemetry.trace import StepTrace

_MOST = 0.5
_OURS = 'decode_jpeg(..., fidelity="fast"), or decode_and_crop_jpeg before a resize'
_OTHERS = "decode at reduced size (tf.io.decode_jpeg(ratio=...), PIL's draft, OpenCV's IMREAD_REDUCED_COLOR_2)"


def find(case: Case) -> Finding | None:
    """`slow_decode`, blaming the step."""
    step = case.step
    if not case.is_input_bound or step is None or step.storage_s > 0.5 * step.busy_s:
        return None
    decoding = _decoding_s(case, step)
    if step.busy_s <= 0 or decoding < _MOST * step.busy_s:
        return None
    facts = [Fact("decoding, share of the step", decoding / step.busy_s, "share")]
    if step.elements:
        facts.append(Fact("decoding, one element", decoding / step.elements, "s"))
    ours = case.trace.source == "penstock"
    return Finding(
        kind="slow_decode", blame=step.label,
        claim=f"decoding images takes {percent(decoding / step.busy_s)} of {step.label}",
        advice=(
            f"at {line_of(step.label)}: {_OURS if ours else _OTHERS}",
            "store the images smaller, once: penstock convert SRC DST --resize N",
            f"cache below what is random, if it fits: {knob(case.trace, 'cache')}",
        ),
        evidence=tuple(facts), confidence="high", level=case.level, predicted_gain=case.gain,
    )  # fmt: skip


def is_decoding(name: str) -> bool:
    """Whether a verb or an op, by its name, decodes images; the fused pass over an image begins with that."""
    return name == "fused.images" or (name.startswith("decode_") and name not in ("decode_raw", "decode_csv"))


def _decoding_s(case: Case, step: StepTrace) -> float:
    if is_decoding(step.verb):
        return step.busy_s
    return sum(op.busy_s for op in ops_of(case.trace, step) if is_decoding(op.verb))
