"""Datasets of datasets: nodes whose function gives a dataset for each element, or whose elements are datasets."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from penstock.block.spec import DatasetSpec
from penstock.block.tree import Structure
from penstock.graph.node import INFINITE, UNKNOWN, Node, Signature, SignatureMemo


@dataclass(frozen=True, kw_only=True, eq=False)
class Nesting(Node):
    """`function` gives a dataset for each element; its elements are theirs.

    `node_of(result)` is the node of what the function returned, None where that is no dataset. `ignores`, `tells`: as a
    `Fallible` has them, for the function and for all that it returns.
    """

    function: Callable[..., Any]
    node_of: Callable[[Any], Node | None]
    memo: SignatureMemo = field(default_factory=SignatureMemo)
    ignores: bool = False
    tells: bool = False

    def cardinality(self) -> int:
        return 0 if self.input.cardinality() == 0 else UNKNOWN

    def signature(self) -> Signature | None:
        return self.memo.signature

    def index_obstacle(self) -> str | None:
        return "opens datasets whose lengths are not known"


@dataclass(frozen=True, kw_only=True, eq=False)
class FlatMap(Nesting):
    """One dataset after another."""

    verb: ClassVar[str] = "flat_map"


@dataclass(frozen=True, kw_only=True, eq=False)
class Interleave(Nesting):
    """`cycle_length` datasets in turns, `block_length` elements of each.

    `by_number`: the source that has the same elements in the same order once it is indexed; None: there is none.
    """

    cycle_length: int
    block_length: int
    num_parallel_calls: int | None = None
    deterministic: bool | None = None
    by_number: Node | None = None
    verb: ClassVar[str] = "interleave"

    def parameters(self) -> dict[str, Any]:
        return {"cycle_length": self.cycle_length, "block_length": self.block_length}


@dataclass(frozen=True, kw_only=True, eq=False)
class GroupByWindow(Nesting):
    """Elements gathered by key; `function(key, dataset)` of each `window_size` of them gives a dataset.

    `window_size` is a number, or the function that gives it for a key. `make_dataset` as for `Window`.
    """

    key_function: Callable[..., Any]
    window_size: int | Callable[..., Any]
    make_dataset: Callable[[Node], Any]
    name: str = "group_by_window"
    verb: ClassVar[str] = "group_by_window"

    @cached_property
    def label(self) -> str:
        return f"{self.name} at {self.location}"

    def cardinality(self) -> int:
        return INFINITE if self.input.cardinality() == INFINITE else UNKNOWN

    def parameters(self) -> dict[str, Any]:
        return {"window_size": self.window_size} if isinstance(self.window_size, int) else {}


@dataclass(frozen=True, kw_only=True, eq=False)
class Bucket(GroupByWindow):
    """A group by window whose keys are buckets of lengths, and whose datasets are one batch each.

    What `key_function`, `window_size` and `function` say in code, as data: bucket b holds lengths from
    boundaries[b - 1] to below boundaries[b], its batches have batch_sizes[b] rows and shapes[b], a nest of `Dims`, or
    None for that of the longest row. pads: else they are plain batches. limit: the length from which on an element is
    an error.
    """

    length_function: Callable[..., Any]
    boundaries: tuple[int, ...]
    batch_sizes: tuple[int, ...]
    shapes: tuple[Any, ...]
    padding_values: Any
    pads: bool
    drop_remainder: bool
    limit: int | None


@dataclass(frozen=True, kw_only=True, eq=False)
class GatheredBuckets(Bucket):
    """Buckets whose batches are made where their rows are gathered, without a dataset for each: by a rule."""


@dataclass(frozen=True, kw_only=True, eq=False)
class Window(Node):
    """Datasets of `size` elements, one starting every `shift`, each `stride` after the one before.

    A nest of leaves becomes a nest of datasets. `make_dataset(node)` is the dataset that the user sees.
    """

    size: int
    shift: int
    stride: int
    drop_remainder: bool
    make_dataset: Callable[[Node], Any]
    verb: ClassVar[str] = "window"

    @property
    def span(self) -> int:
        """Elements from the first to the last of a whole window, both counted."""
        return (self.size - 1) * self.stride + 1

    def cardinality(self) -> int:
        count = self.input.cardinality()
        if count < 0:
            return count
        if self.drop_remainder:
            return max(0, (count - self.span) // self.shift + 1)
        return -(-count // self.shift)

    def signature(self) -> Signature | None:
        inner = self.input.signature()
        if inner is None:
            return None
        return Signature(inner.structure, tuple(DatasetSpec(spec) for spec in inner.specs))

    def index_obstacle(self) -> str | None:
        return "keeps the elements of its windows as they pass"

    def parameters(self) -> dict[str, Any]:
        return {
            "size": self.size,
            "shift": self.shift,
            "stride": self.stride,
            "drop_remainder": self.drop_remainder,
        }


@dataclass(frozen=True, kw_only=True, eq=False)
class Slide(Window):
    """Batches of the rows of windows, gathered without making the windows: what a rule makes of window and flat_map.

    `template` nests the leaves numbered `leaves`. `batch_label`: the verb that stacks. `memo`, `number`, `count`: of
    the flat map in whose place it stands; `window_label`: of the window.
    """

    template: Structure
    leaves: tuple[int, ...]
    batch_label: str
    window_label: str
    memo: SignatureMemo
    count: int
    verb: ClassVar[str] = "flat_map"

    def cardinality(self) -> int:
        return self.count

    def signature(self) -> Signature | None:
        return self.memo.signature
