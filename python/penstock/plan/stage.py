"""Stages: the physical steps of a plan, as data. The engine turns them into operators by its own tables."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import ClassVar

from penstock.graph.node import Node


@dataclass(frozen=True, slots=True)
class Width:
    """How many workers may run a stage at once, and why.

    serial: one, because order of calls matters. said: by the user, so never more.
    """

    workers: int
    reason: str
    serial: bool = False
    said: bool = False


@dataclass(frozen=True, kw_only=True)
class Stage:
    """One physical step over `node`. `ahead`: elements it keeps ready, None for the default of its kind."""

    node: Node
    inputs: tuple[Stage, ...] = ()
    width: Width
    ordered: bool = True
    ahead: int | None = None
    kind: ClassVar[str] = "stage"

    @property
    def id(self) -> str:
        """Its name in traces and logs: "3:map", the number of its node in the user's graph and the verb."""
        return f"{self.node.number}:{self.node.verb}"


class IndexedStage(Stage):
    """A whole index-driven subgraph: a task computes the elements at a range of positions."""

    kind = "indexed segment"


class SegmentStage(Stage):
    """Treats each block of its input alone."""

    kind = "segment"


class BarrierStage(Stage):
    """Needs the blocks of its inputs in order, one at a time."""

    kind = "barrier"


class NestedStage(Stage):
    """Reads several of the datasets that its node opens at a time."""

    kind = "nested"


class SourceStage(Stage):
    """Yields blocks in order only."""

    kind = "source"


class ChainStage(Stage):
    """One input after another, each opened when its turn comes (repeat, concatenate)."""

    kind = "chain"


@dataclass(frozen=True, slots=True)
class Plan:
    """The root stage, the optimized graph it came from, and why the plan cannot take its state (None when it can)."""

    root: Stage
    graph: Node
    state_obstacle: str | None


def stages_of(root: Stage) -> Iterator[Stage]:
    """All stages of a plan, the one nearest the consumer first."""
    pending = [root]
    while pending:
        stage = pending.pop(0)
        yield stage
        pending.extend(stage.inputs)
