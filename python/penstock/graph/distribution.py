"""From a graph to the part of it that one rank runs."""

from __future__ import annotations

from dataclasses import replace

from penstock.errors import InvalidArgumentError, Location
from penstock.graph.node import Node
from penstock.graph.nodes import (
    Batch,
    Cache,
    Distribute,
    Enumerate,
    FormatRows,
    FormatStream,
    Map,
    Policy,
    Prefetch,
    RankRows,
    RecordFiles,
    Repeat,
    Shard,
    Skip,
    Slices,
    Stride,
    Take,
    WithOptions,
)
from penstock.graph.nodes.files import FileStream, IndexedLines, IndexedTFRecords
from penstock.graph.walk import nodes_of, rebuild

_OVER_BATCHES = (Map, Enumerate, Repeat, Take, Skip, Stride, Cache, Prefetch, WithOptions)
_OF_FILES = ("list_files", "from_folder")


def part_of(node: Node, policy: Policy, rank: int, world_size: int, where: Location) -> Node:
    """What `rank` runs of the graph `node`.

    Raises: InvalidArgumentError: under "file", fewer files than ranks, or none.
    """
    if policy == "off" or world_size == 1:
        return node
    if policy == "file":
        node = _own_files(node, rank, world_size, where)
    batch = _last_batch(node)
    if batch is None:
        if policy == "file":
            return node
        return Shard(inputs=(node,), location=where, num_shards=world_size, index=rank)
    if batch.batch_size < world_size:
        raise InvalidArgumentError(
            "distribute: the global batch is smaller than the number of ranks", got=f"batch_size={batch.batch_size}",
            expected=f"at least {world_size}", where=where,
        )  # fmt: skip
    rows = RankRows(
        inputs=batch.inputs, location=where, global_batch=batch.batch_size, rank=rank, world_size=world_size,
        drop_remainder=batch.drop_remainder,
    )  # fmt: skip
    inputs = batch.inputs if policy == "file" else (rows,)
    own = replace(batch, batch_size=rows.local_batch, inputs=inputs)
    return rebuild(node, lambda at, _: own if at is batch else at)


def policy_that_fits(node: Node, world_size: int) -> Policy:
    """What "auto" means here: by files where there are enough, else by rows."""
    return "file" if 1 < world_size <= max(map(len, map(_files, nodes_of(node))), default=0) else "data"


def steps_of_ranks(root: Node) -> tuple[int, ...] | None:
    """How many elements each rank receives of the graph `root`; None where that is endless or unknown."""
    world_size = next((node.world_size for node in nodes_of(root) if isinstance(node, Distribute)), 1)

    def of(rank: int) -> int:
        def put(node: Node, is_root: bool) -> Node:
            if not isinstance(node, Distribute):
                return node
            return replace(node, rank=rank, mine=part_of(node.input, node.policy, rank, node.world_size, node.location))

        return rebuild(root, put).cardinality()

    steps = tuple(map(of, range(world_size)))
    return None if min(steps) < 0 else steps


def files_of_ranks(root: Node, world_size: int) -> tuple[int, ...]:
    """How many files of the largest list of them in the graph `root` each rank reads."""
    files = max(map(_files, nodes_of(root)), key=len, default=range(0))
    return tuple(len(files[rank::world_size]) for rank in range(world_size))


def distributed(root: Node) -> Node:
    """The numbered graph that is run: every `Distribute` replaced by the part of its rank.

    The nodes of that part take their numbers from the user's graph, so that all ranks draw alike.
    """

    def put(node: Node, is_root: bool) -> Node:
        if not isinstance(node, Distribute):
            return node
        part = part_of(node.input, node.policy, node.rank, node.world_size, node.location)
        return rebuild(part, lambda at, _: at if at.number >= 0 else replace(at, number=node.number))

    return rebuild(root, put)


def _last_batch(node: Node) -> Batch | None:
    """The `batch` that makes the elements of `node`, if nothing but maps and the like stands above it."""
    while isinstance(node, _OVER_BATCHES):
        node = node.input
    return node if isinstance(node, Batch) else None


def _files(node: Node) -> range:
    """The files that a source reads, by number."""
    if isinstance(node, Slices) and node.name in _OF_FILES:
        return range(node.cardinality())
    if isinstance(node, FormatRows):
        return range(len(node.store.files))
    if isinstance(node, FormatStream):
        return range(len(node.stream.files))
    return range(len(node.files)) if isinstance(node, RecordFiles | FileStream) else range(0)


def _own_files(root: Node, rank: int, world_size: int, where: Location) -> Node:
    if not any(map(_files, nodes_of(root))):
        raise InvalidArgumentError(
            'distribute: policy="file" over a dataset that reads no list of files', where=where,
            remedy='policy="data" gives every rank its rows of each global batch',
        )  # fmt: skip

    def own(node: Node, is_root: bool) -> Node:
        files = _files(node)
        if not files:
            return node
        if len(files) < world_size:
            raise InvalidArgumentError(
                'distribute: policy="file" needs at least as many files as ranks', got=f"{len(files)} files",
                expected=f"at least {world_size}", where=node.label, remedy='policy="data", or more files',
            )  # fmt: skip
        if isinstance(node, Slices):
            mine = len(files[rank::world_size])
            return Stride(inputs=(node,), location=where, name="distribute", start=rank, step=world_size, count=mine)
        if isinstance(node, FormatRows):
            return replace(node, store=node.store.part(rank, world_size))
        if isinstance(node, FormatStream):
            return replace(node, stream=node.stream.part(rank, world_size))
        if isinstance(node, RecordFiles | IndexedLines | IndexedTFRecords):
            return replace(node, files=node.files[rank::world_size], counts=node.counts[rank::world_size])
        assert isinstance(node, FileStream)
        return replace(node, files=node.files[rank::world_size])

    return rebuild(root, own)
