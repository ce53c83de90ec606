"""What `setup` did: one record of every lever, what could not be done and why, and what of it can be undone."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from typing import Literal

from penstock.train.backend import Backend
from penstock.train.strategy.chosen import Strategy

Lever = Literal["memory", "strategy", "precision", "jit", "seed"]
Outcome = Literal["done", "not needed", "not possible"]


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One thing that a lever did, or did not do.

    text: what ("memory growth on GPU:0"). why: why not, or what follows from it. undo: takes it back; kept: why it
    cannot be taken back. Of what was not done, both are empty.
    """

    lever: Lever
    text: str
    outcome: Outcome = "done"
    why: str = ""
    undo: Callable[[], None] | None = field(default=None, compare=False, repr=False)
    kept: str = ""

    def __str__(self) -> str:
        line = f"{self.lever}: {self.text}" if self.outcome == "done" else f"{self.lever}: {self.text}: {self.outcome}"
        line += f" ({self.why})" if self.why else ""
        if self.outcome != "done":
            return line
        return f"{line} [can be undone]" if self.undo is not None else f"{line} [stays: {self.kept}]"


@dataclass(frozen=True, slots=True, kw_only=True)
class Runtime:
    """How this process is set up to train; from `penstock.train.setup`.

    backend: who trains. precision: the policy's name ("float32", "mixed_bfloat16" ...). jit: whether steps are
    compiled; "auto": the framework decides. strategy: over which devices and processes. seed: None: not set. changes:
    what was done and what was not, in order.
    """

    backend: Backend
    precision: str = "float32"
    jit: bool | Literal["auto"] = "auto"
    strategy: Strategy
    seed: int | None = None
    changes: tuple[Change, ...] = ()

    def scope(self) -> AbstractContextManager[object]:
        """Where a model is to be built and compiled, for the strategy to place its variables."""
        return self.strategy.scope()

    def undo(self) -> tuple[Change, ...]:
        """Take back what can be, the last change first; returns what stays."""
        for change in reversed(self.changes):
            if change.undo is not None:
                change.undo()
        return tuple(change for change in self.changes if change.outcome == "done" and change.undo is None)

    def __str__(self) -> str:
        head = f"penstock.train on {self.backend}: {self.strategy}"
        return "\n".join([head, *(f"  {change}" for change in self.changes)])
