"""Element by element."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar, Literal

from penstock.block.spec import Spec
from penstock.block.tree import Structure, tuple_of
from penstock.graph.node import INFINITE, UNKNOWN, Node, Signature, SignatureMemo
from penstock.graph.nodes.fallible import Fallible
from penstock.options import AUTOTUNE

Executor = Literal["auto", "threads", "processes"]


@dataclass(frozen=True, kw_only=True, eq=False)
class Map(Fallible):
    """`function` of each element; with `takes_rng`, of the element and its own random stream.

    without: rules that are not applied to its program (the driver writes them down).
    """

    function: Callable[..., Any]
    num_parallel_calls: int | None = AUTOTUNE
    deterministic: bool | None = None
    declared: Signature | None = None
    executor: Executor = "auto"
    compiles: bool = True
    takes_rng: bool = False
    seed: int | None = None
    without: frozenset[str] = frozenset()
    memo: SignatureMemo = field(default_factory=SignatureMemo)
    verb: ClassVar[str] = "map"

    @cached_property
    def label(self) -> str:
        return f"{'random_map' if self.takes_rng else self.verb} at {self.location}"

    def cardinality(self) -> int:
        count = self.input.cardinality()
        return UNKNOWN if self.drops and count > 0 else count

    def signature(self) -> Signature | None:
        return self.declared or self.memo.signature

    def index_obstacle(self) -> str | None:
        return "drops elements that fail" if self.drops else None

    def parameters(self) -> dict[str, Any]:
        told = {"on_error": "skip" if self.drops else "raise"}
        return {**told, "seed": self.seed} if self.takes_rng else told


@dataclass(frozen=True, kw_only=True, eq=False)
class Filter(Fallible):
    """The elements for which `predicate` is true. without: as for a map."""

    predicate: Callable[..., Any]
    without: frozenset[str] = frozenset()
    verb: ClassVar[str] = "filter"

    def cardinality(self) -> int:
        count = self.input.cardinality()
        return count if count in (0, INFINITE) else UNKNOWN

    def index_obstacle(self) -> str | None:
        return "drops elements, so positions are not known"


@dataclass(frozen=True, kw_only=True, eq=False)
class Chain(Node):
    """Several maps and filters as one segment: block in, block out, `steps` in order (a rule makes it).

    joined: runs of adjacent maps, (start, stop) among the steps, whose functions become one program if all compile.
    """

    steps: tuple[Node, ...]
    joined: tuple[tuple[int, int], ...] = ()
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

    def parameters(self) -> dict[str, Any]:
        runs = ["+".join(str(step) for step in range(*run)) for run in self.joined]
        return {"one_program": ", ".join(runs)} if runs else {}


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
