"""Every kind of node the verbs make, and the few that rules put in their place.

Each validates nothing the verb has not: arguments are checked where the user wrote them (verbs/). Cardinality and
signature follow tf.data.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

from penstock.block.columns import Column
from penstock.block.spec import Spec
from penstock.block.tree import Structure, tuple_of
from penstock.graph.node import INFINITE, UNKNOWN, Node, Signature
from penstock.options import AUTOTUNE, Options

Executor = Literal["auto", "threads", "processes"]
OnError = Literal["raise", "skip"]


# --- sources ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Slices(Node):
    """Rows of arrays in memory (`from_tensor_slices`, and file lists under the name of their own verb)."""

    structure: Structure
    columns: tuple[Column, ...]
    name: str = "from_tensor_slices"
    class_names: tuple[str, ...] | None = None
    verb: ClassVar[str] = "from_tensor_slices"

    @cached_property
    def label(self) -> str:
        return f"{self.name} at {self.location}"

    def cardinality(self) -> int:
        return len(self.columns[0])

    def signature(self) -> Signature | None:
        if not len(self.columns[0]):
            return None
        return Signature(self.structure, tuple(column.spec for column in self.columns))

    def parameters(self) -> dict[str, Any]:
        return {"count": len(self.columns[0]), "structure": str(self.structure)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Range(Node):
    """Integers start, start + step, ... before stop."""

    start: int
    stop: int
    step: int
    dtype: Any
    verb: ClassVar[str] = "range"

    def cardinality(self) -> int:
        return len(range(self.start, self.stop, self.step))

    def signature(self) -> Signature | None:
        return Signature(Structure(), (Spec((), self.dtype),))

    def parameters(self) -> dict[str, Any]:
        return {"start": self.start, "stop": self.stop, "step": self.step}


@dataclass(frozen=True, kw_only=True, eq=False)
class Indexed(Node):
    """Any object with `__len__` and `__getitem__`; `__getitems__` fetches several at once where there is one."""

    obj: Any
    count: int
    num_parallel_calls: int
    memo: SignatureMemo
    verb: ClassVar[str] = "from_source"

    def cardinality(self) -> int:
        return self.count

    def signature(self) -> Signature | None:
        return self.memo.signature

    def parameters(self) -> dict[str, Any]:
        return {"type": type(self.obj).__qualname__, "count": self.count}


@dataclass(frozen=True, kw_only=True, eq=False)
class Generator(Node):
    """Elements of a fresh generator each pass. `limit`: pull no more than this (a rule sets it)."""

    function: Callable[..., Any]
    args: tuple[Any, ...]
    declared: Signature
    limit: int | None = None
    verb: ClassVar[str] = "from_generator"

    def cardinality(self) -> int:
        return UNKNOWN

    def signature(self) -> Signature | None:
        return self.declared

    def index_obstacle(self) -> str | None:
        return "yields its elements in order only"


# --- several inputs --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Zip(Node):
    """One element of each input, nested as `template`; ends with the shortest."""

    template: Structure
    verb: ClassVar[str] = "zip"

    def cardinality(self) -> int:
        counts = [node.cardinality() for node in self.inputs]
        finite = [count for count in counts if count >= 0]
        if UNKNOWN in counts:
            return UNKNOWN
        return min(finite) if finite else INFINITE

    def signature(self) -> Signature | None:
        parts = [node.signature() for node in self.inputs]
        if any(part is None for part in parts):
            return None
        known = [part for part in parts if part is not None]
        specs = tuple(spec for part in known for spec in part.specs)
        return Signature(graft(self.template, [part.structure for part in known]), specs)


def graft(template: Structure, children: list[Structure]) -> Structure:
    """`template` with its leaves replaced, in order, by `children`."""
    return _graft(template, iter(children))


def _graft(template: Structure, children: Iterator[Structure]) -> Structure:
    if template.is_leaf:
        return next(children)
    parts = tuple(_graft(part, children) for part in template.children)
    return Structure(template.kind, template.keys, parts, sum(part.leaf_count for part in parts))


@dataclass(frozen=True, kw_only=True, eq=False)
class Concatenate(Node):
    """The first input, then the second."""

    verb: ClassVar[str] = "concatenate"

    def cardinality(self) -> int:
        counts = [node.cardinality() for node in self.inputs]
        if INFINITE in counts:
            return INFINITE
        return UNKNOWN if UNKNOWN in counts else sum(counts)

    def signature(self) -> Signature | None:
        first, second = (node.signature() for node in self.inputs)
        if first is None or second is None:
            return first or second
        return Signature(first.structure, tuple(a.merge(b) for a, b in zip(first.specs, second.specs, strict=True)))


# --- element by element ----------------------------------------------------------------------------------------------


class SignatureMemo:
    """What an opaque function was found to return, once asked for; shared by every rewrite of its node."""

    __slots__ = ("lock", "signature")

    def __init__(self, signature: Signature | None = None) -> None:
        self.lock = threading.Lock()
        self.signature = signature


@dataclass(frozen=True, kw_only=True, eq=False)
class Map(Node):
    """`function` of each element; with `takes_rng`, of the element and its own random stream."""

    function: Callable[..., Any]
    num_parallel_calls: int | None = AUTOTUNE
    deterministic: bool | None = None
    declared: Signature | None = None
    executor: Executor = "auto"
    on_error: OnError = "raise"
    compiles: bool = True
    takes_rng: bool = False
    seed: int | None = None
    memo: SignatureMemo = field(default_factory=SignatureMemo)
    verb: ClassVar[str] = "map"

    @cached_property
    def label(self) -> str:
        return f"{'random_map' if self.takes_rng else 'map'} at {self.location}"

    def cardinality(self) -> int:
        count = self.input.cardinality()
        return count if self.on_error == "raise" or count == INFINITE else UNKNOWN

    def signature(self) -> Signature | None:
        return self.declared or self.memo.signature

    def index_obstacle(self) -> str | None:
        return None if self.on_error == "raise" else 'drops elements (on_error="skip")'

    def parameters(self) -> dict[str, Any]:
        return {"on_error": self.on_error, "seed": self.seed} if self.takes_rng else {"on_error": self.on_error}


@dataclass(frozen=True, kw_only=True, eq=False)
class Filter(Node):
    """The elements for which `predicate` is true."""

    predicate: Callable[..., Any]
    on_error: OnError = "raise"
    verb: ClassVar[str] = "filter"

    def cardinality(self) -> int:
        count = self.input.cardinality()
        return count if count in (0, INFINITE) else UNKNOWN

    def index_obstacle(self) -> str | None:
        return "drops elements, so positions are not known"


@dataclass(frozen=True, kw_only=True, eq=False)
class Chain(Node):
    """Several maps and filters as one segment: block in, block out, `steps` in order (a rule makes it)."""

    steps: tuple[Node, ...]
    verb: ClassVar[str] = "segment"

    @cached_property
    def label(self) -> str:
        return " + ".join(step.label for step in self.steps)

    def cardinality(self) -> int:
        return self.steps[-1].cardinality()

    def signature(self) -> Signature | None:
        return self.steps[-1].signature()

    def index_obstacle(self) -> str | None:
        return next((reason for step in self.steps if (reason := step.index_obstacle())), None)


@dataclass(frozen=True, kw_only=True, eq=False)
class Enumerate(Node):
    """(position, element)."""

    start: int = 0
    verb: ClassVar[str] = "enumerate"

    def signature(self) -> Signature | None:
        inner = self.input.signature()
        if inner is None:
            return None
        return Signature(tuple_of(Structure(), inner.structure), (Spec((), "int64"), *inner.specs))

    def parameters(self) -> dict[str, Any]:
        return {"start": self.start}


# --- grouping --------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Batch(Node):
    """Consecutive elements stacked: leaves gain a leading axis."""

    batch_size: int
    drop_remainder: bool
    verb: ClassVar[str] = "batch"

    def cardinality(self) -> int:
        count = self.input.cardinality()
        if count < 0:
            return count
        return count // self.batch_size if self.drop_remainder else -(-count // self.batch_size)

    def signature(self) -> Signature | None:
        inner = self.input.signature()
        if inner is None:
            return None
        count = self.input.cardinality()
        whole = self.drop_remainder or (count >= 0 and count % self.batch_size == 0) or count == INFINITE
        size = self.batch_size if whole else None
        return Signature(inner.structure, tuple(spec.batched(size) for spec in inner.specs))

    def parameters(self) -> dict[str, Any]:
        return {"batch_size": self.batch_size, "drop_remainder": self.drop_remainder}


@dataclass(frozen=True, kw_only=True, eq=False)
class Unbatch(Node):
    """The rows of each element's leaves, one after another."""

    verb: ClassVar[str] = "unbatch"

    def cardinality(self) -> int:
        count = self.input.cardinality()
        if count in (0, INFINITE):
            return count
        signature = self.input.signature() if _is_promised(self.input) else None
        shape = signature.specs[0].shape if signature is not None else None
        rows = shape[0] if shape else None
        return count * rows if count > 0 and rows is not None else UNKNOWN

    def signature(self) -> Signature | None:
        inner = self.input.signature()
        if inner is None:
            return None
        specs = tuple(Spec(None if s.shape is None else s.shape[1:], s.dtype) for s in inner.specs)
        return Signature(inner.structure, specs)

    def index_obstacle(self) -> str | None:
        return "gives each element a number of rows known only when it is read"


def _is_promised(node: Node) -> bool:
    """Whether the shapes of its signature hold for every element, rather than being those of the first one."""
    if isinstance(node, Map | Indexed):
        return isinstance(node, Map) and node.declared is not None
    return all(_is_promised(source) for source in node.inputs)


# --- order and size --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Shuffle(Node):
    """A random order. Over an index-driven, finite input: a permutation of the whole range. Over a stream: a buffer."""

    buffer_size: int | None
    seed: int | None
    reshuffle_each_iteration: bool
    verb: ClassVar[str] = "shuffle"

    def index_obstacle(self) -> str | None:
        return "has not been turned into a permutation"

    def becomes_indexed(self) -> bool:
        return self.input.cardinality() >= 0

    def parameters(self) -> dict[str, Any]:
        return {
            "buffer_size": self.buffer_size,
            "seed": self.seed,
            "reshuffle_each_iteration": self.reshuffle_each_iteration,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Permute(Node):
    """Element i is input element permutation(i): what a rule makes of `Shuffle`. Nothing is stored."""

    seed: int | None
    reshuffle_each_iteration: bool
    verb: ClassVar[str] = "shuffle"


@dataclass(frozen=True, kw_only=True, eq=False)
class Repeat(Node):
    """`count` passes, INFINITE for no end."""

    count: int
    verb: ClassVar[str] = "repeat"

    def cardinality(self) -> int:
        inner = self.input.cardinality()
        if inner == 0 or self.count == 0:
            return 0
        if self.count == INFINITE or inner == INFINITE:
            return INFINITE
        return UNKNOWN if inner == UNKNOWN else inner * self.count

    def index_obstacle(self) -> str | None:
        return None if self.input.cardinality() >= 0 else "repeats an input of unknown length"

    def parameters(self) -> dict[str, Any]:
        return {"count": self.count}


@dataclass(frozen=True, kw_only=True, eq=False)
class Take(Node):
    """At most the first `count` elements; -1 for all."""

    count: int
    verb: ClassVar[str] = "take"

    def cardinality(self) -> int:
        inner = self.input.cardinality()
        if self.count == -1:
            return inner
        if self.count == 0:
            return 0
        return self.count if inner == INFINITE else inner if inner == UNKNOWN else min(inner, self.count)

    def index_obstacle(self) -> str | None:
        return "has not been turned into a stride"

    def becomes_indexed(self) -> bool:
        return True

    def parameters(self) -> dict[str, Any]:
        return {"count": self.count}


@dataclass(frozen=True, kw_only=True, eq=False)
class Skip(Node):
    """All but the first `count` elements; -1 skips all."""

    count: int
    verb: ClassVar[str] = "skip"

    def cardinality(self) -> int:
        inner = self.input.cardinality()
        if self.count == -1:
            return 0
        return inner if inner < 0 else max(0, inner - self.count)

    def index_obstacle(self) -> str | None:
        return "has not been turned into a stride"

    def becomes_indexed(self) -> bool:
        return True

    def parameters(self) -> dict[str, Any]:
        return {"count": self.count}


@dataclass(frozen=True, kw_only=True, eq=False)
class Shard(Node):
    """Elements index, index + num_shards, ..."""

    num_shards: int
    index: int
    verb: ClassVar[str] = "shard"

    def cardinality(self) -> int:
        inner = self.input.cardinality()
        return inner if inner < 0 else len(range(self.index, inner, self.num_shards))

    def index_obstacle(self) -> str | None:
        return "has not been turned into a stride"

    def becomes_indexed(self) -> bool:
        return True

    def parameters(self) -> dict[str, Any]:
        return {"num_shards": self.num_shards, "index": self.index}


@dataclass(frozen=True, kw_only=True, eq=False)
class Stride(Node):
    """Input elements start, start + step, ...: `count` of them (INFINITE: to no end).

    Slices are this, and what rules make of take, skip and shard.
    """

    start: int
    step: int
    count: int
    name: str = "slice"
    verb: ClassVar[str] = "slice"

    @cached_property
    def label(self) -> str:
        return f"{self.name} at {self.location}"

    def cardinality(self) -> int:
        return self.count

    def parameters(self) -> dict[str, Any]:
        return {"start": self.start, "step": self.step, "count": self.count}


# --- keeping ---------------------------------------------------------------------------------------------------------


@dataclass(frozen=True, kw_only=True, eq=False)
class Cache(Node):
    """What came out of the input the first time, from then on. `store` is filled and read by the engine."""

    store: Any
    verb: ClassVar[str] = "cache"

    def index_obstacle(self) -> str | None:
        return "keeps an endless input, which has no places to keep it by" if self.cardinality() == INFINITE else None


@dataclass(frozen=True, kw_only=True, eq=False)
class Prefetch(Node):
    """Up to `buffer_size` elements ready before they are asked for."""

    buffer_size: int
    verb: ClassVar[str] = "prefetch"


@dataclass(frozen=True, kw_only=True, eq=False)
class WithOptions(Node):
    """Options for everything above it."""

    options: Options
    verb: ClassVar[str] = "with_options"
