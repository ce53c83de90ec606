"""A function on blocks in worker processes. Loaded when the first one is placed there, so that nobody else pays for it.

A block whose worker dies is run again; when it has cost two workers its elements go one by one, so that those before
the fatal one are delivered, and the error names it. From the first death on, none of its blocks run in this process.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from penstock.block.block import Block, Failure, concat_blocks
from penstock.block.collate import LARGE_ROW_BYTES
from penstock.block.columns import Array, FreshColumn
from penstock.engine.executors.by_value import dumps_by_value
from penstock.engine.executors.processes import DiedError, shared_pool
from penstock.engine.executors.wire import (
    Answer,
    Task,
    pack_block,
    recipe,
    unpack_block,
    unpack_error,
    unpack_log,
    with_failure,
)
from penstock.engine.operators.functions import empty_block
from penstock.engine.operators.segments import BlockFunction
from penstock.engine.scope import Scope
from penstock.errors import UnsupportedValueError, WorkerError
from penstock.graph.node import Node
from penstock.graph.nodes import Chain, Filter, Map
from penstock.trace.reads import reads_of

_DEATHS_AS_BLOCK = 2
_HERE_FIRST_SECONDS = 0.1


class RemoteFunction:
    """Runs blocks of one function in worker processes, the first of a pure one here until a worker is ready.

    text: its recipe, where it was made already. answered: told of each block that a worker ran: wall seconds as seen
    here, CPU seconds there.
    """

    def __init__(
        self,
        node: Node,
        here: BlockFunction,
        is_pure: bool,
        text: bytes | None = None,
        answered: Callable[[float, float], None] | None = None,
    ) -> None:
        self._node = node
        self._here = here
        self._may_run_here = is_pure
        self._answered = answered
        self._lock = threading.Lock()
        self._recipe = None if text is None else (_digest(text), text)
        self._spent_here_s = 0.0
        self.is_handed_over = False  # whether a worker process has run a block of it
        self.lays_out_rows = False  # whether its blocks come as one array a leaf, of rows worth not copying again

    def start_workers(self, count: int) -> None:
        """Have them start while the caller goes on. Raises: OSError."""
        shared_pool().start(count)

    def __call__(self, block: Block, scope: Scope) -> Block:
        for _ in range(_DEATHS_AS_BLOCK):
            try:
                return self._run(block, scope)
            except DiedError:
                self._may_run_here = False  # what ended a worker would end this process
                continue
        parts: list[Block] = []
        for row in range(len(block)):
            one = block.slice(row, row + 1)
            try:
                before = scope.rows_before + sum(map(len, parts))
                parts.append(self._run(one, replace(scope, rows_before=before)))
            except DiedError as error:
                parts.append(empty_block(one.origins.take(_NONE), Failure(self._fatal(block, row, error))))
            if parts[-1].failure is not None:
                break
        return concat_blocks(parts)

    def _fatal(self, block: Block, row: int, error: DiedError) -> WorkerError:
        deaths = _DEATHS_AS_BLOCK + 1
        return WorkerError(
            f"the worker process ended while the function ran, {deaths} times",
            got=str(error),
            where=f"{self._node.label}, {block.describe(row)}",
            remedy='what it said is on stderr; map(..., executor="threads") runs the function in this process',
        )

    def _run(self, block: Block, scope: Scope) -> Block:
        """Raises: DiedError."""
        began = scope.services.clock.now()
        digest, text = self._shipped()
        pool = shared_pool()
        if self._may_run_here and self._spent_here_s < _HERE_FIRST_SECONDS and not pool.has_workers():
            return self._run_here(block, scope)
        pool.start(scope.services.process_workers)
        worker = pool.acquire(may_wait=not self._may_run_here)
        if worker is None:
            return self._run(block, scope) if pool.is_closed else self._run_here(block, scope)
        packed, _ = pack_block(block, stacked=False)
        services = scope.services
        task = Task(
            digest, None, (), packed, block.failure is not None, services.seed, scope.epoch, scope.passes, None,
            services.max_image_pixels, services.remote,
        )  # fmt: skip
        try:
            answer, stacks = worker.exchange(task, text)
        except BaseException:
            pool.discard(worker)
            raise
        pool.release(worker)
        self.is_handed_over = True
        done = self._taken(answer, stacks, block, scope)
        if self._answered is not None:
            self._answered(scope.services.clock.now() - began, answer.cpu_s)
        return done

    def _run_here(self, block: Block, scope: Scope) -> Block:
        clock = scope.services.clock
        began = clock.now()
        try:
            return self._here(block, scope)
        finally:
            self._spent_here_s += clock.now() - began

    def _shipped(self) -> tuple[bytes, bytes]:
        """The function's digest and recipe, pickled once. Raises: UnsupportedValueError."""
        with self._lock:
            if self._recipe is None:
                try:
                    text = recipe(self._node)
                except Exception as error:
                    raise UnsupportedValueError(
                        "the function cannot be sent to a worker process",
                        got=f"{type(error).__name__}: {error}",
                        where=self._node.label,
                        remedy='make what it captures inside the function, or use executor="threads"',
                    ) from error
                self._recipe = _digest(text), text
            return self._recipe

    def _taken(self, answer: Answer, stacks: list[Array], block: Block, scope: Scope) -> Block:
        if answer.raised is not None:
            error = unpack_error(answer.raised)
            if answer.is_unloadable:
                raise WorkerError(
                    "the function cannot be loaded in a worker process",
                    got=f"{type(error).__name__}: {error}",
                    where=self._node.label,
                    remedy="put what it imports where a fresh interpreter finds it, or "
                    'use executor="threads"; a function defined in the main script always works',
                ) from error
            raise error
        if answer.block is None or answer.log is None:
            raise AssertionError("an answer without a block")
        for text in answer.warned:
            scope.services.warn(text)
        log = unpack_log(answer.log)
        scope.task_log.seen.extend(log.seen)
        before = scope.rows_before
        scope.task_log.skipped.extend(replace(skipped, place=skipped.place + before) for skipped in log.skipped)
        tally = scope.task_log.tally
        tally.absorb(log.tally.steps, answer.cpu_s, *answer.storage)
        tally.told, tally.ops = log.tally.told, log.tally.ops
        failure = block.failure if answer.keeps_failure else None
        if answer.failure is not None:
            failure = Failure(unpack_error(answer.failure))
        done = unpack_block(answer.block, stacks, block.origins)
        self.lays_out_rows = any(isinstance(column, FreshColumn) and column.nbytes for column in done.columns) and (
            done.nbytes >= LARGE_ROW_BYTES * len(done)
        )
        return with_failure(done, failure)


def recipe_by_value(node: Node) -> bytes:
    """The recipe of functions known to be pure, with all they read. Raises: NotPortableError, or as pickling does."""
    steps = node.steps if isinstance(node, Chain) else (node,)
    functions = [s.function if isinstance(s, Map) else s.predicate for s in steps if isinstance(s, Map | Filter)]
    reads = reads_of(functions)
    if reads.set_order is not None:
        raise NotPortableError(f"the order of a set differs from interpreter to interpreter ({reads.set_order})")
    return recipe(node, lambda value: dumps_by_value(value, reads))


class NotPortableError(Exception):
    """A function would not compute the same in another interpreter."""


def _digest(text: bytes) -> bytes:
    return hashlib.blake2b(text, digest_size=16).digest()


_NONE = np.empty(0, dtype=np.int64)
