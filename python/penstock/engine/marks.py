"""Marks: where a stage stood before one of its elements, so that a new run of the same plan can go on from there.

Every block travels with the mark of its first element. A mark is made of positions and counts, never of elements: an
indexed stage writes down a position, a segment where its input stood, a barrier what it carries and how many of the
last elements that came in it holds. A run built at a mark computes again what it has to, a block or what a barrier
held, and drops what was given before.
"""

from __future__ import annotations

from collections import deque
from dataclasses import dataclass, replace
from typing import Any

from penstock.block.block import Block
from penstock.errors import StateMismatchError


@dataclass(frozen=True, slots=True)
class Mark:
    """Where one stage stood.

    at: what it carries, as JSON values; None: it is as new. inputs: where its inputs stood; none: at their start.
    drop: how many elements it then gives that were given before.
    """

    at: Any = None
    inputs: tuple[Mark, ...] = ()
    drop: int = 0

    def after(self, elements: int) -> Mark:
        """The mark of the element that comes `elements` later."""
        return replace(self, drop=self.drop + elements) if elements else self

    def input(self, number: int) -> Mark:
        return self.inputs[number] if self.inputs else START

    def to_json(self) -> list[Any]:
        return [self.at, [source.to_json() for source in self.inputs], self.drop]

    @classmethod
    def from_json(cls, value: Any) -> Mark:
        """Raises: StateMismatchError: not what `to_json` gave."""
        is_mark = isinstance(value, list) and len(value) == 3 and isinstance(value[1], list)
        if not (is_mark and isinstance(value[2], int) and not isinstance(value[2], bool) and value[2] >= 0):
            raise StateMismatchError("a state with a bad mark", got=repr(value)[:80], expected="[at, inputs, drop]")
        return cls(value[0], tuple(map(cls.from_json, value[1])), value[2])


START = Mark()
"""As new."""


@dataclass(frozen=True, slots=True)
class Marked:
    """A block on its way, and the mark of its first element."""

    block: Block
    mark: Mark

    def split(self, rows: int) -> tuple[Marked, Marked]:
        """The first `rows` elements, and the rest."""
        block = self.block
        return Marked(block.slice(0, rows), self.mark), Marked(block.slice(rows, len(block)), self.mark.after(rows))


class History:
    """The marks of what one input of a barrier gave, as far back as the barrier holds elements of it."""

    def __init__(self, start: Mark) -> None:
        self._blocks: deque[tuple[Mark, int]] = deque([(start, 0)])  # mark and rows of each block pushed
        self._rows = 0  # of all of them

    def push(self, mark: Mark, rows: int) -> None:
        self._blocks.append((mark, rows))
        self._rows += rows

    def before_last(self, elements: int) -> Mark:
        """The mark of the last-but-`elements` element that came in; what is older is forgotten."""
        while len(self._blocks) > 1 and self._rows - self._blocks[0][1] >= elements:
            self._rows -= self._blocks.popleft()[1]
        mark, _ = self._blocks[0]
        return mark.after(self._rows - elements)
