"""A shuffle of an index-driven range becomes a permutation of its indices, computed and not stored.

The order is that of `Shuffle` itself over such an input, whatever its buffer: without this rule the engine collects the
range and emits it in the same order. A range without end is permuted window by window; one that is read in
pieces, by pieces.
"""

from __future__ import annotations

from penstock.graph.node import UNKNOWN, Node, is_index_driven
from penstock.graph.nodes import Permute, Shuffle
from penstock.graph.pieces import pieces_of_shuffle
from penstock.optimize.rule import Rule


def rewrite(node: Node, is_root: bool) -> Node:
    if isinstance(node, Shuffle) and is_index_driven(node.input) and node.input.cardinality() != UNKNOWN:
        return Permute(
            inputs=node.inputs,
            location=node.location,
            number=node.number,
            seed=node.seed,
            reshuffle_each_iteration=node.reshuffle_each_iteration,
            window=node.window,
            pieces=pieces_of_shuffle(node),
        )
    return node


SHUFFLE_TO_PERMUTATION = Rule("shuffle_to_permutation", rewrite)
