"""Programs on blocks: each step once for the whole block where that is the same to the last bit, else row by row.

The slow twin is the function itself, called an element at a time: a program that raises gives its block back to it, so
errors are located and worded by one piece of code, and `check` compares the two on the first rows.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np

from penstock.block.block import Block
from penstock.block.collate import column_of
from penstock.block.columns import Array, ArrayColumn, Column, FreshColumn
from penstock.block.ragged import Ragged
from penstock.engine.operators.examples import OPS_ON_BLOCKS, parse_rows
from penstock.engine.operators.images import Allocate, run_fused
from penstock.engine.operators.spans import span_step
from penstock.engine.operators.steps import Values, whole_step
from penstock.engine.operators.texts import run_texts
from penstock.ops.fused import FUSED_TEXTS
from penstock.ops.io import read_files
from penstock.ops.parsing import Place
from penstock.ops.program import Program, Ref, Step, parts_of, substitute
from penstock.optimize.fuse_images import FUSED
from penstock.rng import BlockStreams, element_scope
from penstock.telemetry.tally import Tally
from penstock.trace.compute import compute_of


@dataclass(frozen=True, slots=True)
class Uses:
    """What every run of a program asks of it, found once.

    numbers: the values that are Python numbers. freed: after which step which values are read no more. leaves: the one
    leaf of the result that a value is. picks: of a step of several parts, the value that each part is. lone: values
    that are one leaf and read by no step, so that memory made for them is theirs alone.
    """

    numbers: frozenset[int]
    freed: dict[int, list[int]]
    leaves: dict[int, int]
    picks: dict[int, dict[int, int]]
    lone: frozenset[int]


def uses_of(program: Program) -> Uses:
    """As `Uses` says. Cost: a walk over the steps."""
    picks: dict[int, dict[int, int]] = {}
    for place, step in enumerate(program.steps):
        if step.op == "item":
            picks.setdefault(step.args[0].index - program.inputs, {})[step.args[1]] = program.inputs + place
    outputs = [output.index for output in program.outputs if isinstance(output, Ref)]
    leaves = {
        output.index: leaf
        for leaf, output in enumerate(program.outputs)
        if isinstance(output, Ref) and outputs.count(output.index) == 1
    }
    return Uses(
        frozenset(program.inputs + place for place, step in enumerate(program.steps) if step.is_number),
        _last_uses(program),
        leaves,
        picks,
        frozenset(leaves) - _shared(program),
    )


def _shared(program: Program) -> set[int]:
    """Inputs, values that steps read, and parts that were taken out twice."""
    shared = set(range(program.inputs))
    items: dict[Any, int] = {}
    for place, step in enumerate(program.steps):
        if step.op != "item":
            shared |= step.references()
        elif (before := items.setdefault(step.args, program.inputs + place)) != program.inputs + place:
            shared |= {before, program.inputs + place}
    return shared


def run_program(
    program: Program,
    block: Block,
    streams: BlockStreams,
    allocate: Allocate,
    uses: Uses | None = None,
    *,
    tally: Tally | None = None,
) -> tuple[Column, ...]:
    """The leaves of the results of a non-empty block, in order.

    `streams`: the random streams of its elements. `allocate`: where large results go. `uses`: of the program, for who
    runs it again. `tally`: is told how long each step took.

    Raises: whatever a step raises, at any row.
    """
    count = len(block)
    values: Values = [*block.columns]
    uses = uses_of(program) if uses is None else uses
    numbers = uses.numbers
    for number, step in enumerate(program.steps):
        began, cpu_s = (0.0, 0.0) if tally is None else (tally.clock.now(), tally.clock.cpu())
        if step.op == FUSED:
            leaf = [uses.leaves.get(program.inputs + number)]
            values.append(run_fused(step.args[1], values[step.args[0].index], streams, partial(_one, allocate, leaf)))
        elif step.op == "io.read_file" and (read := _read(step, values, numbers, count)) is not None:
            values.append(column_of(read))
        elif step.op == FUSED_TEXTS:
            values.append(run_texts(step.args[1], values[step.args[0].index]))
        elif step.op == "item":
            values.append(values[step.args[0].index][step.args[1]])
        elif step.op in OPS_ON_BLOCKS and (parts := parse_rows(step, values, _places(uses, number, allocate))):
            values.append(parts)
        else:
            whole = span_step(step, values)
            if whole is None:
                whole = whole_step(step, values, numbers, count, streams)
            if whole is None:
                values.append(_by_row(step, values, numbers, count, streams))
            else:
                values.append(ArrayColumn(whole) if isinstance(whole, np.ndarray) else whole)
        for index in uses.freed.get(number, ()):
            values[index] = None  # what nothing reads again is freed
        if tally is not None and step.op != "item":
            tally.op(number, step.op, tally.clock.now() - began, tally.clock.cpu() - cpu_s)
    return tuple(_output(output, values, count, uses) for output in program.outputs)


def _one(allocate: Allocate, leaf: list[int | None], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Array:
    return allocate(leaf, shape, dtype)[0]


def _places(uses: Uses, number: int, allocate: Allocate) -> Place:
    """Where the parts of step `number` go: those that are leaves of the result, to their place."""
    picks = uses.picks.get(number, {})

    def place(parts: Sequence[int], shape: tuple[int, ...], dtype: np.dtype[Any]) -> list[Array]:
        return allocate([uses.leaves.get(picks.get(part, -1)) for part in parts], shape, dtype)

    return place


def _output(output: Any, values: Values, count: int, uses: Uses) -> Column:
    if not isinstance(output, Ref):
        return column_of([output] * count)
    column: Column = values[output.index]
    # A batch may be made of the memory of a fresh column, so none leaves that something else lies over too.
    return ArrayColumn(column.values) if isinstance(column, FreshColumn) and output.index not in uses.lone else column


def _last_uses(program: Program) -> dict[int, list[int]]:
    kept = {output.index for output in program.outputs if isinstance(output, Ref)}
    last: dict[int, int] = {}
    for number, step in enumerate(program.steps):
        for index in step.references():
            last[index] = number
    freed: dict[int, list[int]] = {}
    for index, number in last.items():
        if index not in kept:
            freed.setdefault(number, []).append(index)
    return freed


def _by_row(step: Step, values: Values, numbers: frozenset[int], count: int, streams: BlockStreams) -> Any:
    """The step on each row: a column, or one for each of its results."""
    compute = compute_of(step)
    results = []
    with element_scope(streams.keys[0 if step.draw is None else step.draw.call], streams.ids) as current:
        for row in range(count):
            if step.draw is not None:
                current.row, current.op, current.position = row, step.draw.op, step.draw.position

            kwargs = {name: _at(row, values, numbers, value) for name, value in step.kwargs}
            results.append(compute(*_at(row, values, numbers, step.args), **kwargs))
    if not step.parts:
        return column_of(results)
    parts = [parts_of(result) for result in results]
    if any(len(of_row) != step.parts for of_row in parts):
        raise ValueError(f"a result of another number of parts than {step.parts}")
    return tuple(column_of(part) for part in zip(*parts, strict=True))


def _read(step: Step, values: Values, numbers: frozenset[int], count: int) -> list[bytes] | None:
    """The files of all rows, where some are objects behind URLs: these are asked for at once. None: none is."""
    given = dict(zip(("path", "offset", "length"), step.args, strict=False)) | dict(step.kwargs)
    asked = given.get("path"), given.get("offset", 0), given.get("length")
    rows = [[_at(row, values, numbers, value) for value in asked] for row in range(count)]
    return read_files(rows)


def _at(row: int, values: Values, numbers: frozenset[int], nest: Any) -> Any:
    """An argument with the row's own values in it."""

    def at_row(ref: Ref) -> Any:
        value = values[ref.index].row(row)
        return value.item() if ref.index in numbers else value

    return substitute(nest, at_row)


def same_columns(first: tuple[Column, ...], second: tuple[Column, ...]) -> bool:
    """Whether two sets of leaves hold the same rows to the last bit: dtypes, shapes and bytes."""
    return len(first) == len(second) and all(
        len(a) == len(b) and all(_same(x, y) for x, y in zip(a.rows(), b.rows(), strict=True))
        for a, b in zip(first, second, strict=True)
    )


def _same(x: Any, y: Any) -> bool:
    if isinstance(x, bytes | str | Ragged) or isinstance(y, bytes | str | Ragged):
        return type(x) is type(y) and bool(x == y)
    a, b = np.asarray(x), np.asarray(y)
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    return bool((a == b).all()) if a.dtype.kind == "O" else a.tobytes() == b.tobytes()
