"""Where elements come from."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from penstock.block.columns import ArrayColumn, Column
from penstock.block.spec import Spec
from penstock.block.tree import Structure
from penstock.graph.node import INFINITE, UNKNOWN, Node, Signature, SignatureMemo
from penstock.graph.nodes.fallible import Fallible


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

    @property
    def is_window(self) -> bool:
        """Whether its rows are those that a window keeps, rather than the user's arrays."""
        return self.name == "window"

    def cardinality(self) -> int:
        return len(self.columns[0])

    def signature(self) -> Signature | None:
        if not len(self.columns[0]) and not all(isinstance(column, ArrayColumn) for column in self.columns):
            return None  # no text: bytes or str
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
class Counter(Node):
    """Numbers start, start + step, ... without end."""

    start: int | float
    step: int | float
    dtype: Any
    verb: ClassVar[str] = "counter"

    def cardinality(self) -> int:
        return INFINITE

    def signature(self) -> Signature | None:
        return Signature(Structure(), (Spec((), self.dtype),))

    def parameters(self) -> dict[str, Any]:
        return {"start": self.start, "step": self.step}


@dataclass(frozen=True, kw_only=True, eq=False)
class Random(Node):
    """Random integers in [0, 2**32) without end. `rerandomize`: others in each epoch and pass."""

    seed: int | None
    rerandomize: bool
    verb: ClassVar[str] = "random"

    def cardinality(self) -> int:
        return INFINITE

    def signature(self) -> Signature | None:
        return Signature(Structure(), (Spec((), np.int64),))

    def parameters(self) -> dict[str, Any]:
        return {"seed": self.seed, "rerandomize_each_iteration": self.rerandomize}


@dataclass(frozen=True, kw_only=True, eq=False)
class Indexed(Fallible):
    """Any object with `__len__` and `__getitem__`; `__getitems__` fetches several at once where there is one."""

    obj: Any
    count: int
    num_parallel_calls: int
    memo: SignatureMemo
    verb: ClassVar[str] = "from_source"

    def cardinality(self) -> int:
        return UNKNOWN if self.drops and self.count else self.count

    def index_obstacle(self) -> str | None:
        return "drops elements that fail" if self.drops else None

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
