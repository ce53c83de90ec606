"""Element by element, in order, with what was seen before in mind."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, ClassVar

from penstock.graph.node import INFINITE, UNKNOWN, Node, Signature, SignatureMemo
from penstock.graph.nodes.fallible import Fallible

_IN_ORDER = "needs every element before"


@dataclass(frozen=True, kw_only=True, eq=False)
class Scan(Fallible):
    """(state, element) -> (state, output), from `initial_state` on."""

    initial_state: Any
    function: Callable[..., Any]
    memo: SignatureMemo = field(default_factory=SignatureMemo)
    verb: ClassVar[str] = "scan"

    def cardinality(self) -> int:
        count = self.input.cardinality()
        return UNKNOWN if self.drops and count > 0 else count

    def signature(self) -> Signature | None:
        return self.memo.signature

    def index_obstacle(self) -> str | None:
        return _IN_ORDER


@dataclass(frozen=True, kw_only=True, eq=False)
class TakeWhile(Node):
    """The elements before the first for which `predicate` is false. without: as for a map."""

    predicate: Callable[..., Any]
    without: frozenset[str] = frozenset()
    verb: ClassVar[str] = "take_while"

    def cardinality(self) -> int:
        return 0 if self.input.cardinality() == 0 else UNKNOWN

    def index_obstacle(self) -> str | None:
        return "ends where its predicate says"


@dataclass(frozen=True, kw_only=True, eq=False)
class Unique(Node):
    """Each element the first time it comes."""

    verb: ClassVar[str] = "unique"

    def cardinality(self) -> int:
        return 0 if self.input.cardinality() == 0 else UNKNOWN

    def index_obstacle(self) -> str | None:
        return _IN_ORDER


@dataclass(frozen=True, kw_only=True, eq=False)
class Resample(Node):
    """(class, element) of elements drawn so that the classes come in `target` proportions (they sum to 1).

    `initial`: their proportions in the input; None: as counted so far.
    """

    function: Callable[..., Any]
    target: tuple[float, ...]
    initial: tuple[float, ...] | None
    seed: int | None
    memo: SignatureMemo = field(default_factory=SignatureMemo)
    verb: ClassVar[str] = "rejection_resample"

    def cardinality(self) -> int:
        count = self.input.cardinality()
        return count if count in (0, INFINITE) else UNKNOWN

    def signature(self) -> Signature | None:
        return self.memo.signature

    def index_obstacle(self) -> str | None:
        return "drops elements, so positions are not known"

    def parameters(self) -> dict[str, Any]:
        return {"target_dist": self.target, "initial_dist": self.initial, "seed": self.seed}
