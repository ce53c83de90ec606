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
from penstock.graph.walk import collected_options, nodes_of
from penstock.options import Options
from penstock.session.iterator import PipelineIterator, deliver
from penstock.session.preparation import prepare, resolve_seed, services_of
from penstock.session.stored.filling import prepare_filled
from penstock.storage.surroundings import reading_for

_OPAQUE = (Map, Indexed, Nesting, Scan, Resample)
"""Nodes whose elements are known when the first one has been computed."""


def read_positions(root: Node, positions: Sequence[int], options: Options | None = None) -> list[Any]:
    """The elements at these positions of an index-driven dataset in epoch 0, in the caller's thread."""
    prepared = prepare_filled(root, options, everywhere=True)
    services = services_of(prepared, resolve_seed(prepared.options), Kept())
    scope = Scope(services, 0).in_task()
    with reading_for(services.remote, None, None):
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
            varying = _varying_axes(step)
            specs = tuple(_any_size(spec, varying) for spec in found.specs)
            step.memo.signature = step.memo.signature or Signature(found.structure, specs)
    return node.signature() is not None


def first_block(node: Node) -> tuple[Block | None, dict[int, Seen]]:
    """The first element of `node`, computed in this thread, and what each function below it gave, by memo."""
    skipped = (collected_options(node).skip_rules or frozenset()) | {"join_maps"}  # each function's result is wanted
    prepared = prepare(node, Options(executor="inline", block_size=1, skip_rules=skipped))
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


def _varying_axes(step: Node) -> int:
    """How many axes of what a function is given may differ in size: 0; 1, the rows of batches; 2, more than these."""
    inner = step.inputs[0].signature() if step.inputs else None
    shapes = [spec.shape for spec in inner.specs if spec.shape] if inner is not None else []
    if any(None in shape[1:] for shape in shapes):
        return 2
    return int(any(shape[0] is None for shape in shapes))


def _any_size(spec: Spec, varying: int) -> Spec:
    """What the first element showed, without the sizes that others need not share."""
    if not spec.shape or not varying or spec.ragged_rank:
        return spec.with_rows(None) if spec.ragged_rank and varying else spec
    return Spec((None, *spec.shape[1:]) if varying == 1 else (None,) * len(spec.shape), spec.dtype)
