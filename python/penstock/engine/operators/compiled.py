"""Functions compiled when their first block is seen: traced, checked on the first rows both ways, then run as programs.

One function, or several that follow one another: then what is between them need not be computed for its own sake.

A program holds for elements of one kind (structure, dtypes, and shapes where all rows share one); elements of another
kind are traced again. What cannot be traced, or differs on the first rows, stays Python: slower, never different.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from itertools import chain
from typing import Any

from penstock.block.block import Block, holds_datasets
from penstock.block.collate import RowError
from penstock.block.columns import ArrayColumn, BytesColumn, Column
from penstock.block.tree import Structure
from penstock.engine.operators.images import Allocate
from penstock.engine.operators.programs import Uses, run_program, same_columns, uses_of
from penstock.engine.operators.urls import expected_of
from penstock.graph.node import Node
from penstock.ops.program import Program
from penstock.optimize.fuse_images import FUSED, exact
from penstock.optimize.programs import optimize_program
from penstock.rng import BlockStreams
from penstock.storage.surroundings import Habit, expecting
from penstock.telemetry.recorder import FunctionRecord, Recorder
from penstock.telemetry.tally import Tally
from penstock.trace.tracer import Call, Untraced, trace

_CHECKED_ROWS = 2
RAISED = Untraced("raised on every element it was tried with")

Eager = Callable[[Block], Block]
Kind = tuple[Any, ...]


class Compiled:
    """The programs of functions of one iterator, by kind of element. Safe to call from several threads.

    `functions`: in order, and whether each takes the element's random stream. `without`: rules not to apply.
    `told`: what became of each kind of element, once.
    """

    def __init__(
        self,
        functions: Sequence[tuple[Callable[..., Any], bool]],
        warn: Callable[[str], None],
        label: str,
        without: frozenset[str] = frozenset(),
        told: Callable[[Program | Untraced], None] | None = None,
    ) -> None:
        self._told = told
        self._functions = tuple(functions)
        self._without = without
        self._warn = warn
        self._label = label
        self._found: dict[Kind, Program | Untraced] = {}
        self._uses: dict[int, Uses] = {}
        self._lock = threading.Lock()

    def run(
        self, block: Block, streams: BlockStreams, eager: Eager, allocate: Allocate, tally: Tally | None = None
    ) -> tuple[Structure, tuple[Column, ...]] | None:
        """Structure and leaves of the results of a non-empty block, or None: `eager` must compute them.

        `streams`: with a key for each function. `allocate`: where large results go. `tally`: is told of each step.
        """
        found = self.find(block, streams, eager, allocate)
        if isinstance(found, Untraced):
            return None
        try:
            return found.structure, run_program(found, block, streams, allocate, self._uses_of(found), tally=tally)
        except Exception:  # noqa: BLE001  # the eager run raises it again, at its element, or gets through
            return None

    def _uses_of(self, program: Program) -> Uses:
        """Found once for each program, which lives as long as this."""
        uses = self._uses.get(id(program))
        if uses is None:
            uses = self._uses[id(program)] = uses_of(program)
        return uses

    def has_program(self, block: Block) -> bool:
        """Whether elements like those of `block` have a program; after `find` or `run` of such a block."""
        return not holds_datasets(block) and isinstance(self._found.get(_kind(block)), Program)

    def find(self, block: Block, streams: BlockStreams, eager: Eager, allocate: Allocate) -> Program | Untraced:
        """The program for elements like those of `block`, or why there is none."""
        if holds_datasets(block):
            return Untraced("is given datasets")
        kind = _kind(block)
        found = self._found.get(kind)
        if found is None:
            with self._lock:
                found = self._found.get(kind)
                if found is None:
                    with expecting(expected_of(block, Habit())):  # its first rows are tried, and soon all are wanted
                        found = self._compile(block, streams.keys, eager, allocate)
                    if found is not RAISED:
                        self._found[kind] = found
                        if self._told is not None:
                            self._told(found)
        return found

    def _compile(self, block: Block, keys: tuple[int, ...], eager: Eager, allocate: Allocate) -> Program | Untraced:
        sample = _first_good(block, eager)
        if sample is None:
            return RAISED
        rows, expected = sample
        streams = BlockStreams(keys, rows.origins.ids)
        calls = [
            Call(function, takes_rng, key) for (function, takes_rng), key in zip(self._functions, keys, strict=True)
        ]
        program = trace(calls, rows, streams.ids)
        if isinstance(program, Untraced):
            return program
        program = optimize_program(program, self._without)
        try:
            # What may be decoded faster than exactly is checked exactly.
            columns = run_program(exact(program), rows, streams, allocate)
        except RowError:
            return Untraced("makes, on the way, arrays whose dtype or rank differs from element to element")
        except Exception as error:  # noqa: BLE001  # a program that fails where the function does not is not used
            return self._refuse(f"compiled, it raised {type(error).__name__}: {error}")
        if program.structure != expected.structure or not same_columns(columns, expected.columns):
            return self._refuse("compiled, it gave other values on the first elements")
        return program

    def _refuse(self, reason: str) -> Untraced:
        self._warn(f"{self._label} runs as Python: {reason}. Please report it, with the function.")
        return Untraced(reason)


def record_compiled(recorder: Recorder, nodes: Sequence[Node], found: Program | Untraced) -> None:
    """Note what became of the functions of `nodes`. Several that do not compile together are each told of alone."""
    if isinstance(found, Untraced):
        if len(nodes) == 1:
            recorder.functions[nodes[0].key] = FunctionRecord(found.reason)
        return
    drawing = {step.draw.call for step in found.steps if step.draw is not None}
    for number, node in enumerate(nodes):
        recorder.functions[node.key] = FunctionRecord(
            draws=number in drawing, steps=len(found.steps), is_native=any(step.op == FUSED for step in found.steps)
        )


def _first_good(block: Block, eager: Eager) -> tuple[Block, Block] | None:
    """The first rows of `block`, or the first that the function does not raise on, and what it makes of them."""
    single = (block.slice(row, row + 1) for row in range(len(block)))
    for rows in chain([block.slice(0, _CHECKED_ROWS)], single):
        expected = eager(rows)
        is_whole = len(expected) == len(rows) and (expected.failure is None or expected.failure is rows.failure)
        if is_whole:
            return rows, expected
    return None


def _kind(block: Block) -> Kind:
    leaves = tuple(
        (ArrayColumn, c.values.dtype.str, c.values.shape[1:])  # fresh or not
        if isinstance(c, ArrayColumn)
        else (BytesColumn if isinstance(c, BytesColumn) else type(c), c.dtype.str)  # packed or not, the same rows
        for c in block.columns
    )
    return block.structure, leaves
