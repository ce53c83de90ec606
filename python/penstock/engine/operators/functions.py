"""User functions on blocks: map, filter, unbatch. One call an element, errors located, results collated by column.

A function's own exception stops the block after its last good element and is wrapped once, here, with the element's
origin and the verb's line; with `on_error="skip"` the element is dropped and told instead.
"""

from __future__ import annotations

import traceback
from collections.abc import Callable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

import numpy as np

from penstock.block.block import Block, Failure, concat_blocks, preview
from penstock.block.collate import LARGE_ROW_BYTES, RowError, as_promised, column_of, detached, shielded
from penstock.block.columns import (
    Array,
    ArrayColumn,
    BytesColumn,
    Column,
    RaggedColumn,
    RowsColumn,
    kept_apart,
    object_array,
)
from penstock.block.origin import NOWHERE, Origins, RowOrigins, place_of
from penstock.block.ragged import Ragged
from penstock.block.spec import Spec
from penstock.block.tree import LEAF, Structure, structure_of
from penstock.engine.operators.compiled import RAISED, Compiled, record_compiled
from penstock.engine.operators.urls import expected_of
from penstock.engine.scope import Destination, Scope, Seen, Skipped, agree
from penstock.errors import PenstockError, StructureError, UserFunctionError
from penstock.graph.node import Node, Signature
from penstock.graph.nodes import Filter, Map, TakeWhile, Unbatch
from penstock.kernels.stream import copy_streamed
from penstock.rng import BlockStreams, Rng, UInt64s, element_scope
from penstock.storage.surroundings import Habit, expecting
from penstock.telemetry.tally import Told
from penstock.trace.demand import is_demanded, not_compiled
from penstock.trace.purity import impurity
from penstock.trace.tracer import Untraced, obstacle


def empty_block(origins: Origins, failure: Failure | None = None) -> Block:
    """No element; `origins` must be empty too."""
    return Block(LEAF, (), origins, failure)


class _Calls:
    """Calls one function on every element of a block, and keeps what it gave and which rows it dropped.

    `stops`: the first result that is false ends the block.
    """

    def __init__(
        self, node: Map | Filter | TakeWhile, function: Callable[..., Any], takes_rng: bool, seed: int | None
    ) -> None:
        self.node = node
        self.stops = isinstance(node, TakeWhile)
        self.retry = None if isinstance(node, TakeWhile) else node.retry
        self.function = function
        self.takes_rng = takes_rng
        self.seed = seed
        self._habit = Habit()
        self._element_s = 0.0  # of the last block
        # A function that is not known to be pure may hand out one array again and again, filled anew.
        self.copies = isinstance(node, Map) and impurity(function) is not None

    def run(
        self, block: Block, scope: Scope, staged: Staged | None = None
    ) -> tuple[list[Any], list[int] | None, Failure | None]:
        """The results, the rows they belong to (None: all), and what stopped them early.

        Elements that take long enough that it costs nothing are timed one by one.
        """
        now = scope.services.clock.now
        ends: list[float] | None = [] if self._element_s >= _TIMED_S else None
        watch = scope.services.gil
        outer = watch.enter(self.node.key)
        began = now()
        try:
            done = self._run(block, scope, staged, ends, now)
        finally:
            spent_s = now() - began
            watch.leave(outer, spent_s)
        self._element_s = spent_s / max(1, len(block))
        if ends:
            scope.task_log.tally.told = Told.of(np.diff(ends, prepend=began), block.describe)
        return done

    def _run(
        self, block: Block, scope: Scope, staged: Staged | None, ends: list[float] | None, now: Callable[[], float]
    ) -> tuple[list[Any], list[int] | None, Failure | None]:
        results: list[Any] = []
        kept: list[int] = []
        row = -1
        ids = once(block.origins.ids)
        key = scope.key("map", self.node.number, self.seed)
        splat = isinstance(block.structure.kind, type) and block.structure.kind is not dict
        elements = block.elements()
        with element_scope(key, ids) as current, expecting(expected_of(block, self._habit)):
            while True:
                try:
                    for element in elements:
                        row += 1
                        current.row, current.op = row, int(self.takes_rng)  # op 0 is the element's own stream
                        arguments = element if splat else (element,)
                        if self.takes_rng:
                            arguments = (*arguments, Rng(key, int(ids()[row])))
                        try:
                            result = self.function(*arguments)
                        except Exception as error:
                            if self.retry is None:
                                raise
                            rng = partial(_rng, key, ids, row) if self.takes_rng else None
                            result = self._again(arguments, rng, error, current=current, scope=scope)
                        value = detached(result) if self.copies else shielded(result)
                        results.append(value if staged is None else staged.keep(value, len(results)))
                        kept.append(row)
                        if ends is not None:
                            ends.append(now())
                        if self.stops and not value:
                            return results, kept, None
                except Exception as error:  # noqa: BLE001  # whatever a user's function raises is told with its place
                    if isinstance(self.node, TakeWhile) or not self.node.leaves_out(error):
                        return results, kept, Failure(self.wrap(block, row, error))
                    place = len(results) if isinstance(self.node, Map) else sum(map(bool, results))
                    leave_out(self.node, block, row, error, scope, place=place)
                    if ends is not None:
                        ends.append(now())
                    continue
                return results, kept if len(kept) < len(block) else None, block.failure

    def wrap(self, block: Block, row: int, error: Exception) -> PenstockError:
        kind = "the function" if isinstance(self.node, Map) else "the predicate"
        skips = not isinstance(self.node, TakeWhile) and self.node.drops
        return user_error(self.node, block, row, error, kind=kind, remedy=_NOT_SKIPPED if skips else None)

    def _again(
        self,
        arguments: tuple[Any, ...],
        rng: Callable[[], Rng] | None,
        error: Exception,
        *,
        current: Any,
        scope: Scope,
    ) -> Any:
        """What the function gives when it is called again, as often as `Retry` says. Raises: its last exception.

        `rng`: makes its last argument anew, if that is a stream, so that it draws the same.
        """
        retry, services = self.retry, scope.services
        assert retry is not None
        for attempt in range(1, retry.times + 1):
            if not retry.covers(error) or services.clock.wait(services.closing, retry.wait_s(attempt)):
                break
            current.op = int(self.takes_rng)
            try:
                return self.function(*(arguments if rng is None else (*arguments[:-1], rng())))
            except Exception as again:  # noqa: BLE001  # raised below, if it is the last
                error = again
        raise error


def _rng(key: int, ids: Callable[[], UInt64s], row: int) -> Rng:
    """The stream of row `row`, from its beginning."""
    return Rng(key, int(ids()[row]))


_TIMED_S = 20e-6
_NOT_SKIPPED = 'a fault that may pass is not skipped: on_error=penstock.Retry(times, then="skip") tries again first'


def leave_out(node: Node, block: Block, row: int, error: Exception, scope: Scope, *, place: int | None) -> None:
    """Note that an element was dropped, and tell it if asked to.

    `place`: how many `node` let through before in this task; None where its share is not counted.
    """
    text = "".join(traceback.format_exception(error))
    where = f"{block.describe(row)}, value {preview(block.element(row))}"
    said = f"{type(error).__name__}: {error}"
    counted = (-1, 0) if place is None else (node.number, place + scope.rows_before)
    scope.task_log.skipped.append(Skipped(where, node.label, said, text, *counted))
    if getattr(node, "tells", False):
        scope.services.warn(f"{node.label} left out {where}: {said}")


def user_error(
    node: Node, block: Block, row: int, error: Exception, *, kind: str = "the function", remedy: str | None = None
) -> UserFunctionError:
    """What a function of `node` raised on row `row`, told with the element's origin and value and the verb's line."""
    place = place_of(block.origins, row)
    origin = f"{block.describe(row)} ({place})" if place else block.describe(row)
    wrapped = UserFunctionError(
        f"{kind} raised {type(error).__name__}: {error}",
        where=f"{node.label}, {origin}, value {preview(block.element(row))}",
        remedy=remedy,
    )
    wrapped.__cause__ = error
    return wrapped


class Staged:
    """Copies each large array of a result to its place as soon as it is returned.

    It is in cache still, and the memory that the function took for it serves the next element.
    """

    def __init__(self, place: Destination, count: int) -> None:
        self._place = place
        self._count = count
        self._places: dict[int, Array | None] = {}

    def keep(self, result: Any, row: int) -> Any:
        """`result`, the `row`-th of its block, with its large arrays moved: in plain tuples and dicts of leaves."""
        if isinstance(result, np.ndarray):
            return self._leaf(0, result, row)
        if type(result) is tuple:
            return tuple(self._leaf(leaf, value, row) for leaf, value in enumerate(result))
        if type(result) is dict:
            return {key: self._leaf(leaf, value, row) for leaf, (key, value) in enumerate(result.items())}
        return result

    def _leaf(self, leaf: int, value: Any, row: int) -> Any:
        if not isinstance(value, np.ndarray) or not value.ndim or value.nbytes < LARGE_ROW_BYTES:
            return value
        if value.dtype.isbuiltin != 1 or value.dtype.hasobject:
            return value
        if leaf not in self._places:
            self._places[leaf] = self._place(leaf, (self._count, *value.shape), value.dtype)
        place = self._places[leaf]
        if place is None or place.shape[1:] != value.shape or place.dtype != value.dtype:
            return value
        moved: Array = place[row]
        if value.flags.c_contiguous:
            copy_streamed(value, moved)  # only the trainer will read it
        else:
            moved[...] = value
        moved.flags.writeable = value.flags.writeable
        return moved


def once(compute: Callable[[], UInt64s]) -> Callable[[], UInt64s]:
    """`compute`, called at most once. The identities of a block that draws nothing are never computed."""
    kept: list[UInt64s] = []

    def get() -> UInt64s:
        if not kept:
            kept.append(compute())
        return kept[0]

    return get


def row_by_row(function: Callable[[Block, Scope], Block], block: Block, scope: Scope) -> Block | None:
    """Each row of a block through `function` alone; None when they do not go into one block, which Python tells."""
    seen, skipped = scope.task_log.seen, scope.task_log.skipped
    before, skipped_before = len(seen), len(skipped)
    rows: list[Block] = []
    passed = scope.rows_before
    for row in range(len(block)):
        rows.append(function(block.slice(row, row + 1), replace(scope.aside(), rows_before=passed)))
        passed += len(rows[-1])
    if all(agree(seen[before], later) for later in seen[before + 1 :]):
        return concat_blocks(rows)
    del seen[before:], skipped[skipped_before:]
    return None


def left_out(node: Map | Filter | TakeWhile) -> frozenset[str]:
    """The rules that its program goes without. Which elements come must not depend on what is read of them."""
    if isinstance(node, TakeWhile):
        return node.without
    return node.without | {"drop_unused_steps"} if node.drops else node.without


class MapFunction:
    """`function` of every element of a block, collated into columns."""

    def __init__(self, node: Map) -> None:
        self._node = node
        self._calls = _Calls(node, node.function, node.takes_rng, node.seed)
        self._compiled: Compiled | None = None
        self._is_python = not node.compiles or obstacle(node.function) is not None
        if self._is_python and is_demanded(node.function):
            raise not_compiled(node.function, node.label, obstacle(node.function) or "is under compile=False")

    def __call__(self, block: Block, scope: Scope) -> Block:
        if self._is_python or not len(block):
            return self.eager(block, scope)
        node = self._node
        if self._compiled is None:
            self._compiled = Compiled(
                [(node.function, node.takes_rng)], scope.services.warn, node.label, left_out(node),
                told=partial(record_compiled, scope.services.recorder, [node]),
            )  # fmt: skip
        streams = BlockStreams((scope.key("map", node.number, node.seed),), once(block.origins.ids))
        allocate = scope.allocate

        def eager(rows: Block) -> Block:
            return self.eager(rows, scope.in_task())

        if is_demanded(node.function):
            found = self._compiled.find(block, streams, eager, allocate)
            if isinstance(found, Untraced) and found is not RAISED:
                raise not_compiled(node.function, node.label, found.reason)
        result = self._compiled.run(block, streams, eager, allocate, scope.task_log.tally)
        if result is not None:
            finished = self.finish(*result, block, scope)
            return self.eager(block, scope) if finished is None else finished
        if len(block) == 1 or not self._compiled.has_program(block):
            return self.eager(block, scope)
        # Some row failed. Each alone, so that only what fails is left to Python, whatever else is in its block.
        together = row_by_row(self, block, scope)
        return self.eager(block, scope) if together is None else together

    def finish(self, structure: Structure, columns: tuple[Column, ...], block: Block, scope: Scope) -> Block | None:
        """The result of a program as a block, under the same laws as what `collate` makes.

        None when it breaks the promised signature, which `eager` then tells, or casts to.
        """
        node, specs = self._node, tuple(column.spec for column in columns)
        if node.declared is not None:
            fits = structure == node.declared.structure and all(
                promised.is_compatible_with(spec) for promised, spec in zip(node.declared.specs, specs, strict=True)
            )
            if not fits:
                return None
        scope.task_log.seen.append(Seen(node.number, node.label, structure, specs, block.describe(0)))
        return Block(structure, columns, block.origins, block.failure)

    def eager(self, block: Block, scope: Scope) -> Block:
        """The function called on each element."""
        staged = None if scope.staging is None else Staged(scope.staging, len(block))
        results, kept, failure = self._calls.run(block, scope, staged)
        origins = block.origins if kept is None else block.origins.take(np.array(kept, dtype=np.int64))
        if not results:
            return empty_block(origins, failure)
        node = self._node
        return collate(node, results, origins, failure, scope=scope, declared=node.declared)


def collate(
    node: Node,
    results: list[Any],
    origins: Origins,
    failure: Failure | None,
    *,
    scope: Scope,
    declared: Signature | None,
) -> Block:
    """User values as a block: the first one's structure and dtypes hold for all.

    A value that differs ends the block before it with a StructureError that carries its origin.
    """
    label = node.label
    structure = _structure(node, results[0], declared)
    leaves, stop = _leaves(structure, results)
    columns: list[Column] = []
    for index, name in enumerate(structure.names()):
        values: Sequence[Any] = leaves if structure.is_leaf else [row[index] for row in leaves]
        if declared is not None:
            values = [as_promised(value, declared.specs[index].dtype) for value in values]
        values = values[: len(leaves)]
        while values:
            try:
                columns.append(column_of(values))
            except RowError as error:
                stop = error.row, error.error if structure.is_leaf else _named(error.error, name)
                leaves = leaves[: error.row]
                values = values[: error.row]
                continue
            break
    count = len(leaves)
    if stop is not None:
        located = stop[1].at(f"{label}, {origins.describe(stop[0])}")
        failure = Failure(located)
        origins = origins.take(np.arange(count, dtype=np.int64))
    if count == 0:
        return empty_block(origins, failure)
    columns = [column if len(column) == count else column.slice(0, count) for column in columns]
    specs = tuple(column.spec for column in columns)
    if declared is not None:
        for name, spec, column, promised in zip(structure.names(), specs, columns, declared.specs, strict=True):
            if not promised.is_compatible_with(spec) or _varies(column, promised):
                return _break_signature(
                    name, column, promised, Block(structure, tuple(columns), origins, failure), label
                )
    scope.task_log.seen.append(Seen(node.number, label, structure, specs, origins.describe(0)))
    return Block(structure, tuple(columns), origins, failure)


def _structure(node: Node, first: Any, declared: Signature | None) -> Structure:
    if declared is not None:
        return declared.structure
    try:
        return structure_of(first)
    except PenstockError:
        return LEAF  # the value itself is refused when its column is made, with its row


def _leaves(structure: Structure, results: list[Any]) -> tuple[list[Any], tuple[int, PenstockError] | None]:
    """The leaves of every result (the results themselves for a lone leaf), up to the first that is nested otherwise."""
    if structure.is_leaf:
        for row, value in enumerate(results):
            if isinstance(value, tuple | dict):
                return results[:row], (row, _flatten_error(structure, value))
        return results, None
    flat: list[Any] = []
    for row, value in enumerate(results):
        try:
            flat.append(structure.flatten(value))
        except PenstockError as error:
            return flat, (row, error)
    return flat, None


def _flatten_error(structure: Structure, value: Any) -> PenstockError:
    try:
        structure.flatten(value)
    except PenstockError as error:
        return error
    return StructureError("another structure", got=preview(value))


def _named(error: PenstockError, name: str) -> PenstockError:
    return error.at(f'leaf "{name}"')


def _varies(column: Column, promised: Spec) -> bool:
    """Whether the rows differ in shape where the promise does not let them."""
    return isinstance(column, RowsColumn) and not all(
        promised.is_compatible_with(Spec(shape, column.dtype)) for shape in {row.shape for row in column.values}
    )


def _break_signature(name: str, column: Column, promised: Spec, block: Block, label: str) -> Block:
    for row in range(len(column)):
        got = column.slice(row, row + 1).spec
        if not promised.is_compatible_with(got):
            error = StructureError(
                f'leaf "{name}" breaks the output_signature',
                got=str(got),
                expected=str(promised),
                where=f"{label}, {block.describe(row)}",
            )
            return block.fail(row, error)
    raise AssertionError("no row breaks the signature that the column breaks")


class FilterFunction:
    """The elements for which the predicate is true; under `take_while`, those before the first for which it is not."""

    def __init__(self, node: Filter | TakeWhile) -> None:
        self._node = node
        self._calls = _Calls(node, node.predicate, False, None)
        self._compiled: Compiled | None = None
        self._is_python = obstacle(node.predicate) is not None

    def __call__(self, block: Block, scope: Scope) -> Block:
        if not self._is_python and len(block):
            if self._compiled is None:
                calls = [(self._node.predicate, False)]
                told = partial(record_compiled, scope.services.recorder, [self._node])
                self._compiled = Compiled(calls, scope.services.warn, self._node.label, left_out(self._node), told)
            streams = BlockStreams((scope.key("map", self._node.number, None),), once(block.origins.ids))
            allocate = scope.aside().allocate
            result = self._compiled.run(
                block, streams, lambda rows: self._values(rows, scope.in_task()), allocate, scope.task_log.tally
            )
            if result is not None and _is_mask(result[1]):
                return _masked(block, result[1][0], stops=self._calls.stops)
        return self.eager(block, scope)

    def _values(self, block: Block, scope: Scope) -> Block:
        """What the predicate returns, as elements: what a program of it is checked against."""
        results, kept, failure = self._calls.run(block, scope)
        if kept is not None or not results:
            return empty_block(NOWHERE, failure or Failure(StructureError("the predicate raised")))
        try:
            column = column_of(results)
        except RowError as error:
            return empty_block(NOWHERE, Failure(error.error))
        return Block(LEAF, (column,), block.origins, failure)

    def eager(self, block: Block, scope: Scope) -> Block:
        """The predicate called on each element."""
        results, rows, failure = self._calls.run(block, scope)
        places = range(len(results)) if rows is None else rows
        kept: list[int] = []
        for place, value in zip(places, results, strict=True):
            if not isinstance(value, bool | np.bool_) and not (
                isinstance(value, np.ndarray) and value.dtype == bool and value.ndim == 0
            ):
                where = f"{self._node.label}, {block.describe(place)}"
                error = StructureError(
                    f"{self._node.verb}: the predicate's result", got=preview(value), expected="one bool", where=where,
                    remedy="compare, as in x % 2 != 0",
                )  # fmt: skip
                failure = Failure(error)
                break
            if value:
                kept.append(place)
        if len(kept) == len(block) and failure is block.failure:
            return block
        chosen = block.take(np.array(kept, dtype=np.int64)) if kept else empty_block(block.origins.take(_NONE))
        return Block(chosen.structure, chosen.columns, chosen.origins, failure)


def _is_mask(columns: tuple[Column, ...]) -> bool:
    return (
        len(columns) == 1
        and isinstance(columns[0], ArrayColumn)
        and columns[0].values.dtype == bool
        and (columns[0].values.ndim == 1)
    )


def _masked(block: Block, mask: Column, *, stops: bool) -> Block:
    assert isinstance(mask, ArrayColumn)
    if mask.values.all():
        return block
    if stops:
        first = int(np.argmin(mask.values))
        return block.slice(0, first) if first else empty_block(block.origins.take(_NONE))
    kept = np.flatnonzero(mask.values)
    chosen = block.take(kept) if len(kept) else empty_block(block.origins.take(kept))
    return Block(chosen.structure, chosen.columns, chosen.origins, block.failure)


_NONE = np.empty(0, dtype=np.int64)


def row_counts(node: Node, block: Block) -> tuple[list[int], Failure | None]:
    """How many rows each element has, up to the first that cannot be taken apart, and what follows those.

    That is a StructureError at a scalar leaf, or at leaves of one element with different numbers of rows.
    """
    counts: list[int] = []
    failure = block.failure
    names = block.structure.names()
    for row in range(len(block)):
        lengths = [_rows(column, row) for column in block.columns]
        if lengths[0] < 0 or len(set(lengths)) != 1:
            got = ", ".join(f"{name}: {'a scalar' if n < 0 else n}" for name, n in zip(names, lengths, strict=True))
            where = f"{node.label}, {block.describe(row)}"
            failure = Failure(
                StructureError(
                    f"{node.verb}: rows of each leaf",
                    got=got,
                    expected="arrays, all with one number of rows",
                    where=where,
                )
            )
            break
        counts.append(lengths[0])
    return counts, failure


def unbatch(node: Unbatch, block: Block) -> Block:
    """The rows of each element, one after another; a failure as `row_counts` says it."""
    counts, failure = row_counts(node, block)
    elements = np.repeat(np.arange(len(counts), dtype=np.int64), counts)
    inner = np.concatenate([np.arange(count, dtype=np.int64) for count in counts]) if counts else _NONE
    origins = RowOrigins(block.origins.take(elements), inner)
    if not len(elements):
        return empty_block(origins, failure)
    columns = tuple(_unbatched(column, len(counts)) for column in block.columns)
    return Block(block.structure, columns, origins, failure)


def _rows(column: Column, row: int) -> int:
    value = column.row(row)
    return len(value) if isinstance(value, np.ndarray | Ragged) and value.ndim else -1


def _unbatched(column: Column, count: int) -> Column:
    if isinstance(column, RaggedColumn):
        return kept_apart([item for row in column.values[:count] for item in row], column.dtype)
    if isinstance(column, RowsColumn):
        full = [row for row in column.values[:count] if len(row)]
        if len({row.shape[1:] for row in full}) == 1:
            joined = np.concatenate(full)
            return BytesColumn(joined, column.dtype) if column.dtype.kind in "SU" else ArrayColumn(joined)
        return RowsColumn([item for row in full for item in row], column.dtype)
    values = column.values[:count]
    joined = values.reshape(-1, *values.shape[2:])
    if isinstance(column, BytesColumn):
        return BytesColumn(joined if joined.ndim > 1 else object_array(joined.tolist()), column.dtype)
    return ArrayColumn(joined)
