"""Nodes that call user code element by element, and what becomes of an element for which it raises."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from penstock.errors import may_pass
from penstock.graph.node import Node
from penstock.options import Retry

OnError = Literal["raise", "skip"] | Retry


@dataclass(frozen=True, kw_only=True, eq=False)
class Fallible(Node):
    """Base. `on_error` is the verb's own word.

    `ignores`: an `ignore_errors` above leaves out whatever fails here, and `tells` of each.
    """

    on_error: OnError = "raise"
    ignores: bool = False
    tells: bool = False

    @property
    def retry(self) -> Retry | None:
        return self.on_error if isinstance(self.on_error, Retry) else None

    @property
    def drops(self) -> bool:
        """Whether elements may be left out, so that there may be fewer than of the input."""
        return self.ignores or (self.retry.then if self.retry is not None else self.on_error) == "skip"

    def leaves_out(self, error: Exception) -> bool:
        """Whether the element for which `error` was raised is left out. A skip hides no fault that may pass."""
        if self.ignores or self.retry is not None:
            return self.drops
        return self.drops and not may_pass(error)
