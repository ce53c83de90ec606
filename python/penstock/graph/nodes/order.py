"""Which elements come, in which order, how often."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from penstock.graph.node import INFINITE, UNKNOWN, Node


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
