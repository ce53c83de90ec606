"""The functions of a pipeline without its data: frozen as programs, run in serving as they ran in training."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from penstock.block.block import Block
from penstock.block.collate import column_of
from penstock.block.columns import RowsColumn
from penstock.block.origin import SourceOrigins
from penstock.block.tree import Structure, structure_of
from penstock.engine.buffers import BufferPool
from penstock.engine.operators.batching import stack_batches
from penstock.engine.operators.programs import run_program
from penstock.errors import InvalidArgumentError, NotCompiledError, ReadError
from penstock.graph.node import Node
from penstock.graph.nodes import Batch, Map, Slices
from penstock.optimize.programs import optimize_program
from penstock.rng import BlockStreams
from penstock.session.saved.archive import Reader, Writer
from penstock.session.saved.graphs import as_program
from penstock.trace.programmed import ProgramFunction
from penstock.trace.tracer import Untraced

_HOLDS = "preprocessing"


class Preprocessing:
    """Frozen functions, one after another. Call it on one example, or `batch` on several; both give the same values.

    Safe to call from several threads. Needs none of the code it was made from.
    """

    def __init__(self, steps: Sequence[ProgramFunction]) -> None:
        self._steps = tuple(steps)
        self._optimized = [optimize_program(step.program, frozenset()) for step in self._steps]
        self._pool = BufferPool()

    def __call__(self, *example: Any) -> Any:
        """What the pipeline makes of one example: what its first function takes, a tuple's parts one by one.

        Raises: StructureError: an example of another structure, dtype or shape than the function was saved for.
        """
        value: Any = example if len(example) != 1 else example[0]
        for step in self._steps:
            value = step(*value) if step.is_splat else step(value)
        return value

    def batch(self, examples: Sequence[Any]) -> Any:
        """What it makes of several examples, stacked: each leaf gains a leading axis. Natively, on all of them at once.

        Raises: as for one, and whatever a step raises on one of them; StackError: results of different shapes.
        """
        if not len(examples):
            raise InvalidArgumentError("batch: examples", got="none", expected="at least one")
        first = self._steps[0]
        rows = [first.leaves_of(example) for example in examples]
        origins = SourceOrigins(0, "example", np.arange(len(rows), dtype=np.int64))
        block = Block(first.structure, tuple(column_of(list(leaf)) for leaf in zip(*rows, strict=True)), origins)
        for step, program in zip(self._steps, self._optimized, strict=True):
            columns = run_program(program, block, BlockStreams((0,), origins.ids), self._allocate)
            block = Block(step.program.structure, columns, origins)
        batch = stack_batches(block, np.array([len(block)], dtype=np.int64), self._pool, "batch")
        if batch.failure is not None:
            raise batch.failure.error
        return batch.element(0)

    def _allocate(self, leaves: Sequence[int | None], shape: tuple[int, ...], dtype: np.dtype[Any]) -> Any:
        return self._pool.arrays((shape,) * len(leaves), dtype)

    def to_bytes(self) -> bytes:
        """What `from_bytes` takes."""
        writer = Writer()
        return writer.to_bytes(_HOLDS, writer.encode(self._steps))

    @classmethod
    def from_bytes(cls, data: bytes) -> Preprocessing:
        """Runs nothing. Raises: InvalidArgumentError: no saved preprocessing, or one of another version."""
        reader = Reader(data, _HOLDS, allow_code=False)
        try:
            return cls(reader.decode(reader.document))
        except (KeyError, TypeError, AttributeError) as error:
            raise InvalidArgumentError("not a saved preprocessing", got=f"{type(error).__name__}: {error}") from error

    def __repr__(self) -> str:
        return f"<penstock.Preprocessing: {' -> '.join(step.name for step in self._steps)}>"


def export_to(node_or_function: Node | Callable[..., Any], example: Any, path: str | Path) -> None:
    """Freeze and write; a file that is there is replaced at once or not at all.

    Raises: NotCompiledError: a function that does not compile, draws at random, or takes batches.
    """
    made = _of_function(node_or_function, example) if not isinstance(node_or_function, Node) else _of(node_or_function)
    target = Path(path)
    beside = target.with_name(f".{target.name}.{os.getpid()}")
    try:
        beside.write_bytes(made.to_bytes())
        beside.replace(target)
    finally:
        beside.unlink(missing_ok=True)


def load_from(path: str | Path) -> Preprocessing:
    """Raises: ReadError: the file cannot be read; InvalidArgumentError: it is none that `export` wrote."""
    try:
        data = Path(path).read_bytes()
    except OSError as error:
        raise ReadError("cannot read the file", got=error.strerror or str(error), where=str(path)) from error
    try:
        return Preprocessing.from_bytes(data)
    except InvalidArgumentError as error:
        raise error.at(str(path)) from None


def _of(root: Node) -> Preprocessing:
    """The maps of a pipeline, from the source on."""
    maps: list[Map] = []
    node = root
    while len(node.inputs) == 1:
        if isinstance(node, Batch) and maps:
            raise NotCompiledError(
                "a function of whole batches cannot be exported: one example has none", where=maps[0].label,
                remedy="map before batch",
            )  # fmt: skip
        if isinstance(node, Map):
            maps.insert(0, node)
        node = node.input
    if not maps:
        raise NotCompiledError("no map to export", where=root.label)
    return Preprocessing([_program(step) for step in maps])


def _of_function(function: Callable[..., Any], example: Any) -> Preprocessing:
    """One function, for examples like `example`: of its structure, dtypes and ranks."""
    structure: Structure = structure_of(example)
    columns = [column_of([leaf]) for leaf in structure.flatten(example)]
    rows = tuple(RowsColumn([np.asarray(c.row(0))], c.spec.dtype) if c.spec.shape else c for c in columns)
    return Preprocessing([_program(Map(inputs=(Slices(structure=structure, columns=rows),), function=function))])


def _program(node: Map) -> ProgramFunction:
    saved = as_program(node, node.function)
    if isinstance(saved, Untraced):
        raise NotCompiledError(
            "only functions that compile can be exported", got=f"one that {saved.reason}", where=node.label,
            remedy="@penstock.function names the line; ds.to_bytes() saves other functions as code",
        )  # fmt: skip
    drawing = next((step.op for step in saved.program.steps if step.draw is not None), None)
    if drawing is not None:
        raise NotCompiledError(
            "a function that draws at random cannot be exported", got=drawing, expected="the same result each time",
            where=node.label, remedy="export the pipeline that validates",
        )  # fmt: skip
    return saved
