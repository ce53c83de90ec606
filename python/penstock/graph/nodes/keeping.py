"""What is kept, made ready early, and said of all below."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

from penstock.formats.stored.data import StoredData
from penstock.graph.node import Node, Signature
from penstock.options import Options


@dataclass(frozen=True, kw_only=True, eq=False)
class Cache(Node):
    """What came out of the input the first time, from then on. `store` is filled and read by the engine."""

    store: Any
    verb: ClassVar[str] = "cache"


@dataclass(frozen=True, kw_only=True, eq=False)
class FileCache(Cache):
    """A cache whose elements lie in `directory`, from this run to the next. What is run is put in its place first.

    version: the user's word for what functions and arrays in memory are; None: they are looked into. keeps_all: the
    elements of other pipelines stay beside (`snapshot`).
    """

    directory: str
    version: str | None = None
    keeps_all: bool = False

    @cached_property
    def label(self) -> str:
        return f"{'snapshot' if self.keeps_all else self.verb} at {self.location}"


@dataclass(frozen=True, kw_only=True, eq=False)
class Loaded(Node):
    """Elements that lie in a directory, complete: `load`, and what becomes of a `FileCache` that is."""

    data: StoredData
    name: str = "load"
    verb: ClassVar[str] = "load"

    @cached_property
    def label(self) -> str:
        return f"{self.name} at {self.location}"

    def cardinality(self) -> int:
        return self.data.count

    def signature(self) -> Signature | None:
        return Signature(self.data.structure, self.data.manifest.specs) if self.data.leaves else None

    def parameters(self) -> dict[str, Any]:
        return {"count": self.data.count, "structure": str(self.data.structure)}


@dataclass(frozen=True, kw_only=True, eq=False)
class Prefetch(Node):
    """Up to `buffer_size` elements ready before they are asked for."""

    buffer_size: int
    verb: ClassVar[str] = "prefetch"


@dataclass(frozen=True, kw_only=True, eq=False)
class IgnoreErrors(Node):
    """What comes when every step below leaves out what fails there: the verb has marked them, this only says so."""

    verb: ClassVar[str] = "ignore_errors"


@dataclass(frozen=True, kw_only=True, eq=False)
class WithOptions(Node):
    """Options for everything above it."""

    options: Options
    verb: ClassVar[str] = "with_options"
