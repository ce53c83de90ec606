"""The user's graph: immutable nodes that run nothing."""

from penstock.graph.node import INFINITE, UNKNOWN, Node, Signature, index_obstacle, is_index_driven

__all__ = ["INFINITE", "UNKNOWN", "Node", "Signature", "index_obstacle", "is_index_driven"]
