"""Before a pipeline is planned: each `cache(directory)` that is complete becomes a source; the others may write.

Policy: what an order is may not hang on what an earlier run has left behind. So a cache over a stream is filled before
the first element where something above it needs its elements by number, a shuffle or a slice, as a text file gets an
index of its lines there; where nothing does, its first pass delivers as it writes. Either way the order is the same in
the first epoch and in all others.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from penstock.engine.file_cache import Filling
from penstock.errors import PenstockError
from penstock.formats.stored.data import StoredData, open_entry
from penstock.formats.stored.directory import entries, remove
from penstock.formats.stored.manifest import NAME, read_manifest
from penstock.graph.node import Node, becomes_index_driven, is_index_driven
from penstock.graph.nodes import Distribute, FileCache, Loaded, Range, Shuffle, Stride
from penstock.graph.walk import nodes_of, rebuild
from penstock.session.stored.content import content_of, difference, store_of
from penstock.trace.contents import digest
from penstock.units import format_bytes


@dataclass(frozen=True, slots=True)
class Found:
    """One cache of a pipeline. why: it is made anew; None: it is complete, or nothing was there.

    first: it is to be filled before the first element.
    """

    node: FileCache  # with its `Filling` for a store
    why: str | None
    first: bool

    @property
    def filling(self) -> Filling:
        filling: Filling = self.node.store
        return filling

    def line(self) -> str:
        """For `explain()`."""
        data, label = self.filling.data, self.node.label
        if data is not None:
            return f"{label}: {data.count} elements, {format_bytes(data.nbytes)}, by number from {data.path}"
        anew = f"made anew ({self.why})" if self.why else "nothing is kept yet"
        if self.first:
            return f"{label}: {anew}: filled before the first element, as a shuffle or a slice needs it by number"
        return f"{label}: {anew}: the first pass is written to {self.filling.directory} as it goes"


def with_stored(graph: Node, user_graph: Node, seed: int | str, *, everywhere: bool) -> tuple[Node, tuple[Found, ...]]:
    """The numbered graph with its caches resolved, and what was found. `everywhere`: all are wanted by number.

    Raises: InvalidArgumentError: a cache whose content cannot be told.
    """
    caches = [node for node in nodes_of(graph) if isinstance(node, FileCache)]
    if not caches:
        return graph, ()
    owner = next((_owner(node) for node in nodes_of(user_graph) if isinstance(node, Distribute)), "")
    wanted = {id(cache.store) for cache in caches} if everywhere else _below_what_wants_it(graph)
    resolved = {id(cache.store): _found(cache, seed, owner, wanted) for cache in caches}

    def put(node: Node, is_root: bool) -> Node:
        if not isinstance(node, FileCache):
            return node
        filling = resolved[id(node.store)].filling
        if filling.data is None:
            return replace(node, store=filling)
        name = node.label.split(" at ", maxsplit=1)[0]
        return Loaded(location=node.location, number=node.number, data=filling.data, name=name)

    return rebuild(graph, put), tuple(resolved.values())


def _owner(node: Distribute) -> str:
    """Ranks that read files of their own keep caches of their own, side by side."""
    return f"rank {node.rank} of {node.world_size}" if node.world_size > 1 and node.policy == "file" else ""


def _found(cache: FileCache, seed: int | str, owner: str, wanted: set[int]) -> Found:
    store = store_of(cache)
    first = id(store) in wanted and not is_index_driven(cache.input)
    with store.lock:
        shape = _shape(cache.input, seed)
        filling = store.decided.get(shape)
        why = None
        if filling is None:
            content, has_changed = content_of(cache, seed, owner)
            filling = Filling(cache.label, Path(cache.directory), content, has_changed, keeps_all=cache.keeps_all)
            store.decided[shape] = filling
        if filling.data is None:
            filling.data, why = _look(filling, cache)
    return Found(replace(cache, store=filling), why, first and filling.data is None)


def _shape(root: Node, seed: Any) -> str:
    """Equal for graphs of the same nodes: what is decided for one is not decided again each epoch."""
    nodes = [(node.number, node.label, repr(node.parameters())) for node in nodes_of(root)]
    return digest(json.dumps([str(seed), nodes]).encode("utf-8", "surrogatepass"))


def _look(filling: Filling, cache: FileCache) -> tuple[StoredData | None, str | None]:
    """What is there, or why it is not what is wanted."""
    path = filling.directory / filling.content.key
    if (path / NAME).exists():
        try:
            return open_entry(path), None
        except PenstockError as error:
            remove(path)
            return None, str(error)
    if cache.keeps_all:
        return None, None
    for entry in entries(filling.directory):
        try:
            manifest = read_manifest(entry)
        except PenstockError as error:
            return None, str(error)
        if manifest.owner == filling.content.owner and manifest.key:
            return None, difference(manifest.told, filling.content.told)
    return None, None


def _below_what_wants_it(root: Node) -> set[int]:
    """The stores of caches below a shuffle or a slice that would be index-driven if they were."""
    below: set[int] = set()
    for node in nodes_of(root):
        if isinstance(node, Shuffle | Stride) and becomes_index_driven(_as_if(node)):
            below.update(id(each.store) for each in nodes_of(node) if isinstance(each, FileCache))
    return below


def _as_if(root: Node) -> Node:
    """The graph as if each cache had one element: enough to see what it would become."""
    one = Range(start=0, stop=1, step=1, dtype="int64")
    return rebuild(root, lambda node, _: one if isinstance(node, FileCache) else node)
