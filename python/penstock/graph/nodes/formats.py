"""Elements that a format finds, by position or one after another."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, ClassVar

from penstock.formats.store import Held, Store, Stream
from penstock.graph.node import UNKNOWN, Signature
from penstock.graph.nodes.fallible import Fallible


@dataclass(frozen=True, kw_only=True, eq=False)
class FormatRows(Fallible):
    """The elements of a store, under the name of the verb that made it. `of`: the user's object, if it is over one."""

    store: Store
    name: str
    of: Any = None
    verb: ClassVar[str] = "stored"

    @cached_property
    def label(self) -> str:
        return f"{self.name} at {self.location}"

    def cardinality(self) -> int:
        count = self.store.count
        return UNKNOWN if self.drops and count else count

    def index_obstacle(self) -> str | None:
        return "drops elements that fail" if self.drops else None

    def signature(self) -> Signature | None:
        return Signature(self.store.structure, self.store.specs)

    def parameters(self) -> dict[str, Any]:
        return {**self.store.parameters(), "on_error": "skip" if self.drops else "raise"}


@dataclass(frozen=True, kw_only=True, eq=False)
class FormatStream(Fallible):
    """The elements of a stream, under the name of the verb that made it.

    held: its index, once there is one. of: the user's object, if it is over one.
    """

    stream: Stream
    name: str
    of: Any = None
    held: Held = field(default_factory=Held)
    verb: ClassVar[str] = "streamed"

    @cached_property
    def label(self) -> str:
        return f"{self.name} at {self.location}"

    @property
    def has_index(self) -> bool:
        """Whether it may become `FormatRows`. What leaves out elements has no places for them."""
        return self.stream.has_index and not self.drops

    def indexed(self) -> FormatRows:
        """The same, by position. Raises: ReadError, DecodeError: a file cannot be read."""
        return FormatRows(
            inputs=self.inputs, location=self.location, number=self.number, on_error=self.on_error,
            ignores=self.ignores, tells=self.tells, store=self.stream.indexed(self.held), name=self.name,
        )  # fmt: skip

    def cardinality(self) -> int:
        return UNKNOWN

    def index_obstacle(self) -> str | None:
        return "reads from the start"

    def signature(self) -> Signature | None:
        return Signature(self.stream.structure, self.stream.specs)

    def parameters(self) -> dict[str, Any]:
        return {**self.stream.parameters(), "on_error": "skip" if self.drops else "raise"}
