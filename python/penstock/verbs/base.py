"""What every kind of verb stands on: a dataset is a node, and a verb gives a dataset over a new node."""

from __future__ import annotations

from typing import Any, Self

from penstock.graph.node import Node
from penstock.options import AUTOTUNE, require_integer


class Verbs:
    """Base of the verb classes; `Dataset` joins them."""

    _node: Node

    @classmethod
    def _of(cls, node: Node) -> Self:
        raise NotImplementedError


def require_parallelism(verb: str, value: Any) -> int | None:
    """`num_parallel_calls` as tf.data takes it: None (one, in order), AUTOTUNE, or a number of workers."""
    if value is None or value == AUTOTUNE:
        return None if value is None else AUTOTUNE
    return require_integer(verb, "num_parallel_calls", value, minimum=1)
