"""The trainer's function is compiled again and again, for its input keeps changing shape or dtype.

Found, whatever binds, where three new signatures or more came after the first, or where compiling them took a twentieth
of the run. One or two are a last batch that is shorter.
"""

from __future__ import annotations

from collections import Counter

from penstock.diagnose.case import Case
from penstock.diagnose.finding import Confidence, Fact, Finding
from penstock.diagnose.steps import loader_of

_LEAST = 3
_LEAST_SHARE = 0.05
_BATCHING = ("batch", "padded_batch", "ragged_batch", "bucket_by_sequence_length", "rebatch", "padded")
_FIXES = {
    "penstock": "penstock.train.fix_shapes(dataset); by hand: padded_batch with a fixed length, "
    'bucket_by_sequence_length with few buckets, pack, batch(drop_remainder=True) or batch(remainder="pad")',
    "tf.data": "padded_batch(padded_shapes=...), bucket_by_sequence_length(pad_to_bucket_boundary=True), "
    "batch(drop_remainder=True)",
    "torch": "a collate_fn that pads to a few lengths, DataLoader(drop_last=True), torch.compile(dynamic=True)",
}


def find(case: Case) -> Finding | None:
    """`retrace`, blaming the leaf that changes."""
    retraces, seconds = case.trace.retraces, case.trace.seconds
    if not retraces:
        return None
    costs = [one.cost_s for one in retraces if one.cost_s is not None]
    share = sum(costs) / seconds if seconds > 0 else 0.0
    if len(retraces) < _LEAST and share < _LEAST_SHARE:
        return None
    leaf, _ = Counter(one.leaf for one in retraces).most_common(1)[0]
    example = next(one for one in retraces if one.leaf == leaf)
    facts = [
        Fact("new signatures", len(retraces)),
        Fact(f"step {example.step}", f"{example.before} -> {example.after}"),
    ]
    if costs:
        facts.append(Fact("compiling, share of the run", share, "share"))
    return Finding(
        kind="retrace", blame=_shaping(case), confidence=_confidence(case, costs),
        claim=f"{leaf or 'the input'} keeps changing shape: {len(retraces)} times so far",
        advice=(_FIXES.get(case.trace.source, "pad to a few fixed shapes, and drop or pad the last batch"),),
        evidence=tuple(facts), level="fault" if share >= _LEAST_SHARE else "hint",
    )  # fmt: skip


def _shaping(case: Case) -> str:
    """What gives batches their shape: the batching nearest the trainer, else the loader."""
    batching = (node.label for node in case.trace.nodes if node.verb in _BATCHING)
    return next(batching, loader_of(case.trace))


def _confidence(case: Case, costs: list[float]) -> Confidence:
    """PyTorch compiles nothing unless it is asked to, so that there a new shape may cost nothing."""
    return "high" if costs else "low" if case.trace.framework == "torch" else "medium"
