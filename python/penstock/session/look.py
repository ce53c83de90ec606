"""Looking into a dataset without an iterator: elements by position, the first one, what elements look like."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from penstock.block.block import Block
from penstock.block.spec import Spec
from penstock.engine.build import build
from penstock.engine.kept import Kept
from penstock.engine.operators.indexed import indexed_operator
from penstock.engine.run import Run, RunLimits
from penstock.engine.scope import Scope, Seen
from penstock.errors import (
    UnknownLengthError,
)
from penstock.graph.node import Node, Signature
from penstock.graph.nodes import Indexed, Map, Nesting, Resample, Scan
from penstock.graph.walk import nodes_of
from penstock.options import Options
from penstock.session.iterator import PipelineIterator, deliver
from penstock.session.preparation import prepare, resolve_seed, services_of

_OPAQUE = (Map, Indexed, Nesting, Scan, Resample)
"""Nodes whose elements are known when the first one has been computed."""


def read_positions(root: Node, positions: Sequence[int], options: Options | None = None) -> list[Any]:
    """The elements at these positions of an index-driven dataset in epoch 0, in the caller's thread."""
    prepared = prepare(root, options)
    services = services_of(prepared, resolve_seed(prepared.options), Kept())
    scope = Scope(services, 0).in_task()
    block = indexed_operator(prepared.plan.graph).rows(np.array(positions, dtype=np.int64), scope)
    return list(deliver(block))


def first_element(root: Node) -> Any:
    """The first element, computed in the caller's thread; nothing keeps running.

    Raises: UnknownLengthError: there is none.
    """
    inline = Options(executor="inline", block_size=1)
    with PipelineIterator(root, 0, inline) as iterator:
        for element in iterator:
            return element
    raise UnknownLengthError("an empty dataset has no first element", where=root.label)


def resolve_signature(root: Node) -> Signature | None:
    """What the elements of `root` look like; runs the first element, once, for functions nobody described.

    One run tells every function's result below it, and each is kept with its node. None for an empty dataset.
    """
    while root.signature() is None:
        opaque = [node for node in nodes_of(root) if isinstance(node, _OPAQUE) and node.signature() is None]
        if not opaque or not _probe(opaque[-1]):
            return None
    return root.signature()


def _probe(node: Node) -> bool:
    """Compute the first element of `node` and note what each function gave; False when there is none."""
    block, seen = first_block(node)
    if block is not None and block.failure is not None:
        raise block.failure.error
    for step in nodes_of(node):
        if isinstance(step, _OPAQUE) and id(step.memo) in seen:
            found = seen[id(step.memo)]
            specs = tuple(map(_any_rows, found.specs)) if _rows_vary(step) else found.specs
            step.memo.signature = step.memo.signature or Signature(found.structure, specs)
    return node.signature() is not None


def first_block(node: Node) -> tuple[Block | None, dict[int, Seen]]:
    """The first element of `node`, computed in this thread, and what each function below it gave, by memo."""
    prepared = prepare(node, Options(executor="inline", block_size=1))
    scope = Scope(services_of(prepared, resolve_seed(prepared.options), Kept()), 0)
    run = Run(build(prepared.plan.root, scope, 1), RunLimits(0, prepared.ram_budget_bytes))
    try:
        marked, _ = run.next_block()
        seen = run.scheduler.seen
    finally:
        run.close()
    functions = [step for step in nodes_of(prepared.user_graph) if isinstance(step, _OPAQUE)]
    return None if marked is None else marked.block, {
        id(step.memo): seen[step.number] for step in functions if step.number in seen
    }


def _rows_vary(step: Node) -> bool:
    """Whether what a function is given differs in its number of rows: batches, of which the last may be short."""
    inner = step.inputs[0].signature() if step.inputs else None
    return inner is not None and any(spec.shape and spec.shape[0] is None for spec in inner.specs)


def _any_rows(spec: Spec) -> Spec:
    return Spec((None, *spec.shape[1:]), spec.dtype) if spec.shape else spec
