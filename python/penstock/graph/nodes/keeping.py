"""What is kept, made ready early, and said of all below."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar

from penstock.graph.node import Node
from penstock.options import Options


@dataclass(frozen=True, kw_only=True, eq=False)
class Cache(Node):
    """What came out of the input the first time, from then on. `store` is filled and read by the engine."""

    store: Any
    verb: ClassVar[str] = "cache"


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
