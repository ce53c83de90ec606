"""Which elements come, in which order, how often."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from penstock.formats.store import Pieces
from penstock.graph.node import INFINITE, UNKNOWN, Node

_BUFFER_OF_UNKNOWN = 16384


@dataclass(frozen=True, kw_only=True, eq=False)
class Shuffle(Node):
    """A random order.

    Over an index-driven input: a permutation of the whole range, or, if that has no end, of each window of the buffer's
    size. Over a stream: a buffer; with `start_early` it delivers before it is full.
    """

    buffer_size: int | None
    seed: int | None
    reshuffle_each_iteration: bool
    start_early: bool = False
    verb: ClassVar[str] = "shuffle"

    def index_obstacle(self) -> str | None:
        return "has not been turned into a permutation"

    def becomes_indexed(self) -> bool:
        return self.input.cardinality() != UNKNOWN

    @property
    def size(self) -> int:
        """Elements its buffer or its windows hold."""
        count = self.input.cardinality()
        whole = count if count >= 0 else _BUFFER_OF_UNKNOWN
        return whole if self.buffer_size is None else self.buffer_size

    @property
    def window(self) -> int | None:
        """Elements of each window, None where there is an end and no window."""
        return self.size if self.input.cardinality() == INFINITE else None

    def parameters(self) -> dict[str, Any]:
        said = {
            "buffer_size": self.buffer_size,
            "seed": self.seed,
            "reshuffle_each_iteration": self.reshuffle_each_iteration,
        }
        return {**said, "start_early": True} if self.start_early else said


@dataclass(frozen=True, kw_only=True, eq=False)
class Permute(Node):
    """Element i is input element permutation(i): what a rule makes of `Shuffle`. Nothing is stored.

    `window`: permute each run of so many elements by itself, None: the whole range. `pieces`: what is read together,
    and how much of it to mix at a time, None: any element is as cheap as the next.
    """

    seed: int | None
    reshuffle_each_iteration: bool
    window: int | None = None
    pieces: Pieces | None = None
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
class AssertCardinality(Node):
    """The input, held to `count` elements (INFINITE: to no end)."""

    count: int
    verb: ClassVar[str] = "assert_cardinality"

    def cardinality(self) -> int:
        return self.count

    def index_obstacle(self) -> str | None:
        holds = self.input.cardinality() == self.count
        return None if holds else "counts what comes, as it is not known to be what is asserted"

    def parameters(self) -> dict[str, Any]:
        return {"count": self.count}


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
