"""Which method of which Keras model asks for data: Keras does not tell, so its frames among our callers do.

Needed where several devices train: what is right to hand out depends on it. Rows of weight 0 have no place in what
`predict` returns, and a loss that is a sum is not to be weighted.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from penstock.adapters.row_weights import Purpose

_METHODS: dict[str, Purpose] = {"fit": "fit", "evaluate": "evaluate", "predict": "predict"}
_PEEKS = ("_symbolic_build", "_maybe_symbolic_build")
_DEPTH = 40


@dataclass(frozen=True, slots=True)
class Call:
    """purpose: the method. model: None where none was found. is_peek: the batch is read to learn shapes only."""

    purpose: Purpose = "fit"
    model: Any = None
    is_peek: bool = False

    @property
    def strategy(self) -> Any:
        """The `tf.distribute.Strategy` that the model was built under; None: none."""
        return getattr(self.model, "_distribute_strategy", None)

    @property
    def reductions(self) -> frozenset[Any]:
        """How the model's losses are reduced over rows; Keras' default where they do not say."""
        losses = _leaves(getattr(self.model, "loss", None))
        return frozenset(getattr(loss, "reduction", "sum_over_batch_size") for loss in losses if loss is not None)


def find_call() -> Call:
    """The innermost `fit`, `evaluate` or `predict` of a model among our callers."""
    frame, is_peek = sys._getframe(1).f_back, False
    for _ in range(_DEPTH):
        if frame is None:
            break
        name = frame.f_code.co_name
        is_peek = is_peek or name in _PEEKS
        if name in _METHODS:
            model = frame.f_locals.get("self")
            if hasattr(model, "train_step"):
                return Call(_METHODS[name], model, is_peek)
        frame = frame.f_back
    return Call(is_peek=is_peek)


def weigh_reported_loss(model: Any, purpose: Purpose) -> None:
    """Let the loss that Keras prints weigh each replica's by the mean of their rows, instead of by its own.

    What a replica reports is already its share of the global mean, so weighing it by its own rows counts these twice:
    of 25 rows on two replicas, 13 count for 1.04 and 12 for 0.96. Done once per model; the step that was compiled
    before is compiled again.
    """
    tracker = getattr(model, "_loss_tracker", None)
    if tracker is None:
        return
    if not isinstance(tracker.update_state, _ByMeanRows):
        tracker.update_state = _ByMeanRows(tracker.update_state)
    if purpose not in tracker.update_state.purposes:
        tracker.update_state.purposes.add(purpose)
        setattr(model, "train_function" if purpose == "fit" else "test_function", None)


class _ByMeanRows:
    """`update_state` of a metric, weighed by the mean of the replicas' weights. purposes: whose steps call it."""

    def __init__(self, inner: Callable[..., Any]) -> None:
        self._inner = inner
        self.purposes: set[Purpose] = set()

    def __call__(self, values: Any, sample_weight: Any = None) -> Any:
        import tensorflow as tf

        context = tf.distribute.get_replica_context()
        if sample_weight is not None and context is not None and context.num_replicas_in_sync > 1:
            rows = tf.cast(sample_weight, tf.float32)
            sample_weight = context.all_reduce(tf.distribute.ReduceOp.MEAN, rows)
        if 0 in values.shape:  # of no rows, Keras leaves the loss unreduced
            values = tf.zeros((), values.dtype)
        return self._inner(values, sample_weight=sample_weight)


def _leaves(value: Any) -> list[Any]:
    if isinstance(value, dict):
        value = tuple(value.values())
    if isinstance(value, list | tuple):
        return [leaf for part in value for leaf in _leaves(part)]
    return [value]
