"""What travels to a worker process and back: a task, its answer, and what they hold, packed for a `Link`.

A task names its function by digest; the function itself (a recipe: the node without what it draws from) comes once.
Classes that only the user's main script knows travel by value (cloudpickle) and are the same class again when back.
"""

from __future__ import annotations

import pickle
import traceback
from collections.abc import Callable, Sequence
from dataclasses import dataclass, fields, replace
from functools import lru_cache
from typing import Any

import cloudpickle
import numpy as np

from penstock.block.block import Block, Failure
from penstock.block.columns import Array, ArrayColumn, BytesColumn, Column, FreshColumn, RaggedColumn, object_array
from penstock.block.origin import Origins
from penstock.block.spec import BYTES, Spec
from penstock.block.tree import Structure
from penstock.engine.executors.link import Stack
from penstock.engine.scope import Seen, Skipped, TaskLog
from penstock.graph.node import Node
from penstock.graph.nodes import Chain, Filter, Map
from penstock.options import RemoteOptions
from penstock.telemetry.clock import Clock
from penstock.telemetry.tally import OpTotals, StepTotals, Tally, Told

_JOINED_BYTES = 4096


# --- functions -------------------------------------------------------------------------------------------------------


def _dumps(value: Any) -> bytes:
    return bytes(cloudpickle.dumps(value, protocol=5))


def recipe(node: Node, dumps: Callable[[Any], bytes] = _dumps) -> bytes:
    """A map, a filter or a chain of them, without its inputs. Raises: whatever pickling the user's function raises."""
    steps = node.steps if isinstance(node, Chain) else (node,)
    return dumps([_fields(step) for step in steps])


def _fields(step: Node) -> tuple[type[Node], dict[str, Any], str]:
    assert isinstance(step, Map | Filter), step.verb
    kept = {f.name: getattr(step, f.name) for f in fields(step) if f.name not in ("inputs", "memo")}
    return type(step), kept, step.label


def node_of(text: bytes) -> Node:
    """The node a recipe describes."""
    steps: list[Node] = []
    for kind, kept, label in cloudpickle.loads(text):
        step: Node = kind(**kept)
        step.__dict__["label"] = label  # as computed in the trainer's folder
        steps.append(step)
    if len(steps) == 1:
        return steps[0]
    return Chain(steps=tuple(steps), location=steps[-1].location, number=steps[-1].number)


@lru_cache(256)
def _structure_bytes(structure: Structure) -> bytes:
    return bytes(cloudpickle.dumps(structure, protocol=5))


@lru_cache(256)
def _structure(text: bytes) -> Structure:
    structure: Structure = cloudpickle.loads(text)
    return structure


# --- blocks ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class _Stacked:
    """A column whose rows travel as stack number `stack`; `is_fixed`: elements are read-only."""

    stack: int
    count: int
    shape: tuple[int, ...]
    dtype: np.dtype[Any]
    is_fixed: bool


@dataclass(frozen=True, slots=True)
class _Joined:
    """A column of bytes, end to end."""

    lengths: Array
    content: Array


@dataclass(frozen=True, slots=True)
class PackedBlock:
    """`origins` is None where the receiver has them."""

    structure: bytes
    columns: tuple[Column | _Stacked | _Joined, ...]
    origins: Origins | None


def pack_block(block: Block, *, stacked: bool, known: Origins | None = None) -> tuple[PackedBlock, list[Stack]]:
    """The block without its failure. `stacked`: rows of one shape kept apart become one array."""
    stacks: list[Stack] = []
    columns = tuple(_pack_column(column, stacks if stacked else None) for column in block.columns)
    origins = None if block.origins is known else block.origins
    return PackedBlock(_structure_bytes(block.structure), columns, origins), stacks


def _pack_column(column: Column, stacks: list[Stack] | None) -> Column | _Stacked | _Joined:
    if isinstance(column, ArrayColumn):
        values = column.values
        if values.flags.c_contiguous:
            return ArrayColumn(values)
        copy = np.ascontiguousarray(values)
        copy.flags.writeable = values.flags.writeable
        return ArrayColumn(copy)
    if isinstance(column, BytesColumn):
        if column.dtype == BYTES and column.values.ndim == 1 and column.nbytes > _JOINED_BYTES:
            texts = column.values.tolist()
            return _Joined(np.array(list(map(len, texts))), np.frombuffer(b"".join(texts), dtype=np.uint8))
        return column
    if isinstance(column, RaggedColumn):
        return column
    rows = column.values
    is_plain = column.dtype.kind not in "SUO" and column.dtype.isbuiltin == 1
    if stacks is not None and is_plain and all(row.shape == rows[0].shape for row in rows):
        stacks.append(rows)
        is_fixed = not all(row.flags.writeable for row in rows)
        return _Stacked(len(stacks) - 1, len(rows), rows[0].shape, column.dtype, is_fixed)
    return column


def unpack_block(packed: PackedBlock, stacks: Sequence[Array], known: Origins | None = None) -> Block:
    """The block again, without a failure; its arrays lie over what was received."""
    origins = packed.origins if packed.origins is not None else known
    if origins is None:
        raise AssertionError("a block came without origins")
    columns = tuple(_unpack_column(column, stacks) for column in packed.columns)
    return Block(_structure(packed.structure), columns, origins)


def _unpack_column(column: Column | _Stacked | _Joined, stacks: Sequence[Array]) -> Column:
    if isinstance(column, _Stacked):
        whole = stacks[column.stack].view(column.dtype).reshape(column.count, *column.shape)
        values = whole.view()
        values.flags.writeable = not column.is_fixed
        return FreshColumn(values, whole)
    if isinstance(column, _Joined):
        stops = np.cumsum(column.lengths).tolist()
        content = memoryview(column.content)  # type: ignore[arg-type]  # an array is a buffer
        texts = [bytes(content[stop - n : stop]) for stop, n in zip(stops, column.lengths.tolist(), strict=True)]
        return BytesColumn(object_array(texts), BYTES)
    return FreshColumn(column.values, column.values) if isinstance(column, ArrayColumn) else column


# --- errors ----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class PackedError:
    """An exception and its cause, pickled; `text` is the traceback where it was raised."""

    error: bytes
    cause: bytes | None
    text: str


def pack_error(error: BaseException) -> PackedError:
    """What can be pickled travels as it is; what cannot, as a RuntimeError of the same words."""
    cause = error.__cause__
    text = "".join(traceback.format_exception(error if cause is None else cause))
    return PackedError(_error_bytes(error), None if cause is None else _error_bytes(cause), text)


def _error_bytes(error: BaseException) -> bytes:
    try:
        text = bytes(cloudpickle.dumps(error, protocol=5))
        if type(pickle.loads(text)) is type(error):  # noqa: S301  # made in the line above: does it come back?
            return text
    except Exception:  # noqa: BLE001  # whatever a user's exception does when pickled, it must be told
        pass
    name = f"{type(error).__module__}.{type(error).__qualname__}"
    return pickle.dumps(RuntimeError(f"{name}: {error} (this exception cannot be pickled)"), protocol=5)


def unpack_error(packed: PackedError) -> BaseException:
    """The exception, with the traceback of its process as a note."""
    error: BaseException = pickle.loads(packed.error)  # noqa: S301  # from our own worker
    told = error
    if packed.cause is not None:
        told = error.__cause__ = pickle.loads(packed.cause)  # noqa: S301  # from our own worker
    told.add_note(f"in a worker process:\n{packed.text.rstrip()}")
    return error


# --- tasks -----------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Task:
    """One block for one function.

    recipe: the function, when the worker has not seen it. forget: digests it will not be asked for again. has_failure:
    a failure that stayed behind follows the block. folder: where the trainer is, when it has moved.
    """

    digest: bytes
    recipe: bytes | None
    forget: tuple[bytes, ...]
    block: PackedBlock
    has_failure: bool
    seed: int
    epoch: int
    passes: tuple[tuple[int, int], ...]
    folder: str | None
    max_image_pixels: int | None
    remote: RemoteOptions | None


@dataclass(frozen=True, slots=True)
class PackedLog:
    """A task's log: what was seen (with packed structures), what was skipped, what it cost."""

    seen: list[tuple[int, str, bytes, tuple[Spec, ...], str]]
    skipped: list[Skipped]
    steps: dict[tuple[int, str], StepTotals]
    told: Told | None = None
    ops: dict[int, OpTotals] | None = None


@dataclass(frozen=True, slots=True)
class Answer:
    """What became of a task. `failure` follows the block; `keeps_failure`: it is the one that stayed behind.

    cpu_s: CPU seconds of it all. storage: seconds of it in reading, and bytes read. warned: what the functions want
    told. raised: the worker itself could not do it, and there is no block; is_unloadable: because the function could
    not be loaded there.
    """

    block: PackedBlock | None = None
    failure: PackedError | None = None
    keeps_failure: bool = False
    log: PackedLog | None = None
    cpu_s: float = 0.0
    warned: tuple[str, ...] = ()
    storage: tuple[float, int] = (0.0, 0)
    raised: PackedError | None = None
    is_unloadable: bool = False


def pack_log(log: TaskLog) -> PackedLog:
    seen = [(s.number, s.label, _structure_bytes(s.structure), s.specs, s.origin) for s in log.seen]
    return PackedLog(seen, log.skipped, log.tally.steps, log.tally.told, log.tally.ops)


def unpack_log(packed: PackedLog) -> TaskLog:
    seen = [Seen(number, label, _structure(text), specs, origin) for number, label, text, specs, origin in packed.seen]
    return TaskLog(Tally(Clock(), packed.steps, told=packed.told, ops=packed.ops), packed.skipped, seen)


def with_failure(block: Block, failure: Failure | None) -> Block:
    """The block, followed by this failure or by none."""
    return replace(block, failure=failure)
