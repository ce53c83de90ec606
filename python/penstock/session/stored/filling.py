"""Running pipelines into directories: caches that are filled first, what an epoch left out, and `save`."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from pathlib import Path

import numpy as np

from penstock.block.block import Block
from penstock.engine.build import build
from penstock.engine.file_cache import FileRows, Filling
from penstock.engine.kept import Kept
from penstock.engine.operators.indexed import indexed_operator
from penstock.engine.run import Run, RunLimits
from penstock.engine.scope import Scope
from penstock.errors import user_location, warn_user
from penstock.formats.stored.data import StoredWriter
from penstock.formats.stored.directory import entries, remove
from penstock.graph.node import Node, is_index_driven
from penstock.graph.nodes import FileCache
from penstock.graph.walk import nodes_of
from penstock.options import Options
from penstock.plan.place import process_workers
from penstock.session.preparation import Prepared, planned, prepare, resolve_seed, services_of, thread_count

_REST_SHARE = 16
_REST_ROWS = 256


def prepare_filled(root: Node, options: Options | None = None, *, everywhere: bool = False) -> Prepared:
    """As `prepare`, after filling the caches that are wanted by number; says which are made anew.

    `everywhere`: all are. Cost: for each of these a pass over what is below it, once.
    """
    prepared = prepare(root, options, everywhere=everywhere)
    for found in prepared.caches:
        if found.why is not None:
            text = f"{found.node.label}: made anew in {found.filling.directory}: {found.why}"
            warn_user(text, user_location())
    pending = [found.node for found in prepared.caches if found.first]
    if not pending:
        return prepared
    for node in pending:
        filling: Filling = node.store
        for block in _blocks(planned(node, prepared)):
            if block.failure is not None:
                raise block.failure.error
            if filling.data is not None:
                break
    return prepare(root, options, everywhere=everywhere)


def _blocks(prepared: Prepared, epoch: int = 0) -> Iterator[Block]:
    """All blocks of a pipeline in order."""
    inline = prepared.executor == "inline"
    workers = 0 if inline else thread_count(prepared.plan.root, prepared.budget.cpus)
    processes = 0 if inline else process_workers(prepared.plan.graph, prepared.budget.cpus, prepared.executor)
    scope = Scope(services_of(prepared, resolve_seed(prepared.options), Kept(), processes), epoch)
    root = build(prepared.plan.root, scope, prepared.options.block_size)
    run = Run(root, RunLimits(workers, prepared.ram_budget_bytes, prepared.options.max_error_ratio))
    try:
        while True:
            marked, _ = run.next_block()
            if marked is None:
                return
            yield marked.block
    finally:
        run.close()


def fill_up(prepared: Prepared, seed: int) -> None:
    """After an epoch: compute the few elements that it did not read, as `batch(drop_remainder=True)` does not.

    Without them a cache would not be complete. Where an epoch left more than that, or one fails, nothing is done.
    """
    for node in nodes_of(prepared.plan.graph):
        if not isinstance(node, FileCache) or not is_index_driven(node):
            continue
        rows = node.store.rows
        if not isinstance(rows, FileRows) or node.store.data is not None:
            continue
        absent = rows.absent()
        if not len(absent) or len(absent) > max(_REST_ROWS, node.cardinality() // _REST_SHARE):
            continue
        scope = Scope(services_of(prepared, seed, Kept()), 0)
        operator = indexed_operator(node)
        for start in range(0, len(absent), _REST_ROWS):
            if operator.rows(absent[start : start + _REST_ROWS], scope.in_task()).failure is not None:
                break


def save_to(root: Node, path: str | os.PathLike[str]) -> None:
    """Run one epoch into a directory; what was saved there before stays until all is written, and is then replaced.

    Raises: WriteError; or what the pipeline raises: then nothing is left of it.
    """
    directory = Path(path)
    prepared = prepare_filled(root)
    writer = StoredWriter(directory, has_ids=False)
    try:
        count = 0
        for block in _blocks(prepared):
            if len(block):
                writer.write(np.arange(count, count + len(block), dtype=np.int64), block)
                count += len(block)
            if block.failure is not None:
                raise block.failure.error
        before = entries(directory)
        writer.commit(f"saved-{secrets.token_hex(8)}", count)
    finally:
        writer.discard()
    for entry in before:
        remove(entry)
