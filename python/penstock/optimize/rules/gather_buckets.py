"""Buckets of sequences become batches where their rows are gathered: no dataset is made, opened and run for each.

What the datasets would give is known from the arguments of the verb. Left alone is what tells elements apart that fail.
"""

from __future__ import annotations

from dataclasses import fields

from penstock.graph.node import Node
from penstock.graph.nodes import Bucket, GatheredBuckets
from penstock.optimize.rule import Rule


def rewrite(node: Node, is_root: bool) -> Node:
    if type(node) is not Bucket or node.ignores:
        return node
    return GatheredBuckets(**{field.name: getattr(node, field.name) for field in fields(node)})


GATHER_BUCKETS = Rule("gather_buckets", rewrite)
