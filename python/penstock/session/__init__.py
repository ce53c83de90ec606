"""Composition root: from a graph and options to a running iterator. Optimize, lower, place, build, run.

Nothing above knows how a pipeline runs, nothing below knows where its graph came from.
"""

from penstock.session.explanation import explain
from penstock.session.iterator import PipelineIterator
from penstock.session.look import first_element, read_positions, resolve_signature
from penstock.session.preparation import prepare, resolve_seed
from penstock.session.stored.filling import prepare_filled, save_to

__all__ = [
    "PipelineIterator",
    "explain",
    "first_element",
    "prepare",
    "prepare_filled",
    "read_positions",
    "resolve_seed",
    "resolve_signature",
    "save_to",
]
